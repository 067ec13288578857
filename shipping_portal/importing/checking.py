"""Checking: a dry run of every row through the parcel form, then the carrier's prices. Nothing is booked by it.

begin  (web)     the columns are matched; rows of one order are joined; every parcel is owed a check
work   (worker)  sent already? → the form's rules → bought before? → prices → ready, or what there is to fix
"""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from orders.booking import answers
from orders.calling import gateway
from orders.drafting.contents_form import CURRENCY, ROWS
from orders.drafting.forms import ParcelForm
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import AUTHORITY, SIGNATURE
from orders.models import Quote
from orders.models.quotes import bookable
from orders.quoting import asking, choosing, offers
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.addresses import LINE_ADVISED
from shipping_portal.accounts.models import ParcelSize
from shipping_portal.accounts.templatetags.words import plain
from shipping_portal.carrier.errors import CarrierError, Rejected
from shipping_portal.importing import (
    columns,
    currencies,
    duplicates,
    encodings,
    items,
    joining,
    notes,
    pickup_days,
    reading,
    shops,
    unread,
)
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from shipping_portal.importing.outliers import LEFT_OUT
from shipping_portal.jobs.registry import enqueue, job

State = ImportRow.State
ENQUEUED_AT_ONCE = 50
SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.IGNORECASE | re.ASCII)
MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
A_DAY = re.compile(rf"\d{{4}}-\d\d-\d\d(?: 00:00(?::00)?)?|\d\d?-{MONTH}(?:-\d{{2,4}})?|{MONTH}-\d\d?", re.I | re.A)


def begin(file: Import, matched: dict[str, int], constants: dict[str, Any], now: dt.datetime) -> bool:
    """Owe every row a check but those left out by hand, and remember how these columns were matched.

    False when the import is being booked: its columns stay as they are.
    """
    with transaction.atomic():
        open_yet = Import.objects.filter(pk=file.pk).exclude(state=Import.State.BOOKING)
        if not open_yet.update(columns=matched, constants=constants, state=Import.State.CHECKING):
            return False
        rows = file.rows.exclude(state__in=(State.OWED, State.BOOKED))
        rows.exclude(state=State.SKIPPED, problems=LEFT_OUT).update(
            state=State.NEW, due_at=now, problems={}, near=[], quote=None, reference="", joined_into=None,
            **ImportRow.AFRESH,
        )  # fmt: skip
        file.columns, file.constants = matched, constants
        joining.join(file)
        ColumnMapping.objects.update_or_create(
            sender=file.sender,
            fingerprint=file.fingerprint,
            defaults={"columns": matched, "constants": columns.lasting(constants), "used_at": now},
        )
        enqueue_first(file, "check-row", State.NEW)
    return True


def again(row: ImportRow, corrected: dict[str, str], now: dt.datetime) -> bool:
    """Owe one row a check with what was put right. False when it is booked, or somebody else was faster."""
    if row.state in (State.OWED, State.BOOKED):
        return False
    kept = {**row.corrected, **corrected}
    return row.finish(
        state=State.NEW, due_at=now, tries=0, corrected=kept, problems={}, near=[], quote=None, reference=""
    )


def enqueue_first(file: Import, job_name: str, state: str) -> None:
    """Tell the workers of the first rows; the sweep brings the others."""
    enqueue(job_name, *file.rows.filter(state=state).values_list("pk", flat=True)[:ENQUEUED_AT_ONCE])


@job(
    "check-row",
    queue=ImportRow.objects.filter(state=State.NEW)
    .select_related("file__sender", "file__made_by")
    .prefetch_related("lines"),
    lane="file__sender",
    order=100,
)
def work(row: ImportRow) -> None:
    """Check one row against what its shop says, the form's rules, what was bought before, and the carrier's prices."""
    form = form_of(row)
    if form is None:
        row.finish(state=State.FIX, problems={"": ["Tell us first where your parcels are picked up."]})
    elif why := left_out_as_hidden(row) or left_out_by_shop(row):
        row.finish(state=State.SKIPPED, problems={shops.STATUS: [why]})
    elif shape := odd_shape(row):
        row.finish(state=State.FIX, problems={"": [shape]})
    elif not form.is_valid() or beyond_the_form(row, form) or _waits(row, form):
        _to_fix(row, form)
    elif words := _duplicate_of(row, form.cleaned_data["customer_reference"]):
        row.finish(state=State.SKIPPED, problems={"": [words]})
    else:
        _price(row, form)


