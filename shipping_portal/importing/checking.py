"""Check every row without booking: through the parcel form, then by the carrier's prices.

begin      (web)     columns are matched; rows of one order are joined; every parcel gets a check
check_row  (worker)  read once → left out? → the form's rules → bought before? → prices → ready, or
                     what to fix
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Min, Q
from django.utils import timezone

from orders.booking import answers
from orders.calling import gateway
from orders.drafting.forms import ParcelForm
from orders.models import Quote
from orders.models.quotes import bookable
from orders.quoting import asking
from shipping_portal.accounts.address import places
from shipping_portal.accounts.formatting import plain
from shipping_portal.accounts.models import Locality, Sender
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.carrier.messages import Party
from shipping_portal.importing import columns, duplicates, joining, leaving_out, row_checks, shops
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow, due_for_check
from shipping_portal.importing.outliers import LEFT_OUT
from shipping_portal.importing.read_row import Problems, ReadRow, read_row
from shipping_portal.jobs.models import backoff
from shipping_portal.jobs.registry import enqueue, job

State = ImportRow.State
ENQUEUED_AT_ONCE = 50
BATCH = 500  # rows that one round of the sweep sends to the workers

Outcome = dict[str, Any]  # the outcome of checking a row


@transaction.atomic
def begin(
    file: Import, matched: dict[str, int], constants: dict[str, Any], now: dt.datetime
) -> bool:
    """Schedule a check of every row not left out by hand, and store how its columns were matched.

    Returns False while the import is being booked: its columns stay as they are.
    """
    # A press of Book comes before or after, never in between.
    Sender.locked(file.sender_id)
    open_yet = Import.objects.filter(pk=file.pk).exclude(state=Import.State.BOOKING)
    if not open_yet.update(columns=matched, constants=constants, state=Import.State.CHECKING):
        return False
    file.rows.exclude(state__in=(State.DUE, State.BOOKED)).exclude(
        state=State.SKIPPED, problems=LEFT_OUT
    ).update(**due_for_check(now), joined_into=None, **ImportRow.AFRESH)
    file.columns, file.constants = matched, constants
    joining.join(file)
    ColumnMapping.objects.update_or_create(
        sender=file.sender,
        fingerprint=file.fingerprint,
        defaults={
            "columns": matched,
            "constants": columns.lasting_constants(constants),
            "used_at": now,
        },
    )
    enqueue_first(file, "check-row", State.NEW)
    return True


def schedule_check(row: ImportRow, corrected: dict[str, str], now: dt.datetime) -> bool:
    """Schedule a check of one corrected row.

    Returns False if it is booked, or somebody else changed it first.
    """
    if row.state in (State.DUE, State.BOOKED):
        return False
    return row.finish(**due_for_check(now), tries=0, corrected={**row.corrected, **corrected})


def enqueue_first(file: Import, job_name: str, state: str) -> None:
    """Notify the workers of the first rows; the sweep finds the rest."""
    enqueue(
        job_name, *file.rows.filter(state=state).values_list("pk", flat=True)[:ENQUEUED_AT_ONCE]
    )


@job(
    "check-row",
    queue=ImportRow.objects.filter(state=State.NEW)
    .select_related("file__sender", "file__made_by")
    .prefetch_related("lines"),
    lane="file__sender",
    order=100,
    batch=BATCH,
)
def check_row(row: ImportRow) -> None:
    """Read a row once, and finish it with the first result that a step returns."""
    read = read_row(row)
    if read is None:
        row.finish(**_to_fix({"": ["Tell us first where your parcels are picked up."]}))
        return
    try:
        outcome = next(filter(None, (step(read) for step in STEPS)))
    except (CarrierError, asking.Paused):
        try_later(row)
    else:
        row.finish(**outcome)


def priced_before(file: Import, now: dt.datetime) -> dt.date | None:
    """Return the day of a ready row's oldest expired price, if that is an earlier day."""
    made_at = file.rows.filter(state__in=ImportRow.READY).aggregate(oldest=Min("quote__made_at"))[
        "oldest"
    ]
    if made_at is None or now - made_at <= dt.timedelta(seconds=settings.QUOTE_SECONDS):
        return None
    day = file.sender.day_of(made_at)
    return day if day < file.sender.day_of(now) else None


def unpriced(file: Import) -> list[tuple[str, int]]:
    """Return the carriers to ask again, each with its number of ready rows."""
    quotes = file.rows.filter(state__in=ImportRow.READY).exclude(quote__missing=[])
    missing = Counter(
        one["account"]
        for missing in quotes.order_by().values_list("quote__missing", flat=True)
        for one in missing or ()
        if not one["is_refused"]
    )
    titles = gateway.carrier_titles()
    return [(titles[account], rows) for account, rows in missing.items() if account in titles]


@transaction.atomic
def price_again(file: Import, now: dt.datetime) -> int:
    """Schedule a check of every ready row without current prices; return how many.

    Such a row's price has expired, or a carrier gave none.
    """
    before = now - dt.timedelta(seconds=settings.QUOTE_SECONDS)
    old = file.rows.filter(
        Q(quote__made_at__lt=before) | ~Q(quote__missing=[]),
        state__in=ImportRow.READY,
        quote__isnull=False,
    )
    return _check_ready(file, old.order_by().values("pk"), now)


