"""Request exports, watch them being packed, and download them. All are for owners only."""

import uuid
from collections.abc import Iterator

from allauth.account.decorators import reauthentication_required
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from orders.models import Order
from shipping_portal.accounts.access import OWNERS, MemberRequest, audience
from shipping_portal.accounts.models import Audit
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export, ExportPart


@audience(OWNERS)
@require_POST
def pack_proof(request: MemberRequest, order: uuid.UUID) -> HttpResponse:
    """Request a proof pack of a parcel that the carrier holds."""
    found = get_object_or_404(Order.objects.for_user(request.user).held(), uuid=order)
    export = packing.request_export(request.sender, found, by=request.user, now=timezone.now())
    return redirect("export_progress", export.uuid)


@audience(OWNERS)
@require_POST
@reauthentication_required
def pack_everything(request: MemberRequest) -> HttpResponse:
    export = packing.request_export(request.sender, None, by=request.user, now=timezone.now())
    return redirect("export_progress", export.uuid)


@audience(OWNERS)
@require_GET
def export_progress(request: MemberRequest, export: uuid.UUID) -> HttpResponse:
    """Show the progress, then the file. htmx refreshes it; without JavaScript the page reloads."""
    found = get_object_or_404(_exports_of(request), uuid=export)
    return render(request, "exporting/export.html", {"export": found, "is_there": _is_there(found)})


@audience(OWNERS)
@require_GET
def export_file(request: MemberRequest, export: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """Stream the ZIP. A whole account's needs a password entered just before."""
    found = get_object_or_404(_exports_of(request), uuid=export)
    return (
        _zip_response(request, found)
        if found.order
        else reauthentication_required(_zip_response)(request, found)
    )


def _zip_response(request: MemberRequest, found: Export) -> HttpResponse | StreamingHttpResponse:
    """Return the ZIP, or a page that says it isn't packed yet or has expired."""
    if not _is_there(found):
        return redirect("export_progress", found.uuid)
    action = "proof pack downloaded" if found.order else "account export downloaded"
    Audit.write(
        action, found.order or found.sender, by=request.user, sender=found.sender, at=timezone.now()
    )
    response = StreamingHttpResponse(_stream_parts(found), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{_file_name(found)}"'
    response["Content-Length"] = str(found.length)
    # Proxies mustn't store a copy of it either.
    response["X-Accel-Buffering"] = "no"
    return response


def _exports_of(request: MemberRequest) -> QuerySet[Export]:
    return Export.objects.for_user(request.user).select_related("order", "sender", "made_by")


def _is_there(export: Export) -> bool:
    return (
        export.expires_at is not None
        and export.expires_at > timezone.now()
        and not export.holds_closed_label
    )


def _stream_parts(export: Export) -> Iterator[bytes]:
    """Yield one part after another, so that memory holds only one.

    If a part is deleted or a label becomes unavailable in between, the download breaks off.
    """
    for number in range(export.parts.count()):
        part = ExportPart.objects.filter(export=export, number=number)
        if export.holds_closed_label:
            raise ExportPart.DoesNotExist
        yield bytes(part.values_list("content", flat=True).get())


def _file_name(export: Export) -> str:
    day = export.sender.day_of(export.created_at)
    if export.order:
        return f"proof-{export.order.carrier_reference}-{day:%Y-%m-%d}.zip"
    return f"everything-{export.sender.number}-{day:%Y-%m-%d}.zip"
