"""Show who did what, when and why. It is read and exported here, never changed."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from orders.masking import holds_link
from orders.models import Order
from orders.status.references import with_reference
from shipping_portal import sheets
from shipping_portal.accounts.adminkit.facts import TYPED_BY_HAND, AdminPage, Context, ReadOnlyAdmin
from shipping_portal.accounts.adminkit.filters import SenderFilter
from shipping_portal.accounts.login.security_events import hash_of
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.carrier.scrubbing import CUT

HEADS = ("number", "at", "actor", "sender", "action", "object", "reason")
CHUNK = 2000


class ActorFilter(admin.SimpleListFilter):
    """Filter by operator. All people of senders are a single choice."""

    title = "actor"
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        operators = User.objects.filter(is_staff=True).order_by("email").values_list("pk", "email")
        return [
            ("portal", "The portal itself"),
            ("operators", "Operators"),
            ("senders", "Senders' people"),
            *((str(pk), email) for pk, email in operators),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Audit]) -> QuerySet[Audit]:
        match self.value():
            case "portal":
                return queryset.filter(actor=None)
            case "operators" | "senders" as kind:
                return queryset.filter(actor__is_staff=kind == "operators")
            case str(pk) if pk.isascii() and pk.isdecimal():
                return queryset.filter(actor=int(pk))
        return queryset


def export_rows(request: HttpRequest, context: Context) -> HttpResponseBase:
    """Return the list as it is filtered, newest first.

    The export is also recorded in the audit log.
    """
    page = context["model_admin"]
    if not page.has_view_permission(request):
        raise PermissionDenied
    operator: Any = request.user
    now = timezone.now()
    try:
        rows = page.get_changelist_instance(request).get_queryset(request)
        rows.exists()  # written before a file starts
    except (IncorrectLookupParameters, *TYPED_BY_HAND):
        return redirect("admin:accounts_audit_changelist")
    asked = request.GET.copy()
    if "@" in (typed := str(asked.get("q", ""))):  # the audit log must not name anybody itself
        asked["q"] = hash_of(typed)
    query = _without_links(asked.urlencode())
    Audit.write("audit exported", operator, by=operator, reason=query, at=now)
    return sheets.stream_sheet(f"audit-{now:%Y-%m-%d}.csv", HEADS, _cells(rows))


def _cells(rows: QuerySet[Audit]) -> Iterator[tuple[object, ...]]:
    for row in rows.iterator(CHUNK):
        at, reason = row.at.isoformat(timespec="seconds"), _without_links(row.reason)
        yield row.pk, at, row.actor, row.sender, row.action, row.subject, reason


def _without_links(text: str) -> str:
    """Return the text, unless it contains a signed link."""
    return CUT if holds_link(text) else text


@admin.register(Audit)
class AuditAdmin(ReadOnlyAdmin):
    """Show who did what, when and why, with filters and an export."""

    admin_pages = (AdminPage("export", export_rows, label="Export as CSV", is_of_list=True),)
    list_display = ["at", "actor", "action", "subject", "sender", "reason"]
    list_filter = ["at", ActorFilter, SenderFilter, "action"]
    related = ("actor", "sender")
    search_fields = ["subject"]  # turns on the box; get_search_results does the search
    search_help_text = "Object, like “order 17”, parcel reference, action or person's email"

    def search_rows(
        self, request: HttpRequest, rows: QuerySet[Audit], typed: str
    ) -> QuerySet[Audit]:
        """Search for the whole text: “order 17” is one object, not two words."""
        typed = " ".join(typed.lower().split())
        named = with_reference(Order.objects.all(), typed).only("pk")
        objects = [typed, *(subject_of(order) for order in named)]
        return rows.filter(Q(subject__in=objects) | Q(action=typed) | Q(actor__email=typed))

    def list_buttons(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the button that exports the list as it is filtered."""
        [(label, url)] = super().list_buttons(request)
        return [(label, f"{url}?{urlencode(list(request.GET.items()))}")]
