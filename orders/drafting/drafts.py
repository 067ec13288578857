"""Keep a parcel as a row from its first letter until it is booked.

Pages and programs use the same entry points.

begin       makes the row of a copy, a correction or a price check
save        stores the form as typed, valid or not
ask_prices  returns the quote of a valid form, and keeps it in the draft
submit      books one of the offers, which ends the draft
"""

import datetime as dt
import uuid
from typing import Any

from django.db import transaction
from django.db.models import BigIntegerField, QuerySet

from orders.booking import booking_rules, bookings
from orders.drafting import further_parcels
from orders.drafting.forms import ParcelForm, after_presses, initial_from
from orders.drafting.further_parcels import Values
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import initial_of
from orders.drafting.returning import form_start, with_current_end
from orders.drafting.sizes import offered_sizes
from orders.models import Draft, Order, PriceWait, Quote
from orders.quoting import asking
from orders.status import dismissing
from orders.status.status_labels import UNBOOKED
from shipping_portal.accounts.address.text import one_line
from shipping_portal.accounts.models import Sender, User
from shipping_portal.db.planned_statements import Given, PlannedSelect, PlannedUpdate

MOST = 50  # the saved drafts of an account, and the untouched ones of a person
DAYS = 30  # since the last change; a draft holds addresses
UNTOUCHED_DAYS = 1
LONGEST = 2000
END = PlannedUpdate(
    Draft.objects.filter(pk=Given("draft", BigIntegerField())),
    order=Given("order", BigIntegerField()),
    values={},
)
WAITS = PlannedSelect(PriceWait.objects.filter(draft=Given("draft", BigIntegerField())))
FULL = f"{MOST} drafts are kept already, so this one wasn't. Delete one first."


def listed(user: User) -> QuerySet[Draft]:
    """Return the drafts that this person's account can continue, most recently changed first."""
    drafts = Draft.objects.for_user(user).filter(is_saved=True, order=None)
    return drafts.exclude(source=Draft.Source.CORRECTED).order_by("-updated_at", "-pk")


def parcel_form(
    sender: Sender,
    data: Any = None,
    *,
    initial: Values | None = None,
    draft: Draft | None = None,
) -> ParcelForm:
    """Return a sender's parcel form, with the values posted or with its initial ones.

    The sender needs a pickup address. The `draft` of a return starts elsewhere.
    """
    sent = None if data is None else after_presses(data)
    if draft and draft.returns and draft.quote:
        sent, initial = (
            values and with_current_end(values, draft.quote, sender) for values in (sent, initial)
        )
    start = draft.start if draft else None
    return ParcelForm(
        sent,
        initial=initial,
        sender=sender,
        address=form_start(start) if start else sender.pickup_address(),
        sizes=offered_sizes(sender, chosen=str((sent or initial or {}).get("size", ""))),
        returns=draft.returns if draft else None,
        most=1 if draft and (draft.corrects or draft.returns) else further_parcels.MOST,
    )


def begin(
    sender: Sender,
    by: User,
    first: ParcelDetails | Values,
    *,
    now: dt.datetime,
    **known: Any,
) -> Draft:
    """Make a draft that nobody has typed into yet, from a parcel or from form values.

    `known` holds its `source` if it isn't a copy, its `origin` and its `quote`. The copy of a
    return is a return of the same parcel, and ends at the pickup address as it is now.
    """
    if isinstance(first, ParcelDetails) and first.ends_at_pickup:
        first = first.with_pickup(sender.pickup_address())
    values = initial_from(first, sender) if isinstance(first, ParcelDetails) else first
    if isinstance(first, ParcelDetails) and first.returns and "source" not in known:
        known |= {"source": Draft.Source.RETURNED, "origin": Order.objects.get(pk=first.returns)}
    _delete_oldest_untouched(by)
    stored = {
        "source": Draft.Source.COPIED,
        "values": _as_stored(values),
        "is_saved": False,
        "updated_at": now,
    }
    return Draft.objects.create(sender=sender, made_by=by, **stored | known)


def save(draft: Draft, values: Values, *, now: dt.datetime) -> Draft:
    """Store the form as typed and return its row: a new one if this parcel is already booked.

    A post changes nothing if its page sent it before the one that was stored last. An account may
    save MOST drafts. Any further draft is kept for UNTOUCHED_DAYS only, with `is_saved` False.
    Raises IntegrityError if the key is another account's.
    """
    stored = {"values": _as_stored(values), "updated_at": now}
    with transaction.atomic():
        # The sender is locked before an unsaved draft: others, who hold the sender, may delete it.
        row = _lock(draft) if draft.is_saved else None
        if row is None:
            row = _save_among_the_others(draft, stored)
        elif not _is_overtaken(row, values):
            Draft.objects.filter(pk=row.pk).update(**stored)
            row.values, row.updated_at = stored["values"], now
    row.sender = draft.sender
    if row.origin_id == draft.origin_id:
        row.origin = draft.origin
    return row