def priced_before(file: Import, now: dt.datetime) -> dt.date | None:
    """Return the day of the oldest price of a ready row, where it is a former day and its life is over; else None."""
    made_at = file.rows.filter(state__in=ImportRow.READY).aggregate(oldest=Min("quote__made_at"))["oldest"]
    if made_at is None or now - made_at <= dt.timedelta(seconds=settings.QUOTE_SECONDS):
        return None
    day = made_at.astimezone(file.sender.tzinfo).date()
    return day if day < now.astimezone(file.sender.tzinfo).date() else None


def price_again(file: Import, now: dt.datetime) -> int:
    """Owe every ready row whose price has outlived its quote a check; how many."""
    before = now - dt.timedelta(seconds=settings.QUOTE_SECONDS)
    old = file.rows.filter(state__in=ImportRow.READY, quote__made_at__lt=before)
    with transaction.atomic():
        owed = ImportRow.objects.filter(pk__in=old.order_by().values("pk"), state__in=ImportRow.READY).update(
            state=State.NEW, due_at=now, problems={}, near=[], quote=None, reference="", **ImportRow.AFRESH
        )
        enqueue_first(file, "check-row", State.NEW)
    return owed


def form_of(row: ImportRow, size: ParcelSize | None = None) -> ParcelForm | None:
    """Return the new-parcel form as if this row had been typed into it; None where there is no pickup address."""
    sender = row.file.sender
    address = sender.pickup_address()
    if address is None:
        return None
    size = size or chosen_size(row.file)
    return ParcelForm(columns.values(row, row.file, size), sender=sender, address=address)


def chosen_size(file: Import) -> ParcelSize | None:
    """Return the saved size that all rows have, if one was chosen and is still there."""
    wanted = file.constants.get(columns.SIZE)
    return file.sender.sizes.filter(uuid=wanted).first() if wanted else None


def let_through(row: ImportRow) -> dict[str, str]:
    """Return the correction that takes a row that was left out: it answers what was found, no more."""
    if shops.STATUS in row.problems:
        return {shops.STATUS: "yes"}
    if any(name.startswith(unread.KEY) for name in row.problems):
        return {unread.SEEN: "yes"}
    return {} if row.problems == LEFT_OUT else {duplicates.ANYWAY: "yes"}


def take_all(file: Import, why: str, now: dt.datetime) -> int:
    """Take every row that was left out for this reason of its shop's, and check it; how many."""
    left_out = file.rows.filter(**{"state": State.SKIPPED, f"problems__{shops.STATUS}": [why]})
    with transaction.atomic():
        taken = sum(again(row, {shops.STATUS: "yes"}, now) for row in left_out)
        enqueue_first(file, "check-row", State.NEW)
    return taken


