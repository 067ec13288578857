"""The list of parcels that may qualify for a refund, as a page and as a file."""

from collections.abc import Iterator

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders import listing
from orders.receivers import shown
from orders.system_views import Desk
from shipping_portal import sheets
from shipping_portal.accounts.access import SEE_MONEY, MemberRequest, audience
from shipping_portal.reports.refunds import RULES, WEEKS, Claims

HEADS = [
    "Reference", "Your order number", "To", "Place", "May qualify as", "Why", "Pickup planned", "Due by", "Last scan",
    "What next",
]  # fmt: skip


@audience(*SEE_MONEY)
@require_GET
def refunds(request: MemberRequest) -> HttpResponse:
    """Fifty at a time, newest first, each with its reason and what to do next."""
    claims = _claims(request)
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    page = listing.page(claims.all(), listing.SORTS["newest"], before=before, after=after)
    role = request.membership.role
    rows = [{"claim": claims.of(order), "receiver": shown(order, role)} for order in page.rows]
    context = {"rows": rows, "page": page, "rules": RULES, "weeks": WEEKS}
    return render(request, "reports/refunds.html", context)


@audience(*SEE_MONEY)
@require_GET
def refunds_file(request: MemberRequest) -> StreamingHttpResponse:
    claims, role = _claims(request), request.membership.role

    def rows() -> Iterator[list[object]]:
        for order in claims.all().order_by("-pk").iterator(chunk_size=500):
            claim, receiver = claims.of(order), shown(order, role)
            yield [
                order.carrier_reference, order.customer_reference, receiver.name, receiver.place, claim.name, claim.why,
                order.expected_pickup(), order.eta_to, claim.last_scan, claim.next_step,
            ]  # fmt: skip

    return sheets.stream(f"refunds-{claims.desk.today:%Y-%m-%d}.csv", HEADS, rows())


def _claims(request: MemberRequest) -> Claims:
    return Claims(Desk.of(request.user, request.sender, timezone.now()))
