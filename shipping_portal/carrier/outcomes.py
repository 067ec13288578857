"""Classify a reply by its status, in one table, and read a rejection's messages by field."""

import time
from collections.abc import Callable, Collection, Iterator
from email.utils import parsedate_to_datetime
from itertools import chain, filterfalse, islice
from typing import Any, NamedTuple

from shipping_portal.carrier.connection import TOO_LATE, Reply
from shipping_portal.carrier.contract import MEASURES, PARTS, Contract
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    NotSent,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.scrubbing import scrub_body, without_signed
from shipping_portal.carrier.values import read_text, value_at
from shipping_portal.carrier.writing import QUERIED

Messages = dict[str, list[str]]  # by field

LONGEST_WAIT = 3600.0


def require_success(
    reply: Reply, contract: Contract, *, also_refused: Collection[int] = ()
) -> None:
    """Return if this is a complete 2xx reply. Raises one of the four errors otherwise."""
    if reply.fault or not 200 <= reply.status < 300:
        raise outcome_of(reply, contract, also_refused=also_refused)


def outcome_of(
    reply: Reply, contract: Contract, *, also_refused: Collection[int] = ()
) -> CarrierError:
    """Return the error for an unsuccessful reply."""
    if reply.fault:
        return unknown_outcome(reply, contract, reply.fault)
    if reply.status in contract.stopped_statuses:
        return _account_stop(reply, contract)
    if reply.status == 429 and contract.too_many_requests_is_unprocessed:
        return NotSent("the carrier asks us to slow down", retry_after(reply), reply.status)
    if reply.status in contract.refused_statuses or reply.status in also_refused:
        return _rejection(reply, contract)
    return unknown_outcome(reply, contract, f"the carrier answered {reply.status}")


def unknown_outcome(
    reply: Reply,
    contract: Contract,
    reason: str,
    *,
    reference: str = "",
    conflict: bool = False,
    pending: bool = False,
) -> OutcomeUnknown:
    """Return an OutcomeUnknown with the reply as evidence, without its links."""
    reason = f"conflict: {reason}" if conflict else reason
    body = scrub_body(reply.body, contract)
    late = reply.fault == TOO_LATE
    return OutcomeUnknown(
        reason,
        reply.status,
        body,
        reference=reference,
        conflict=conflict,
        late=late,
        pending=pending,
    )


def read_successful(
    reply: Reply,
    contract: Contract,
    kind: type[Any],
    read_error: Callable[[Reply, Any, Contract], CarrierError],
) -> Any:
    """Return a successful reply's JSON. Raises what `read_error` returns for any other reply."""
    document = reply.document
    if reply.fault or not 200 <= reply.status < 300:
        raise read_error(reply, document, contract)
    if not isinstance(document, kind):
        raise unknown_outcome(reply, contract, "the reply is not one we can read")
    return document


def _rejection(reply: Reply, contract: Contract) -> CarrierError:
    document = reply.document
    # how this family rejects malformed JSON
    empty = reply.status == 400 and not reply.body and reply.framed
    if not isinstance(document, dict | str) and not empty:
        return unknown_outcome(
            reply, contract, f"the carrier answered {reply.status} in a form we cannot read"
        )
    return rejected(reply, document, contract)


def rejected(reply: Reply, document: Any, contract: Contract) -> Rejected:
    """Return a rejecting reply's messages by field."""
    refusal = read_refusal(document, contract)
    return Rejected(
        reply.status, refusal.code, refusal.text, refusal.messages, scrub_body(reply.body, contract)
    )


def _account_stop(reply: Reply, contract: Contract) -> AccountStopped:
    body = scrub_body(reply.body, contract)
    refusal = read_refusal(reply.document, contract)
    sentence = refusal.text or "; ".join(chain.from_iterable(refusal.messages.values()))
    return AccountStopped(
        reply.status, sentence or read_text(body.decode("utf-8", "replace")), body
    )


def retry_after(reply: Reply) -> float | None:
    """Return how many seconds to wait, at most an hour, or None to use our own back-off."""
    header = reply.headers.get("retry-after", "").strip()
    if header.isascii() and header.isdigit():
        wait = float(header[:9])
    else:
        try:
            wait = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(wait, LONGEST_WAIT) if wait > 0 else None


MOST = 50  # most messages stored for one rejection
LONGEST_BESIDE = 200  # length of an error's text besides its messages
SIDES = ("sender", "receiver")
SIZES = ("length", "width", "height")
OURS = (
    *(f"{side}_{part}" for side in SIDES for part in PARTS),
    *MEASURES,
    *(
        "description",
        "product_code",
        "pickup_date",
        "customer_reference",
        "contents",
        "contents_type",
    ),
)
IN_QUERIES = (*(f"{side}_{part}" for side in SIDES for part in QUERIED), *MEASURES)
ITEM = ("description", "value", "quantity", "origin", "hs_code")
GENERAL = {
    "",
    "address",
    "base",
    "description",
    "detail",
    "error",
    "errors",
    "general",
    "message",
    "messages",
    "non_field_errors",
    "order",
    "order_id",
    "reason",
    "status",
    "title",
}
# keys in a message that is itself an object
ABOUT, WORDS = (("field", "path", "param"), ("message", "detail", "msg"))
Where = tuple[str, ...]


