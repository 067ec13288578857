"""One row of an import: put right in the grid or on a page of its own, left out, or let through after all."""

import uuid

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.importing import checking, folding, row_form
from shipping_portal.importing.models import ImportRow


@audience(*BOOKERS)
@require_http_methods(["GET", "POST"])
def import_row(request: MemberRequest, file: uuid.UUID, row: int) -> HttpResponse:
    """All fields of a row; posting checks it again at once, and the rows in the same trouble if asked for."""
    mine = ImportRow.objects.filter(file__sender__memberships__user=request.user, file__uuid=file)
    found = get_object_or_404(
        mine.select_related("file__sender", "file__made_by", "order", "folded_into"), pk=row
    )
    address = request.sender.pickup_address()
    if address is None or found.order or found.state == ImportRow.State.OWED:
        messages.info(request, "This row is handed over for booking, so it stays as it is.")
        return redirect("import", found.file.uuid)
    if found.folded_into:
        return _joined(request, found)
    form = row_form.form_of(found, found.file, address, checking.chosen_size(found.file))
    if request.method == "GET":
        context = {"row": found, "file": found.file, "form": form, **_parts(found, form)}
        return render(request, "importing/import_row.html", context)
    if "leave_out" in request.POST:
        is_done = found.finish(state=ImportRow.State.SKIPPED, problems=checking.LEFT_OUT)
    else:
        is_done = _save(request, found, form)
    if not is_done:
        messages.warning(
            request, f"Row {found.number} was changed or booked meanwhile, so it stays as it is. Look at it."
        )
    return redirect(
        f"{reverse('check_import', args=[found.file.uuid])}?show={request.POST.get('show') or 'fix'}#grid"
    )


def _joined(request: MemberRequest, row: ImportRow) -> HttpResponse:
    """A row that is part of another's parcel is looked at there, or made a parcel of its own."""
    if request.method == "POST" and not folding.unfold(row, timezone.now()):
        messages.warning(
            request, f"Row {row.number} is booked with the row it was joined to, so it stays there."
        )
    if request.method == "POST":
        return redirect(f"{reverse('check_import', args=[row.file.uuid])}?show=joined#grid")
    return redirect("import_row", row.file.uuid, row.folded_into_id)


def _parts(row: ImportRow, form: row_form.ParcelForm) -> dict[str, list[row_form.Cell]]:
    """What holds something, is needed or is in trouble; and apart from it what a parcel may have."""
    cells = row_form.cells(row, form, form.fields)
    filled = [cell for cell in cells if cell.control.name in row.problems or cell.is_filled]
    return {"filled": filled, "others": [cell for cell in cells if cell not in filled]}


def _save(request: MemberRequest, row: ImportRow, form: row_form.ParcelForm) -> bool:
    """False when somebody else was faster."""
    corrected = row_form.corrections(row, form, request.POST)
    if "anyway" in request.POST:
        corrected |= checking.let_through(row)
    saved = row_form.save(
        row.file, row, corrected, alike="alike" in request.POST or "alike" in request.GET, now=timezone.now()
    )
    checking.work(row.pk)
    if saved > 1:
        messages.success(request, f"Applied to {saved} rows. They are checked again.")
    return saved > 0
