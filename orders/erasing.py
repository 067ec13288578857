"""List the personal data in orders, when it may be erased, and its retention period."""

import datetime as dt
from collections import defaultdict
from urllib.parse import parse_qs

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Concat, Lower
from django.urls import reverse
from django.utils import timezone

from orders.labels import files
from orders.models import (
    BookingAttempt,
    CancelAttempt,
    Label,
    LabelBytes,
    Order,
    Quote,
    Replacement,
    ReturnLink,
    SavedView,
)
from orders.models.facts import ReceiverFacts
from orders.models.statuses import BEING_CANCELLED, Status
from orders.status.progress import TERMINAL
from shipping_portal.accounts.models import Notification, Sender
from shipping_portal.accounts.teams.people import addresses_of
from shipping_portal.jobs import erasing
from shipping_portal.jobs.erasing import BATCH, Keys, Reasons, eraser, objection
from shipping_portal.jobs.personal_data import ERASED
from shipping_portal.jobs.retention import delete, term

# After this time polling has stopped, and nobody is waiting at the address.
SILENT = dt.timedelta(days=60)
UNRESOLVED = (
    Status.BOOKING,
    Status.UNCONFIRMED,
    Status.CONFLICT,
    *sorted(BEING_CANCELLED),
)
# Reports use these, and they don't identify anybody.
STAYS = ("receiver_state", "receiver_country")
NOBODY = {name: "" for field in ReceiverFacts._meta.fields if (name := field.name) not in STAYS} | {
    "receiver_name": "Erased receiver"
}
NO_PICKUP = {
    "name": ERASED,
    "email": "",
    "phone": "",
    "line1": "",
    "line2": "",
    "company": "",
    "instructions": "",
}
REFERENCES = Lower(
    Concat(Coalesce("carrier_reference", Value("")), Value(" "), "customer_reference")
)


# -- When erasing must wait ----------------------------------------------------------------------


def unresolved() -> Q:
    """Match orders with an unknown outcome, or with a job for the carrier."""
    twice = BookingAttempt.objects.filter(duplicate_booking_at__isnull=False)
    return (
        Q(status__in=UNRESOLVED)
        | Q(pk__in=twice.values("order"))
        | Q(pk__in=Replacement.objects.filter(ended_at=None).values("order"))
    )


def moving(now: dt.datetime) -> Q:
    """Match orders that still need the address.

    They need it from the booking until the last scan, or until there were no scans for a long time.
    """
    heard = Q(progress_at__gt=now - SILENT) | Q(progress_at=None, booked_at__gt=now - SILENT)
    held = Q(status=Status.BOOKED) | Q(used_after_cancel_at__isnull=False)
    return held & heard & ~Q(progress__in=sorted(TERMINAL))


UNCLEAR = (
    "It isn't clear yet what the carrier has. Resolve it first: what was sent is the evidence."
)
ON_ITS_WAY = (
    "Its parcel is on its way, and the carrier may ask for the address. Try again once it is"
    f" delivered, or {SILENT.days} days after its last scan."
)
CONTACT = (
    "The carrier writes to this person about {:,} parcels not resolved or on their way. Try again"
    " once they are delivered or cancelled."
)
OPEN = (
    "{:,} of its parcels are on their way, or not resolved with the carrier. Try again once they"
    " are delivered or cancelled."
)
UNBILLED = "{:,.2f} of what it booked is on no bill yet. Try again once the week's bill is posted."


@objection("order")
def not_yet(orders: Keys) -> Reasons:
    for rule, why in ((unresolved(), UNCLEAR), (moving(timezone.now()), ON_ITS_WAY)):
        for key in Order.objects.filter(rule, pk__in=orders).values_list("pk", flat=True):
            yield key, why


@objection("member")
def contact_of_parcels(members: Keys) -> Reasons:
    for key in members:
        if count := _with_contact(key).filter(unresolved() | moving(timezone.now())).count():
            yield key, CONTACT.format(count)


@objection("sender")
def open_parcels(senders: Keys) -> Reasons:
    still = Order.objects.filter(sender__in=senders).filter(unresolved() | moving(timezone.now()))
    for key, count in still.values_list("sender").annotate(Count("pk")).order_by():
        yield key, OPEN.format(count)
    for key, money in Sender.objects.filter(pk__in=senders, unbilled__gt=0).values_list(
        "pk", "unbilled"
    ):
        yield key, UNBILLED.format(money)


def lock_orders(orders: Keys) -> None:
    """Lock these orders until the transaction ends, so that no new objection arises."""
    list(
        Order.objects.select_for_update(no_key=True)
        .filter(pk__in=orders)
        .order_by("pk")
        .values_list("pk")
    )


# -- What is erased ------------------------------------------------------------------------------


@eraser("order", "receivers of parcels")
def erase_receivers(orders: Keys) -> int:
    """Overwrite the receivers. Nothing more can be done about such a parcel, so it is dismissed."""
    now = timezone.now()
    return Order.objects.filter(pk__in=orders).update(
        **NOBODY,
        description=ERASED,
        contents=[],
        note="",
        problem={},
        search=REFERENCES,
        erased_at=now,
        dismissed_at=now,
    )


