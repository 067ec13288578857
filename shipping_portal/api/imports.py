"""Files of parcels, uploaded, matched and corrected as on the pages. A person books them there."""

import uuid
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.datastructures import MultiValueDict

from orders.quoting import choosing
from shipping_portal.accounts.access import MemberRequest
from shipping_portal.accounts.models import PickupAddress
from shipping_portal.api import schemas, shown
from shipping_portal.api.gate import read_body
from shipping_portal.api.listed import refuse_cursor
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem, refuse_invalid
from shipping_portal.api.sent import (
    needed_pickup_address,
    refuse_unless_may_begin,
    refuse_unused,
    refuse_wrong,
    sent_form,
)
from shipping_portal.carrier.messages import Money
from shipping_portal.db.keyset import Keyset
from shipping_portal.importing import (
    checking,
    columns,
    leaving_out,
    listing,
    progress,
    reading,
    row_form,
    units,
    uploads,
)
from shipping_portal.importing.forms import ImportUploadForm, MatchForm, guesses
from shipping_portal.importing.models import Import, ImportRow
from shipping_portal.importing.read_row import chosen_size
from shipping_portal.importing.row_values import values

IN_ORDER = Keyset()

FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@api_operation(
    "POST", "/imports", scope="imports", answer=schemas.ImportOut, status=201, openapi_extra=FILE
)
def upload_import(request: MemberRequest, name: str = "orders.csv") -> Any:
    """Upload an Excel, CSV or TSV file as the body. Nothing is booked.

    If its columns are known, they are matched and the rows are checked straight away. Otherwise its
    state is "matching".
    """
    refuse_unless_may_begin(request.sender)
    now = timezone.now()
    content = read_body(request, reading.MOST_BYTES)
    try:
        uploads.count_try(request.sender, request.user, now)
    except uploads.TooManyFiles as error:
        wait = max(1, round((error.free_at - now).total_seconds()))
        words = f"You sent {error.most} files in the last hour, which is the limit."
        raise ApiProblem("limit", words, headers={"Retry-After": str(wait)}) from error
    form = ImportUploadForm({}, MultiValueDict({"file": [SimpleUploadedFile(name, content)]}))
    refuse_invalid(form)
    file = uploads.store_upload(
        form.sheet, name=form.file_name, sender=request.sender, by=request.user, now=now
    )
    return _shown(file)


@api_operation("GET", "/imports/{id:file}", scope="imports", answer=schemas.ImportOut)
def get_import(request: MemberRequest, file: uuid.UUID) -> Any:
    """Show a file's progress, with its rows by outcome."""
    return _shown(listing.import_of(request, file))


@api_operation(
    "GET", "/imports/{id:file}/columns", scope="imports", answer=schemas.ImportColumnsOut
)
def get_import_columns(request: MemberRequest, file: uuid.UUID) -> Any:
    """Show which column is matched to which field, as remembered for this header or guessed."""
    found, address = listing.import_of(request, file), needed_pickup_address(request.sender)
    form = _match_form(found, address)
    return {
        "header": found.header,
        "values": form.initial,
        "controls": {name: str(field.label) for name, field in form.fields.items()},
        "missing": [match.column.name for match in form.matches() if match.is_missing],
    }


@api_operation("PUT", "/imports/{id:file}/columns", scope="imports", answer=schemas.ImportOut)
def match_import_columns(
    request: MemberRequest, file: uuid.UUID, matched: schemas.ImportColumnsIn
) -> Any:
    """Match a file's columns, remember the match for its header, and check every row again."""
    found, address = listing.import_of(request, file), needed_pickup_address(request.sender)
    guessed = _match_form(found, address)
    sent = {name: guessed.initial[name] for name in units.TABLES} | matched.values
    form = _match_form(found, address, sent_form(sent))
    refuse_wrong(sent, form)
    if not checking.begin(found, form.columns, form.constants, timezone.now()):
        raise ApiProblem("state", "This import is being booked, so its columns stay as they are.")
    found.refresh_from_db()
    return _shown(found)