class ParsedRefusal(NamedTuple):
    """A rejection: the carrier's code, its sentence, and messages by field.

    The keys are our field names, "" for the whole parcel, and the carrier's names for fields that
    we lack. The sentence consists of the general messages. The carrier's own sentence is used only
    if there are no messages at all; with messages it is a wrapper such as "see messages". If all
    messages are general, it is added to them in quotes.
    """

    code: str
    text: str
    messages: Messages


def read_refusal(body: Any, contract: Contract) -> ParsedRefusal:
    """Return the rejection in a parsed body of any shape."""
    if isinstance(body, str):
        return ParsedRefusal("", _safe_words(body), {})
    if not isinstance(body, dict):
        return ParsedRefusal("", "", {})
    document = value_at(body, contract.error_messages)
    code, sentence = value_at(body, contract.error_code), value_at(body, contract.error_text)
    if document is None and code is None and sentence is None:
        document = body
    messages, beside = _by_field(document, contract), _safe_words(sentence)
    if messages.keys() == {""} and beside and not _is_wrapper(beside, messages[""], contract):
        messages[""].append(f"“{beside[:LONGEST_BESIDE].rstrip('. ')}”")
    sentence = "; ".join(messages.get("", [])) if messages else beside
    return ParsedRefusal(read_text(code, 100), sentence, messages)


def _is_wrapper(sentence: str, messages: list[str], contract: Contract) -> bool:
    """Return whether a sentence only refers to the messages, or repeats one."""
    member = contract.error_messages.rpartition(".")[2]
    return member.casefold() in sentence.casefold() or sentence.rstrip(".") in {
        one.rstrip(".") for one in messages
    }


def _by_field(document: Any, contract: Contract) -> Messages:
    fields = _field_names(contract)
    groups = {steps[:end] for steps in map(_split_name, fields) for end in range(1, len(steps))}
    messages: Messages = {}
    for where, words in islice(_flatten(document, ()), MOST):
        names, steps = _our_names(where, fields), _split_name(*where)
        if not names and steps in groups:  # such as "receiver", which covers several of our fields
            names, words = [""], f"{' '.join(steps).capitalize()}: {words}"[:500]
        for name in names or [".".join(where)]:
            messages.setdefault(name, []).append(words)
    return messages


def _our_names(where: Where, fields: Messages) -> list[str]:
    """Return our names for a position in the messages, [""] for the whole parcel.

    Rows count from 0.
    """
    steps: Where = ()
    for steps in (
        _split_name(*where),
        _split_name(*(name for name in where if name not in GENERAL)),
    ):
        names = fields.get("_".join(steps)) or fields.get(
            "_".join(filterfalse(str.isdecimal, steps)), []
        )
        row = next(map(int, filter(str.isdecimal, steps)), None)
        if names and row is not None:
            return [name.replace("item_", f"item_{row + 1}_") for name in names]
        if names:
            return names
    return [] if steps else [""]


def _flatten(document: Any, where: Where) -> Iterator[tuple[Where, str]]:
    if isinstance(document, dict) and (found := _about_field(document)):
        yield found
    elif isinstance(document, dict):
        for key, member in document.items():
            yield from _flatten(member, (*where, read_text(key, 60)))
    elif isinstance(document, list):
        # or a wrapper of one
        rows = len(document) > 1 and all(isinstance(member, dict) for member in document)
        for number, member in enumerate(document):
            yield from _flatten(member, (*where, str(number)) if rows else where)
    elif isinstance(document, str) and _safe_words(document):
        yield where, _safe_words(document)


def _about_field(document: dict[str, Any]) -> tuple[Where, str] | None:
    """Return a message object that names its field.

    For example {"field": "weight", "message": "is too heavy"}.
    """
    about = next((document[key] for key in ABOUT if isinstance(document.get(key), str)), "")
    words = next((document[key] for key in WORDS if isinstance(document.get(key), str)), "")
    return ((read_text(about, 60),), _safe_words(words)) if about and _safe_words(words) else None


def _field_names(contract: Contract) -> Messages:
    """Map each name the carrier may use for a field to our names.

    These are the body path, the query name and our own name.
    """
    known = {_plain_name(ours): [ours] for ours in OURS}
    known |= {_plain_name(getattr(contract, f"query_{ours}")): [ours] for ours in IN_QUERIES}
    known |= {
        _plain_name(getattr(contract, ours)): [ours] for ours in OURS if getattr(contract, ours)
    }
    known["dimensions"] = list(SIZES)
    known.setdefault("cover", ["cover"])
    known[_plain_name(contract.length.rpartition(".")[0]) or "dimensions"] = list(SIZES)
    known[_plain_name(contract.weight.rpartition(".")[0]) or "weight"] = ["weight"]
    for part in ITEM:
        ours = [f"item_{part}"]
        known |= dict.fromkeys((f"item_{part}", _plain_name(f"{contract.contents}_{part}")), ours)
        known[_plain_name(f"{contract.contents}_{getattr(contract, f'item_{part}')}")] = ours
    steps = contract.cover_amount.split(".")
    known |= {
        _plain_name("_".join(steps[: end + 1])): ["cover"]
        for end in range(len(steps))
        if contract.cover_amount
    }
    return known


def _plain_name(name: str) -> str:
    return "_".join(_split_name(name))


def _split_name(*names: str) -> Where:
    """Return one spelling of "sender.contact.phone", "sender[contact]", "sender_contact_phone"."""
    name = " ".join(names).casefold()
    return tuple("".join(letter if letter.isalnum() else " " for letter in name).split())


def _safe_words(value: object) -> str:
    return without_signed(read_text(value))