@transaction.atomic
def check_moved(file: Import, now: dt.datetime) -> int:
    """Schedule a check of ready rows that were priced from a former pickup address.

    Returns how many there are.
    """
    address = file.sender.pickup_address()
    ready = file.rows.filter(state__in=ImportRow.READY, quote__isnull=False)
    priced = ready.values_list("pk", "quote__details__pickup")
    moved = [pk for pk, pickup in priced if address and Party(**pickup) != address.party()]
    return _check_ready(file, moved, now) if moved else 0


def _check_ready(file: Import, rows: Any, now: dt.datetime) -> int:
    due = ImportRow.objects.filter(pk__in=rows, state__in=ImportRow.READY).update(
        **due_for_check(now), **ImportRow.AFRESH
    )
    enqueue_first(file, "check-row", State.NEW)
    return due


@transaction.atomic
def take_all(file: Import, why: str, now: dt.datetime) -> int:
    """Accept and check every row that was left out for this reason; return how many."""
    left_out = file.rows.filter(**{"state": State.SKIPPED, f"problems__{shops.STATUS}": [why]})
    taken = sum(schedule_check(row, {shops.STATUS: "yes"}, now) for row in left_out)
    enqueue_first(file, "check-row", State.NEW)
    return taken


def try_later(row: ImportRow) -> None:
    """Keep the row due and try again later: nobody answered, or prices or bookings are paused."""
    row.retry(timezone.now() + backoff(row.tries, first=2.0, cap=60.0))


def _leave_out(read: ReadRow) -> Outcome:
    why = leaving_out.why_left_out(read.row)
    return {"state": State.SKIPPED, "problems": {shops.STATUS: [why]}} if why else {}


def _refuse_shape(read: ReadRow) -> Outcome:
    shape = leaving_out.cell_count_problem(read.row)
    return _to_fix({"": [shape]}) if shape else {}


def _refuse_values(read: ReadRow) -> Outcome:
    problems = row_checks.find_problems(read)
    near = _as_lists(read.form.near[:2]) or restore_zeros(read.form)
    return _to_fix(problems, near) if problems else {}


def _skip_duplicate(read: ReadRow) -> Outcome:
    reference = _reference(read)
    why = duplicates.find_booked_order(read.row, reference) or duplicates.find_earlier_row(
        read.row, reference
    )
    return {"state": State.SKIPPED, "problems": {"": [why]}} if why else {}


def _price(read: ReadRow) -> Outcome:
    """Ask the carrier for the row's prices.

    Raises CarrierError or Paused if there is no answer yet.
    """
    details, file = read.form.details(), read.file
    try:
        quote = asking.ask_for_prices(
            file.sender, details, by=file.made_by, now=timezone.now(), typed=False
        )
    except Rejected as error:
        answers.add_price_rejection(read.form, error)
        return _refuse_values(read)
    if not bookable(quote.products):
        _tell_why_none(quote, read.form)
        return _refuse_values(read)
    doubts = row_checks.find_doubts(read, details, quote)
    return {
        "state": State.WARNING if doubts else State.READY,
        "quote": quote,
        "reference": _reference(read),
        "problems": doubts,
        "pickup_date": read.pickup_day,
    }


# Each step returns the row's outcome, or nothing to leave it to the next step. The last one always
# returns an outcome.
STEPS: tuple[Callable[[ReadRow], Outcome], ...] = (
    _leave_out,
    _refuse_shape,
    _refuse_values,
    _skip_duplicate,
    _price,
)


def _to_fix(problems: Problems, near: list[list[str]] | None = None) -> Outcome:
    return {"state": State.FIX, "problems": problems, "near": near or []}


def _reference(read: ReadRow) -> str:
    return duplicates.reference_of(read.row, read.form.cleaned_data["customer_reference"])


def restore_zeros(form: ParcelForm) -> list[list[str]]:
    """Return the place whose postcode lost zeros in a spreadsheet: `800` in Darwin was 0800."""
    wide = {"AU": 4, "US": 5}
    country = form.cleaned_data.get("receiver_country", "")
    code = str(form.data.get("receiver_postcode", ""))
    if not code.isdigit() or len(code) >= wide.get(country, 0):
        return []
    suburb = form.data.get("receiver_suburb", "")
    pair = places.check_pair(country, suburb, code.zfill(wide[country]))
    return _as_lists([pair.place] if pair.place else [])


def _as_lists(found: Sequence[Locality]) -> list[list[str]]:
    return [[place.suburb, place.state, place.postcode] for place in found]


def _tell_why_none(quote: Quote, form: ParcelForm) -> None:
    """Explain at the fields why no service can be booked: a missing code, or no offers."""
    if quote.products:
        return form.add_error("item_1_hs_code", quote.products[0]["refused"])
    details = form.details()
    parcel = f"{plain(details.measures.weight)} {form.weight_unit} from {details.pickup.postcode}"
    text = (
        f"The carrier offers no service for {parcel} to {details.receiver.postcode}. Check weight"
        " and size."
    )
    for control in form.measure_names:
        form.add_error(control, text)