@api_operation("GET", "/imports/{id:file}/rows", scope="imports", answer=schemas.ImportRowsOut)
def list_import_rows(
    request: MemberRequest, file: uuid.UUID, state: schemas.RowState = "", cursor: str = ""
) -> Any:
    """List the rows of a file, fifty per page: how each is read, what is wrong, and its price."""
    refuse_cursor(cursor, IN_ORDER)
    found = listing.import_of(request, file)
    rows = _rows_of(found)
    page = IN_ORDER.page(rows.filter(state=state) if state else rows, on=cursor)
    return {"rows": _rows_shown(found, page.rows), "next": page.on}


@api_operation(
    "PATCH", "/imports/{id:file}/rows/{int:row}", scope="imports", answer=schemas.ImportRowOut
)
def correct_import_row(
    request: MemberRequest, file: uuid.UUID, row: int, correction: schemas.CorrectionIn
) -> Any:
    """Correct a row by its number and check it again, or leave it out. The file stays as it is."""
    found, address = listing.import_of(request, file), needed_pickup_address(request.sender)
    mine = get_object_or_404(_rows_of(found), number=row)
    if mine.order or mine.state in {ImportRow.State.DUE, ImportRow.State.JOINED}:
        raise ApiProblem("state", f"{mine.get_state_display()}: this row stays as it is.")
    if correction.leave_out and (correction.anyway or correction.values):
        raise ApiProblem("invalid", errors={"leave_out": ["Send it without the others."]})
    mine.file = found
    if not _correct(mine, address, correction):
        raise ApiProblem("state", "This row was changed or booked just now. Look at it again.")
    return _rows_shown(found, [_rows_of(found).get(number=row)])[0]


def _correct(row: ImportRow, address: PickupAddress, correction: Any) -> bool:
    """Save and check the row, or leave it out. Return False if somebody else changed it first."""
    form = row_form.form_of(row, row.file, address, chosen_size(row.file))
    sent = sent_form(correction.values.dict() if correction.values else {})
    refuse_unused(sent, form)
    if correction.leave_out:
        return row.finish(state=ImportRow.State.SKIPPED, problems=checking.LEFT_OUT)
    corrected, _ = row_form.corrections(row, form, {name: str(sent[name]) for name in sent})
    corrected |= leaving_out.accepting_correction(row) if correction.anyway else {}
    saved = row_form.save(row.file, row, corrected, alike=False, now=timezone.now())
    checking.check_row(row.pk)
    return saved > 0


def _match_form(file: Import, address: PickupAddress, sent: Any = None) -> MatchForm:
    known = guesses(file, columns.fields(file.sender, address))
    form = MatchForm(sent, file=file, address=address)
    form.initial = {name: known[name] for name in form.fields if name in known}
    return form


def _rows_of(file: Import) -> QuerySet[ImportRow]:
    return file.rows.select_related("quote", "order", "joined_into").prefetch_related("lines")


def _rows_shown(file: Import, rows: list[ImportRow]) -> list[dict[str, Any]]:
    """Return rows, each with the service and price that the account's rule chooses."""
    sender, size = file.sender, chosen_size(file)
    for row in rows:
        row.file = file
    last, carrier = choosing.last_product(sender), choosing.default_carrier(sender)
    lines = listing.lines(rows, sender.service_rule, last, carrier)
    return [_row_shown(line, values(line.row, file, size)) for line in lines]


def _row_shown(line: listing.ListedRow, typed: dict[str, str]) -> dict[str, Any]:
    row = line.row
    price = None if line.price is None else Money(line.price, line.currency)
    return {
        "number": row.number,
        "state": row.state,
        "values": shown.parcel_values(typed),
        "problems": row.problems,
        "service": line.service,
        "price": price,
        "pickup_day": row.pickup_date,
        "part_of": row.joined_into.number if row.joined_into else None,
        "parcel": row.order.uuid if row.order else None,
    }


def _shown(file: Import) -> dict[str, Any]:
    counts = progress.counts(file)
    return {
        "id": file.uuid,
        "name": file.file_name,
        "state": file.state,
        "made_at": file.created_at,
        **{name: getattr(counts, name) for name in schemas.COUNTS},
        "url": settings.SITE_URL + reverse("import", args=[file.uuid]),
    }
