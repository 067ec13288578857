"""Find references for an unclear booking: from its replies, then from webhooks and reports.

A reference in a webhook or a billing report is a candidate while it has no owner, unless we heard
of it before this booking was sent, or the carrier has it under another order's name.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.db.models.functions import Upper

from orders.calling.contract import contract_of
from orders.models import BookingAttempt, Order
from orders.models.statuses import Status
from shipping_portal.carrier.naming import Names, names_in
from shipping_portal.carrier.values import normalise_word
from shipping_portal.staff.resolution import unowned
from shipping_portal.staff.resolution.unowned import Scanned, billed_references
from shipping_portal.staff.resolution.verifying import CLOCKS, is_its_name, sent_between

EARLIER = dt.timedelta(minutes=30)  # how far the carrier's clock may be behind ours
LATER = dt.timedelta(days=5)
MOST = 20
KNOWN_BEFORE = "We knew it before this booking was sent, so it belongs to another parcel"
AROUND = dt.timedelta(days=7)  # other orders are searched this far around the booking


@dataclass(frozen=True)
class Candidate:
    """A reference, why it may belong to this booking, and the evidence for and against."""

    reference: str
    why: str
    first_scan_at: dt.datetime | None = None
    places: str = ""
    same_postcode: bool = False
    was_named: bool = False  # given by the carrier's reply to this booking
    taken_by: Order | None = None  # another order has it, so it can't be this one's
    billed: str = ""  # what the carrier charges for it
    names: tuple[Names, ...] = ()  # its identifiers in the carrier's documents
    is_its_own: str = ""  # the identifier of this order under which the carrier has it
    cannot_be: str = ""  # why not, if it is shown only because a reply to this booking named it

    @property
    def is_strong(self) -> bool:
        """Return whether it is likely this order's booking, and nothing speaks against it."""
        likely = self.is_its_own or self.was_named or self.same_postcode
        return bool(likely) and not self.cannot_be and self.taken_by is None


def find_candidates(order: Order, attempts: list[BookingAttempt]) -> list[Candidate]:
    """Return all candidates, the likeliest first, each reference once."""
    found: dict[str, Candidate] = {}
    for candidate in (*_named_in_replies(order, attempts), *_heard_references(order)):
        found.setdefault(candidate.reference.upper(), candidate)
    first, last = sent_between(order)
    for line in billed_references(order, first - EARLIER, last + LATER, read_from=first - CLOCKS):
        known = found.get(line.reference.upper()) or Candidate(
            line.reference, "Charged by the carrier and unassigned"
        )
        names = (*known.names, Names(customer_reference=line.customer_reference))
        found[line.reference.upper()] = replace(known, billed=line.words, names=names)
    judged = judge_names(order, {name: candidate.names for name, candidate in found.items()})
    offered = (_judge_candidate(candidate, *judged[name]) for name, candidate in found.items())
    return sorted(filter(None, offered), key=lambda candidate: not candidate.is_its_own)[:MOST]


def likeliest_reference(order: Order, found: list[Candidate]) -> str:
    """Return the likeliest reference, or "" if several compete or replies disagree."""
    strong = [candidate for candidate in found if candidate.is_strong]
    best = [candidate for candidate in strong if candidate.is_its_own] or strong
    return best[0].reference if len(best) == 1 and order.status == Status.UNCONFIRMED else ""


def _judge_candidate(candidate: Candidate, own: str, anothers: str) -> Candidate | None:
    """Leave out another order's reference.

    If a reply to this booking named it, keep it, with the reason why it can't be adopted.
    """
    if not anothers:
        return replace(candidate, is_its_own=own)
    return replace(candidate, cannot_be=anothers) if candidate.was_named else None


def _named_in_replies(order: Order, attempts: list[BookingAttempt]) -> Iterator[Candidate]:
    """Yield references in untrusted replies."""
    tellers = {attempt.seen_reference: attempt for attempt in attempts if attempt.seen_reference}
    wanted = {reference.upper() for reference in tellers}
    theirs = Order.objects.filter(account=order.account, carrier_reference__upper__in=wanted)
    taken = {str(other).upper(): other for other in theirs.exclude(pk=order.pk)}
    scanned = unowned.known_references(order.account, tellers)
    known_from = sent_between(order)[0] - CLOCKS
    for reference, attempt in tellers.items():
        seen = scanned.get(reference.upper())
        doubt = (
            f", and was not trusted: {attempt.error}" if attempt.error else ", too late to be taken"
        )
        yield Candidate(
            reference=reference,
            why=f"The carrier's answer to attempt {attempt.generation} named it{doubt}",
            first_scan_at=seen.first_scan_at if seen else None,
            places=seen.places if seen else "",
            was_named=True,
            taken_by=taken.get(reference.upper()),
            names=(
                names_in(bytes(attempt.response), contract_of(order.account)),
                *(seen.names if seen else ()),
            ),
            cannot_be=KNOWN_BEFORE if seen and seen.heard_at < known_from else "",
        )


def _heard_references(order: Order) -> list[Candidate]:
    """Return unowned references scanned around this booking, those at its addresses first."""
    start, end = unowned.postcodes_of(order)
    first, last = sent_between(order)
    found = unowned.unowned_references(
        order.account, first - CLOCKS, first - EARLIER, last + LATER, start | end
    )
    return [_make_candidate(seen, start, end) for seen in found]


def _make_candidate(seen: Scanned, start: set[str], end: set[str]) -> Candidate:
    starts, ends = bool(seen.postcodes & start), bool(seen.postcodes & end)
    where = {
        (True, True): "Scanned where this parcel starts and where it ends",
        (True, False): "Scanned where this parcel starts",
        (False, True): "Scanned where this parcel ends",
        (False, False): "Scanned after this attempt, elsewhere",
    }[starts, ends]
    return Candidate(
        reference=seen.reference,
        why=where,
        first_scan_at=seen.first_scan_at,
        places=seen.places,
        same_postcode=starts or ends,
        names=seen.names,
    )


NamesByReference = dict[str, tuple[Names, ...]]


def judge_names(order: Order, names: NamesByReference) -> dict[str, tuple[str, str]]:
    """Return by reference the identifiers that link it to this order and to another, or "".

    A customer reference that no order of ours has decides nothing: the carrier may have filled it
    in.
    """
    others = _other_orders(order, names)
    return {reference: _compare_names(order, own, others) for reference, own in names.items()}


def _compare_names(order: Order, names: tuple[Names, ...], others: set[str]) -> tuple[str, str]:
    own = anothers = ""
    for name in names:
        if is_its_name(order, name):
            own = own or f"The carrier has it under {_describe_name(name)}"
        elif name.order_key or normalise_word(name.customer_reference) in others:
            anothers = (
                anothers or f"The carrier has it under another order's name, {_describe_name(name)}"
            )
    return own if not anothers else "", anothers


def _describe_name(name: Names) -> str:
    if name.order_key:
        return f"our order key {name.order_key}"
    return f"the customer reference {name.customer_reference}"


def _other_orders(order: Order, names: NamesByReference) -> set[str]:
    """Return which of these customer references other recent orders of this account have."""
    references = {name.customer_reference for own in names.values() for name in own} - {""}
    if not references:
        return set()
    first, last = sent_between(order)
    made = Order.objects.filter(
        account=order.account_id, created_at__range=(first - AROUND, last + AROUND)
    )
    # In any case, as carriers write capitals.
    upper = made.exclude(pk=order.pk).annotate(upper=Upper("customer_reference"))
    found = upper.filter(upper__in={name.upper() for name in references})
    return {normalise_word(name) for name in found.values_list("customer_reference", flat=True)}
