"""Show the reports, their tables as files, and the parcels that may qualify for a refund."""

from collections.abc import Iterator

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from orders.drafting.receivers import shown_receiver
from orders.list.system_views import VIEWS, SenderScope
from shipping_portal import sheets
from shipping_portal.accounts.access import SEE_MONEY, MemberRequest, audience
from shipping_portal.billing.pages import statements
from shipping_portal.reports import carriers, day_figures, delivery, pickups, promises, sizes, spend
from shipping_portal.reports.figures import Section
from shipping_portal.reports.models import Counting
from shipping_portal.reports.refunds import RULES, WEEKS, Claims
from shipping_portal.reports.spans import CHOICES, Span, weeks_asked
from shipping_portal.reports.tiles import Tile, report_tiles


@audience(SEE_MONEY)
@require_GET
def reports(request: MemberRequest) -> HttpResponse:
    """Show four figures and five charts over 4, 13 or 52 `weeks`, in a fixed number of queries."""
    span = _chosen_span(request)
    found, sections = tiles_and_sections(request, span)
    counted_at = (
        Counting.objects.filter(sender=request.sender).values_list("counted_at", flat=True).first()
    )
    context = {
        "tiles": found,
        "sections": sections,
        "span": span,
        "choices": CHOICES,
        "counted_at": counted_at,
    }
    return render(request, "reports/reports.html", context)


@audience(SEE_MONEY)
@require_GET
def report_file(request: MemberRequest, report: str) -> StreamingHttpResponse:
    """Download one section's table, as the page shows it for the same weeks."""
    span = _chosen_span(request)
    for section in tiles_and_sections(request, span)[1]:
        if section.slug == report:
            rows = ([cell.value for cell in row] for row in section.rows)
            name = f"{section.slug}-{span.weeks}-weeks-{span.last:%Y-%m-%d}.csv"
            return sheets.stream_sheet(name, section.heads, rows)
    raise Http404


def tiles_and_sections(request: MemberRequest, span: Span) -> tuple[list[Tile], list[Section]]:
    """Return the page's content; its files are the sections' tables."""
    user, sender = request.user, request.sender
    scope = SenderScope.of(user, sender, timezone.now())
    late_now = scope.orders.filter(VIEWS["late"].where(scope)).count()
    spent, found = spend.read_spends(user, sender, span), day_figures.read_days(user, sender, span)
    now, before = found.now, found.before
    by_carrier = carriers.carrier_section(user, sender, span)
    sections = [
        spend.spend_section(spent, sender, span, statements.pending_refunds(scope.orders)),
        *([by_carrier] if by_carrier else []),
        delivery.delivery_section(now.delivered, before.delivered, sender, span),
        promises.promise_section(
            now.promises, before.promises, late_now, span, returns=now.returns
        ),
        pickups.pickup_section(now.pickups, before.pickups, span),
        sizes.size_section(now.sizes, before.sizes, span),
    ]
    figures = report_tiles(spent, found.kept, (now.sizes, before.sizes))
    return figures, [section.in_words_of(sender) for section in sections]


def _chosen_span(request: MemberRequest) -> Span:
    zone = request.sender.tzinfo
    return Span.until(
        timezone.now().astimezone(zone).date(), weeks_asked(request.GET.get("weeks", "")), zone
    )


HEADS = [
    "Reference",
    "Your order number",
    "To",
    "Place",
    "May qualify as",
    "Why",
    "Pickup planned",
    "Due by",
    "Last scan",
    "What next",
]


@audience(SEE_MONEY)
@require_GET
def refunds(request: MemberRequest) -> HttpResponse:
    """Show fifty parcels at a time, newest first, each with its reason and what to do next."""
    claims = _refund_claims(request)
    page = claims.page(before=request.GET.get("before", ""), after=request.GET.get("after", ""))
    role = request.membership.role
    rows = [
        {"claim": claims.of(order), "receiver": shown_receiver(order, role)} for order in page.rows
    ]
    context = {"rows": rows, "page": page, "rules": RULES, "weeks": WEEKS}
    return render(request, "reports/refunds.html", context)


@audience(SEE_MONEY)
@require_GET
def refunds_file(request: MemberRequest) -> StreamingHttpResponse:
    claims, role = _refund_claims(request), request.membership.role

    def rows() -> Iterator[list[object]]:
        for order in claims.all().order_by("-pk").iterator(chunk_size=500):
            claim, receiver = claims.of(order), shown_receiver(order, role)
            yield [
                order.carrier_reference,
                order.customer_reference,
                receiver.name,
                receiver.place,
                claim.name,
                claim.why,
                order.expected_pickup(),
                order.eta_to,
                claim.last_scan,
                claim.next_step,
            ]

    return sheets.stream_sheet(f"refunds-{claims.scope.today:%Y-%m-%d}.csv", HEADS, rows())


def _refund_claims(request: MemberRequest) -> Claims:
    return Claims(SenderScope.of(request.user, request.sender, timezone.now()))
