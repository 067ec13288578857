"""Serving the carrier's label files, byte for byte or not at all (interface §1)."""

import logging
import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.models import Label, LabelBytes
from orders.models.statuses import Status
from shipping_portal.accounts.access import BOOKERS, MemberRequest, audience
from shipping_portal.accounts.models import Audit

log = logging.getLogger(__name__)


@audience(*BOOKERS)
@require_GET
def label(request: MemberRequest, order: uuid.UUID, size: str) -> HttpResponse:
    """The original PDF, inline to print or as a download; 404 unless the parcel is booked. Ranges are ignored.

    While the carrier owes the label, the 404 says so.
    """
    labels = Label.objects.filter(order__sender__memberships__user=request.user, order__status=Status.BOOKED)
    found = get_object_or_404(labels.select_related("order"), order__uuid=order, size=size)
    if found.purged_at:
        raise Http404
    if not found.is_ready:
        return render(request, "orders/label_late.html", {"label": found, "order": found.order}, status=404)
    now = timezone.now()
    try:
        content = found.serve(at=now)
    except LabelBytes.DoesNotExist:  # purged or taken back a moment ago
        raise Http404 from None
    except Label.Damaged:
        log.error("label %s of order %s does not match its sha256", found.size, found.order_id)
        return render(request, "orders/label_damaged.html", {"order": found.order}, status=500)
    is_download = "download" in request.GET
    action = "label downloaded" if is_download else "label opened"
    Audit.write(action, found.order, by=request.user, sender=request.sender, reason=size, at=now)
    return _pdf(content, f"label-{found.order.carrier_reference}-{size}.pdf", download=is_download)


def _pdf(content: bytes, name: str, *, download: bool) -> HttpResponse:
    response = HttpResponse(content, content_type="application/pdf")
    response["Content-Disposition"] = f'{"attachment" if download else "inline"}; filename="{name}"'
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    # No sandbox: the browser's own viewer has to show it.
    response["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'self'"
    return response
