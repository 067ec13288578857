"""What a reply means, by its status: the one table behind the four outcomes (design.md §5)."""

from __future__ import annotations

import time
from collections.abc import Collection
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import Any

from shipping_portal.carrier.connection import TOO_LATE, Reply
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.refusals import read_refusal
from shipping_portal.carrier.scrubbing import scrub
from shipping_portal.carrier.values import load_json, text

LONGEST_WAIT = 3600.0


def require_success(reply: Reply, contract: Contract, *, also_refused: Collection[int] = ()) -> None:
    """Return on a complete 2xx reply. Raises one of the four errors for any other."""
    if reply.fault or not 200 <= reply.status < 300:
        raise verdict(reply, contract, also_refused=also_refused)


def verdict(reply: Reply, contract: Contract, *, also_refused: Collection[int] = ()) -> CarrierError:
    """The outcome a reply other than success stands for."""
    if reply.fault:
        return unknown(reply, contract, reply.fault)
    if reply.status in contract.stopped_statuses:
        return _stopped(reply, contract)
    if reply.status == 429 and contract.too_many_requests_is_unprocessed:
        return NotSent("the carrier asks us to slow down", _retry_after(reply), reply.status)
    if reply.status in contract.refused_statuses or reply.status in also_refused:
        return _rejected(reply, contract)
    return unknown(reply, contract, f"the carrier answered {reply.status}")


def unknown(
    reply: Reply, contract: Contract, reason: str, *, reference: str = "", conflict: bool = False
) -> OutcomeUnknown:
    """An OutcomeUnknown that keeps the reply as evidence, without its links."""
    reason = f"conflict: {reason}" if conflict else reason
    body = scrub(reply.body, contract)
    late = reply.fault == TOO_LATE
    return OutcomeUnknown(reason, reply.status, body, reference=reference, conflict=conflict, late=late)


def parsed(reply: Reply) -> Any:
    """The reply's JSON, or None when it has none."""
    try:
        return load_json(reply.body, strict=False)
    except ValueError:
        return None


def _rejected(reply: Reply, contract: Contract) -> CarrierError:
    said = parsed(reply)
    empty = reply.status == 400 and not reply.body and reply.framed  # how this family refuses malformed JSON
    if not isinstance(said, dict | str) and not empty:
        return unknown(reply, contract, f"the carrier answered {reply.status} in a form we cannot read")
    refusal = read_refusal(said, contract)
    return Rejected(reply.status, refusal.code, refusal.text, refusal.messages, scrub(reply.body, contract))


def _stopped(reply: Reply, contract: Contract) -> AccountStopped:
    body = scrub(reply.body, contract)
    refusal = read_refusal(parsed(reply), contract)
    said = refusal.text or "; ".join(chain.from_iterable(refusal.messages.values()))
    return AccountStopped(reply.status, said or text(body.decode("utf-8", "replace")), body)


def _retry_after(reply: Reply) -> float | None:
    """Seconds to wait, at most an hour; None where nothing is told, or no wait at all: then our own back-off is."""
    told = reply.headers.get("retry-after", "").strip()
    if told.isascii() and told.isdigit():
        wait = float(told[:9])
    else:
        try:
            wait = parsedate_to_datetime(told).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(wait, LONGEST_WAIT) if wait > 0 else None