def _save_among_the_others(draft: Draft, stored: dict[str, Any]) -> Draft:
    """Store a draft that isn't saved yet. The sender's lock enforces the maximum."""
    Sender.locked(draft.sender_id)
    mine = Draft.objects.filter(sender=draft.sender)
    row = mine.filter(uuid=draft.uuid).first()
    if row and not row.order_id and _is_overtaken(row, stored["values"]):
        return row
    booked = row.order if row else None
    key = uuid.uuid4() if booked else draft.uuid
    saved = mine.filter(is_saved=True, order=None).exclude(source=Draft.Source.CORRECTED)
    is_saved = draft.source == Draft.Source.CORRECTED or saved.exclude(uuid=key).count() < MOST
    stored |= {"is_saved": is_saved}
    made = {"made_by": draft.made_by, "source": draft.source, "origin": draft.origin}
    if booked and not draft.returns:
        made |= {"source": Draft.Source.TYPED, "origin": booked}
    if not is_saved:
        _delete_oldest_untouched(draft.made_by)
    row, _ = mine.update_or_create(
        uuid=key, sender=draft.sender, defaults=stored, create_defaults=stored | made
    )
    return row


@transaction.atomic
def change(draft: Draft, values: Values) -> None:
    """Overwrite these values of a stored draft."""
    row = _lock(draft)
    if row:
        Draft.objects.filter(pk=row.pk).update(values=row.values | _as_stored(values))


def _lock(draft: Draft) -> Draft | None:
    """Return this draft as it is stored, locked; None if it is new or booked."""
    return Draft.objects.select_for_update().filter(pk=draft.pk, order=None).first()


def _is_overtaken(stored: Draft, values: Values) -> bool:
    """Return whether the stored values are a later post of the same page."""
    page, number = _edit_in(values)
    newest_page, newest = _edit_in(stored.values)
    return page == newest_page and number < newest


def _edit_in(values: Values) -> tuple[str, int]:
    """Return the page that sent these values, and the number of its post: 0 without a script."""
    page, _, number = str(values.get("edit") or "").partition(" ")
    return page, int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0


def ask_prices(
    draft: Draft, details: ParcelDetails, *, by: User, now: dt.datetime, fresh: bool = False
) -> Quote:
    """Return the prices to book from, and keep them in the draft.

    A quote that was already booked would lead to its order, so another one is requested. Raises
    what asking.ask_for_prices and booking_rules.refuse_unless_booking_is_on raise.
    """
    booking_rules.refuse_unless_booking_is_on(draft.sender, now, is_booking=False)
    quote = asking.ask_for_prices(draft.sender, details, by=by, now=now, fresh=fresh)
    if quote.orders.exists():
        quote = asking.ask_for_prices(draft.sender, details, by=by, now=now, fresh=True)
    if details.ends_at_pickup:
        change(draft, initial_of(details.receiver))
    if draft.quote_id != quote.pk:
        Draft.objects.filter(pk=draft.pk).update(quote=quote)
        draft.quote = quote
    return quote


def submit(
    draft: Draft, quote: Quote, *, by: User, now: dt.datetime, product: str, **chosen: Any
) -> Order:
    """Book an offer of this quote by its key, which ends the draft.

    If it is a copy of a parcel that was never booked, that parcel is dismissed.

    `chosen` are the pickup_date, the form_token, and `is_another` for a second return.

    Raises what bookings.submit raises, and ValueError for a correction, whose old parcel would
    stay booked.
    """
    if draft.corrects:
        raise ValueError(f"{draft} is booked once {draft.corrects} is cancelled")
    order = bookings.submit(quote=quote, code=product, by=by, now=now, **chosen)
    if WAITS.rows(draft=draft.pk):
        PriceWait.objects.filter(draft=draft).delete()
    END.run(draft=draft.pk, order=order.pk)
    if draft.origin and draft.origin.status in UNBOOKED:
        dismissing.dismiss(Order.objects.filter(pk=draft.origin.pk), now)
    return order


def select_expired(now: dt.datetime) -> QuerySet[Draft]:
    """Return drafts that nobody has touched for a long time."""
    untouched = Draft.objects.filter(
        is_saved=False, updated_at__lt=now - dt.timedelta(days=UNTOUCHED_DAYS)
    )
    return untouched | Draft.objects.filter(updated_at__lt=now - dt.timedelta(days=DAYS))


def _delete_oldest_untouched(by: User) -> None:
    """Make room for one more draft that this person hasn't saved."""
    untouched = Draft.objects.filter(made_by=by, is_saved=False).order_by("-pk")
    Draft.objects.filter(pk__in=list(untouched.values_list("pk", flat=True)[MOST - 1 :])).delete()


def _as_stored(values: Values) -> dict[str, Any]:
    """Return what is filled in, as values for JSON.

    Text is on one line, cut to what a control holds, without NUL.
    """
    return {
        name: value if isinstance(value, list) else one_line(str(value))[:LONGEST]
        for name, value in values.items()
        if value is not None
    }