@eraser("order", "people who send parcels back")
def erase_returners(orders: Keys) -> int:
    """Overwrite the address that a return starts from: it is a receiver's address."""
    returns = list(Order.objects.filter(pk__in=orders, returns__isnull=False))
    for order in returns:
        order.pickup |= NO_PICKUP | {"suburb": "", "postcode": ""}
    Order.objects.bulk_update(returns, ["pickup"], batch_size=BATCH)
    return len(returns)


@eraser("order", "links to labels")
def erase_return_links(orders: Keys) -> int:
    return delete(ReturnLink.objects.filter(order__in=orders))


@eraser("order", "requests to the carrier and its answers")
def erase_bodies(orders: Keys) -> int:
    attempts = BookingAttempt.objects.filter(order__in=orders)
    cancels = CancelAttempt.objects.filter(order__in=orders)
    attempts.update(error="")
    cancels.update(why=ERASED, answer="")
    return erasing.erase_bytes(attempts, "body", "response") + erasing.erase_bytes(
        cancels, "response"
    )


@eraser("order", "label files")
def erase_labels(orders: Keys) -> int:
    count = files.forget(LabelBytes.objects.filter(label__order__in=orders))
    Label.objects.filter(order__in=orders).update(address="", problem="", due_at=None)
    Label.objects.filter(order__in=orders, purged_at=None).update(purged_at=timezone.now())
    return count


@eraser("order", "notifications")
def erase_notifications(orders: Keys) -> int:
    """Delete unsent notifications. The event of a sent one stays, so that it isn't sent again."""
    uuids = Order.objects.filter(pk__in=orders).values_list("uuid", flat=True)
    paths = [reverse(page, args=[uuid]) for uuid in uuids for page in ("parcel", "replacing")]
    about_them = Notification.objects.filter(sender__orders__in=orders, path__in=paths)
    Notification.objects.filter(
        pk__in=about_them.filter(due_at__isnull=False).values("pk")
    ).delete()
    return Notification.objects.filter(pk__in=about_them.exclude(line="").values("pk")).update(
        line=""
    )


@eraser("order", "saved views")
def erase_views(orders: Keys) -> int:
    """Delete saved filters that search for one of these people."""
    who: defaultdict[int, str] = defaultdict(str)
    for order in Order.objects.filter(pk__in=orders):
        person = order.customer()
        words = (person.name, person.company, person.email, person.phone)
        who[order.sender_id] += _run_together("\n".join(words)) + "\n"
    views = SavedView.objects.filter(sender__in=list(who), query__contains="q=")
    typed = {view: _run_together(" ".join(parse_qs(view.query).get("q", ["\0"]))) for view in views}
    named = [view.pk for view, words in typed.items() if words in who[view.sender_id]]
    return delete(SavedView.objects.filter(pk__in=named))


def _run_together(words: str) -> str:
    """Return a text for comparing: a phone may be typed with or without spaces."""
    return words.casefold().replace(" ", "")


@eraser("member", "contacts of parcels")
def erase_contact(members: Keys) -> int:
    """Overwrite the pickup contact and what was sent about them. The business address stays."""
    count = 0
    for key in members:
        found = list(_with_contact(key))
        for order in found:
            if order.returns_id:
                order.receiver_name, order.receiver_email, order.receiver_phone = ERASED, "", ""
            else:
                order.pickup |= {"name": ERASED, "email": "", "phone": ""}
        columns = ["pickup", "receiver_name", "receiver_email", "receiver_phone"]
        Order.objects.bulk_update(found, columns, batch_size=BATCH)
        orders = [order.pk for order in found]
        for erase in (erase_bodies, erase_labels):
            erase(orders)
        delete(Quote.objects.filter(orders__in=orders))
        count += len(orders)
    return count


@eraser("sender", "pickup addresses of parcels")
def erase_pickups(senders: Keys) -> int:
    return sum(
        Order.objects.filter(sender=sender).update(
            pickup=NO_PICKUP
            | {
                "suburb": "",
                "state": "",
                "postcode": "",
                "country": sender.country,
            }
        )
        for sender in Sender.objects.filter(pk__in=senders)
    )


def _with_contact(member: int) -> QuerySet[Order]:
    """Return parcels of this person's account, or made by them, that name them to the carrier."""
    theirs = Q(sender__memberships__user=member) | Q(made_by=member)
    named = Q(pk__in=[])
    for address in addresses_of(member):
        named |= Q(pickup__email__iexact=address, returns=None)
        named |= Q(receiver_email__iexact=address, returns__isnull=False)
    return Order.objects.filter(pk__in=Order.objects.filter(theirs).values("pk")).filter(named)


# -- After the retention period ------------------------------------------------------------------


@term("receivers")
def purge_receivers(now: dt.datetime) -> int:
    """Erase receivers RECEIVER_DAYS after their order was last due, if nothing is unclear."""
    return erase_resolved(
        Order.objects.filter(submitted_at__lt=now - dt.timedelta(days=settings.RECEIVER_DAYS))
    )


def erase_resolved(orders: QuerySet[Order]) -> int:
    """Erase receivers of orders without objections, in batches; return how many."""
    count, last = 0, 0
    waiting = orders.filter(erased_at=None).order_by("pk").values_list("pk", flat=True)
    while keys := list(waiting.filter(pk__gt=last)[:BATCH]):
        with transaction.atomic():
            lock_orders(keys)
            chosen = set(keys) - {key for _, key in erasing.objections({"order": keys})}
            erasing.erase({"order": chosen})
        count, last = count + len(chosen), keys[-1]
    return count
