"""A carrier's refusal put into our words: which of our fields each message is about.

Error bodies of this family come in four shapes: a flat map of names to messages, nested lists of objects, a
bare string, and no JSON at all. All four are always accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from shipping_portal.carrier.contract import MEASURES, PARTS, Contract
from shipping_portal.carrier.scrubbing import CUT, SIGNED
from shipping_portal.carrier.values import at, text
from shipping_portal.carrier.writing import QUERIED

MOST = 50  # messages kept of one refusal
SIDES = ("sender", "receiver")
SIZES = ("length", "width", "height")
OURS = (
    *(f"{side}_{part}" for side in SIDES for part in PARTS),
    *MEASURES,
    *("description", "product_code", "pickup_date", "customer_reference", "contents", "contents_type"),
)
IN_QUERIES = (*(f"{side}_{part}" for side in SIDES for part in QUERIED), *MEASURES)
GENERAL = {"", "base", "error", "errors", "general", "order"}


class Refusal(NamedTuple):
    """What a refusal says: the carrier's code, its sentence, and messages keyed by our field names."""

    code: str
    text: str
    messages: dict[str, list[str]]


def read_refusal(body: Any, contract: Contract) -> Refusal:
    """The refusal in a parsed body of any shape."""
    if isinstance(body, str):
        return Refusal("", _words(body), {})
    if not isinstance(body, dict):
        return Refusal("", "", {})
    said = at(body, contract.error_messages)
    code, sentence = at(body, contract.error_code), at(body, contract.error_text)
    if said is None and code is None and sentence is None:
        said = body
    messages = _by_field(said, contract)
    general = "; ".join(messages.get("", []))
    return Refusal(text(code, 100), _words(sentence) or general, messages)


def _by_field(said: Any, contract: Contract) -> dict[str, list[str]]:
    fields = _fields(contract)
    messages: dict[str, list[str]] = {}
    for count, (where, words) in enumerate(_flat(said, ())):
        if count == MOST:
            break
        names = fields.get(_plain("_".join(where)))
        if not names and _plain("_".join(where)) not in GENERAL:
            words = f"{' '.join(where).replace('_', ' ')}: {words}"[:500]
        for name in names or [""]:
            messages.setdefault(name, []).append(words)
    return messages


def _flat(said: Any, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(said, dict):
        for key, member in said.items():
            yield from _flat(member, (*where, text(key, 60)))
    elif isinstance(said, list):
        for member in said:
            yield from _flat(member, where)
    elif isinstance(said, str) and _words(said):
        yield where, _words(said)


def _fields(contract: Contract) -> dict[str, list[str]]:
    """Every way the carrier may name a field, to our names for it: body path, query name, our own name."""
    known = {_plain(ours): [ours] for ours in OURS}
    known |= {_plain(getattr(contract, f"query_{ours}")): [ours] for ours in IN_QUERIES}
    known |= {_plain(getattr(contract, ours)): [ours] for ours in OURS if getattr(contract, ours)}
    known["dimensions"] = list(SIZES)
    known.setdefault("cover", ["cover"])
    known[_plain(contract.length.rpartition(".")[0]) or "dimensions"] = list(SIZES)
    known[_plain(contract.weight.rpartition(".")[0]) or "weight"] = ["weight"]
    for part in ("description", "value", "quantity", "origin", "hs_code"):
        known[_plain(f"{contract.contents}_{getattr(contract, f'item_{part}')}")] = ["contents"]
    steps = contract.cover_amount.split(".")
    known |= {
        _plain("_".join(steps[: end + 1])): ["cover"] for end in range(len(steps)) if contract.cover_amount
    }
    return known


def _plain(name: str) -> str:
    """One spelling for "sender.contact.phone", "sender[contact][phone]" and "sender_contact_phone"."""
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name.casefold()).split())


def _words(value: object) -> str:
    return SIGNED.sub(CUT, text(value))