def _waits(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """Return what no field of the form takes, by its column."""
    return unread.of_row(row, form.data, is_abroad=form.is_abroad) | pickup_days.of_row(row, form.address)[1]


def _to_fix(row: ImportRow, form: ParcelForm) -> None:
    near = [[place.suburb, place.state, place.postcode] for place in form.near[:2]] or unmangled(form)
    problems = {"" if name == "__all__" else name: [str(text) for text in texts] for name, texts in form.errors.items()}
    problems |= beyond_the_form(row, form) | _waits(row, form)
    row.finish(state=State.FIX, problems=problems, near=near)


def _duplicate_of(row: ImportRow, typed: str) -> str:
    row.reference = duplicates.reference_of(row, typed)
    return duplicates.bought(row, row.reference) or duplicates.on_an_earlier_row(row, row.reference)


def _price(row: ImportRow, form: ParcelForm) -> None:
    details = form.details()
    try:
        quote = asking.ask(row.file.sender, details, by=row.file.made_by, now=timezone.now(), typed=False)
    except Rejected as error:
        answers.put_at(form, error)
        _to_fix(row, form)
    except (CarrierError, asking.Paused):
        try_later(row)
    else:
        if not bookable(quote.products):
            _tell_why_none(quote, form)
            return _to_fix(row, form)
        left_out = {name: [text] for name, text in form.left_out.items() if name not in row.corrected}
        doubts = left_out | second_look(row, details, quote)
        row.finish(
            state=State.WARNING if doubts else State.READY,
            quote=quote,
            reference=row.reference,
            problems=doubts,
            pickup_date=pickup_days.of_row(row, form.address)[0],
        )


def _tell_why_none(quote: Quote, form: ParcelForm) -> None:
    """Tell at the fields why no service can be booked: a code is missing, or the carrier offers nothing."""
    if quote.products:
        return form.add_error("item_1_hs_code", quote.products[0]["refused"])
    details = form.details()
    parcel = f"{plain(details.measures.weight)} {form.weight_unit} from {details.pickup.postcode}"
    text = f"The carrier offers no service for {parcel} to {details.receiver.postcode}. Check weight and size."
    for control in (form.weight_name, *form.size_names):
        form.add_error(control, text)


def try_later(row: ImportRow) -> None:
    """Keep the row owed and look again: nobody answered, or prices or bookings are paused."""
    row.retry(timezone.now() + gateway.backoff(row.tries, first=2.0, cap=60.0))


def left_out_as_hidden(row: ImportRow) -> str:
    """Return that nobody sees it in the workbook, unless somebody took it all the same."""
    return notes.HIDDEN if notes.is_hidden(row) and not row.corrected.get(shops.STATUS) else ""


def left_out_by_shop(row: ImportRow) -> str:
    """Return why its shop would not send it, or that it is a sum, unless somebody took it all the same."""
    if row.corrected.get(shops.STATUS):
        return ""
    own = ("customer_reference", "receiver_line1", "receiver_email", "receiver_postcode")
    if shops.is_a_sum(row.cells) and not any(
        columns.cell(row, row.file, name).strip() for name in _not_first(row, own)
    ):
        return shops.NOT_A_PARCEL
    return shops.why_left_out(row.file.header, [one.cells for one in (row, *row.lines.all())])


def _not_first(row: ImportRow, names: tuple[str, ...]) -> list[str]:
    """Return those of these fields that are not read from the row's first filled cell, where a sum is named."""
    first = next((place for place, cell in enumerate(row.cells) if cell.strip()), -1)
    return [name for name in names if row.file.columns.get(name) != first]


def odd_shape(row: ImportRow) -> str:
    """Return what is wrong with a row that has a cell too many or too few and nobody has looked at; else ""."""
    wanted = len(row.file.header)
    extra = [cell for cell in row.cells[wanted:] if cell.strip()]
    is_seen = row.corrected.keys() - {shops.STATUS, unread.SEEN}
    if notes.is_bad(row) and not is_seen:
        return notes.BAD_LINE
    if is_seen or not (extra or len(row.cells) < wanted):
        return ""
    return f"This row has {len(row.cells)} cells; the first line has {wanted}. Check each value, then save the row."


def beyond_the_form(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """Return what is to be fixed, by the form's fields, though it may pass as typed."""
    # Spreadsheets write long numbers as 6.14E+10: what stood there is lost, though it may pass as text.
    texts = {name: str(form.data.get(name, "")) for name in form.fields}
    message = "A spreadsheet shortened this number. Write it in full."
    found = {name: [message] for name, text in texts.items() if SHORTENED.fullmatch(text.strip())}
    message = "A spreadsheet turned this into a date. Write the number as it was, such as 6/7."
    lines = ("receiver_line1", "receiver_line2")
    found |= {name: [message] for name in lines if A_DAY.fullmatch(texts[name].strip())}
    found |= _of_customs(row, form) | _of_amounts(row, texts) | _of_lines(row) | _of_terms(row, form)
    return found | _misread(row, form)


def _of_amounts(row: ImportRow, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the amounts that are in another currency, or of more than one piece."""
    own, found = CURRENCY[row.file.sender.country], dict[str, list[str]]()
    for name, text in texts.items():
        if not (name == "cover_amount" or name.endswith("_value")):
            continue
        if many := currencies.OF_MANY.fullmatch(text):
            found[name] = [f"{many[1]} is the price of {many[2]} together. Write the value of one."]
        elif unsure := currencies.UNSURE.fullmatch(text):
            found[name] = [f"{unsure[1]} may be the price of one or of all {unsure[2]}. Write the value of one."]
        elif (code := currencies.read(text)[1]) and code != own:
            found[name] = [f"This is in {code}. Write it in {own}, or enter a rate for the whole file."]
    return found


def _of_terms(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """Return that two columns ask for the two terms at once."""
    name = next(one for one in ("delivery_choice", "receiver_instructions") if one in form.fields)
    both = all(columns.is_yes(columns.cell(row, row.file, column)) for column in columns.YES_OR_NO)
    texts = [f"Your file says yes to {AUTHORITY} and to {SIGNATURE}. Choose one."]
    return {name: texts} if both and name not in row.corrected else {}


def _of_lines(row: ImportRow) -> dict[str, list[str]]:
    """Return what three lines of an address leave open: where the street is, and whether they fit on two."""
    lines = [columns.cell(row, row.file, f"receiver_line{number}").strip() for number in (1, 2, 3)]
    if not lines[2] or {"receiver_line1", "receiver_line2"} & row.corrected.keys():
        return {}
    if not any(map(str.isdigit, lines[0])) and any(map(str.isdigit, lines[2])):
        return {
            "receiver_line1": [f"The street may be in the third line: “{lines[2]}”. Put it first, or save the row."]
        }
    if (length := len(", ".join(filter(None, lines[1:])))) > LINE_ADVISED:
        return {
            "receiver_line2": [f"Lines 2 and 3 have {length} characters together; {LINE_ADVISED} fit on the label."]
        }
    return {}


def _misread(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """Return the cells that a spreadsheet could not compute, and letters that were read wrongly."""
    found: dict[str, list[str]] = {}
    for one in (row, *row.lines.all()):
        for name, place in row.file.columns.items():
            text = one.cells[place].strip() if place < len(one.cells) else ""
            control = columns.form_name({columns.LAST_NAME: "receiver_name"}.get(name, name), row.file.sender.country)
            where = control if control in form.fields else ""
            if control in row.corrected:
                continue
            if reading.NOT_COMPUTED.fullmatch(text):
                found[where] = [f"Your sheet couldn't compute this: “{text}”. Write what belongs here."]
            elif (meant := encodings.decoded_back(text)) != text:
                found[where] = [f"Letters were read wrongly here: “{text}” may be “{meant}”. Write it as it is."]
    return found


def _of_customs(row: ImportRow, form: ParcelForm) -> dict[str, list[str]]:
    """Return what only a file leaves open: a value without a quantity, and more items than the form has."""
    if not form.is_abroad:
        return {}
    found = {name: ["Enter how many, 1 or more."] for name in items.uncounted(form.data) if name in form.fields}
    if items.TOO_MANY in form.data and not any(name.startswith("item_") for name in row.corrected):
        found["item_1_description"] = [f"This order has more than {ROWS} items. Write them as {ROWS} or fewer."]
    return found


def unmangled(form: ParcelForm) -> list[list[str]]:
    """Give back leading zeros that spreadsheets drop: `800` in Darwin was 0800."""
    wide = {"AU": 4, "US": 5}
    country, code = form.cleaned_data.get("receiver_country", ""), str(form.data.get("receiver_postcode", ""))
    if not code.isdigit() or len(code) >= wide.get(country, 0):
        return []
    pair = places.check_pair(country, form.data.get("receiver_suburb", ""), code.zfill(wide[country]))
    return [[pair.place.suburb, pair.place.state, pair.place.postcode]] if pair.place else []


def second_look(row: ImportRow, details: ParcelDetails, quote: Quote) -> dict[str, list[str]]:
    """Return what may be booked as it is, and is told before, by our field."""
    weight = columns.form_name(columns.WEIGHT, row.file.sender.country)
    unmet = choosing.unmet(quote.products, row.file.sender.service_rule)
    texts = {"": offers.warnings(details) + unmet} | _lost_letters(details)
    if not columns.are_of_one_item(row.file) and (problem := items.of_weights(columns.lines(row, row.file))):
        texts[weight] = [problem]
    # Whoever saved the row has seen what stands at its fields.
    return {name: text for name, text in texts.items() if text and name not in row.corrected}


def _lost_letters(details: ParcelDetails) -> dict[str, list[str]]:
    """Find question marks where an export could not write the letters of a name."""
    values = {f"receiver_{part}": getattr(details.receiver, part) for part in ("name", "company", "line1", "line2")}
    return {
        name: [f"Letters were lost here: “{text}”. Put it right, or save the row as it is."]
        for name, text in values.items()
        if "?" in text
    }
