"""Define the operators' site: Django admin that opens on work, for staff with a second factor."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models.base import ModelBase
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from shipping_portal.accounts.adminkit.facts import Context, ReadOnlyAdmin

RAIL = (  # title, icon, page name, and the screens on which it is in the rail
    ("Find", "search", "find", ""),
    ("Work", "home", "index", ""),
    ("Parcels", "box", "orders_order_changelist", ""),
    ("Senders", "people", "accounts_sender_changelist", ""),
    ("Carrier", "truck", "orders_carrieraccount_changelist", "wide"),
    ("Billing", "receipt", "billing_billingreport_changelist", "wide"),
    ("Health", "chart", "health", "wide"),
    ("More", "dots", "more", ""),
)


def _rail_entries(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the rail's entries, with this page's entry marked."""
    home = reverse("admin:index")
    found = [(title, icon, reverse(f"admin:{name}"), width) for title, icon, name, width in RAIL]
    return [
        {
            "title": title,
            "icon": icon,
            "url": url,
            "width": width,
            "is_here": request.path == url or (url != home and request.path.startswith(url)),
        }
        for title, icon, url, width in found
    ]


class StaffSite(admin.AdminSite):
    """Django admin that opens on what needs a person, for staff with a second factor."""

    site_header = f"{settings.BRAND_NAME} admin"
    site_title = f"{settings.BRAND_NAME} admin"
    index_title = "Needs attention"
    site_url = None
    enable_nav_sidebar = False
    empty_value_display = "–"

    def register(
        self,
        model_or_iterable: ModelBase | Iterable[ModelBase],
        admin_class: "type[admin.ModelAdmin[Any]] | None" = None,
        **options: Any,
    ) -> None:
        """Register read-only pages only.

        Pages from a library would show second-factor secrets or allow edits.
        """
        if admin_class is not None and issubclass(admin_class, ReadOnlyAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def each_context(self, request: HttpRequest) -> Context:
        from shipping_portal.staff import saved_views  # noqa: PLC0415  (models load after the site)

        # Models load after the site.
        from shipping_portal.staff.restores import restoring  # noqa: PLC0415

        gaps = restoring.open_gaps() if self.has_permission(request) else []
        found = {"restore_gaps": gaps, "rail": _rail_entries(request)}
        found["views"] = partial(saved_views.views_and_form, self, request)  # lists only
        return {**super().each_context(request), **found}

    def get_urls(self) -> list[URLPattern | URLResolver]:
        from shipping_portal.staff import saved_views  # noqa: PLC0415
        from shipping_portal.staff.carrier.listener import page  # noqa: PLC0415
        from shipping_portal.staff.finding import find  # noqa: PLC0415

        own = {"listener": page, "find": find, "health": self.health, "more": self.more}
        save, delete = (
            require_POST(partial(view, self))
            for view in (saved_views.save_view, saved_views.delete_view)
        )
        return [
            path("views/<slug:name>/save/", self.admin_view(save), name="view_save"),
            path("views/<int:pk>/delete/", self.admin_view(delete), name="view_delete"),
            *(path(f"{name}/", self.admin_view(view), name=name) for name, view in own.items()),
            *super().get_urls(),
        ]

    def more(self, request: HttpRequest) -> HttpResponse:
        """Show the page with every list, for those without an entry in the rail."""
        context = {
            **self.each_context(request),
            "title": "More",
            "app_list": self.get_app_list(request),
        }
        return TemplateResponse(request, "admin/more.html", context)

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator in a group is logged in with a second factor.

        It is checked once per request.
        """
        known = getattr(request, "is_operator", None)
        if known is None:
            from shipping_portal.accounts.access import require_second_factor  # noqa: PLC0415

            known = require_second_factor(request.user)
            request.is_operator = known  # type: ignore[attr-defined]
        return bool(known)

    @method_decorator(never_cache)
    @login_not_required
    def login(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Show the portal's own login, second factor included.

        Other users who are logged in can't use the admin.
        """
        wanted = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
        if self.has_permission(request):
            return redirect("admin:index")
        if not request.user.is_authenticated:
            return redirect_to_login(wanted, resolve_url(settings.LOGIN_URL))
        if not (request.user.is_active and request.user.is_staff):
            raise Http404
        from shipping_portal.accounts.access import has_second_factor  # noqa: PLC0415

        if has_second_factor(request.user):
            raise PermissionDenied("in no group")
        messages.warning(
            request, "The admin requires two-step verification. Set it up, then come back."
        )
        return redirect("mfa_activate_totp")

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: Context | None = None
    ) -> HttpResponse:
        """Redirect to the portal's own page, which ends other sessions too."""
        return redirect("account_change_password")

    def index(self, request: HttpRequest, extra_context: Context | None = None) -> TemplateResponse:
        # Models load after the site.
        from shipping_portal.accounts.adminkit import permissions  # noqa: PLC0415
        from shipping_portal.staff import first_page, queues  # noqa: PLC0415
        from shipping_portal.staff.alerts import health  # noqa: PLC0415

        now = timezone.now()
        strip = health.health_strip(now)
        *every, mine = queues.waiting_queues(
            now, accounts=strip.rows, others=[queues.own_cases(request.user)]
        )
        found = {
            "title": "",  # the page has its own
            "lines": first_page.queue_lines(every, now),
            "mine": mine.count,
            "empty": [queue for queue in every if not queue.count],
            "items": sum(queue.count for queue in every),
            "out_of_balance": any(
                queue.count for queue in every if queue.name == "billingreport-balance"
            ),
            "health": strip,
            "alarms": health.webhook_alarms(now),
            "day": first_page.day_strip(now),
            "may_bill": permissions.may(request.user, "billing"),
        }
        return super().index(request, found | (extra_context or {}))

    def health(self, request: HttpRequest) -> HttpResponse:
        """Show how the carrier, webhooks and our own jobs are doing."""
        # Models load after the site.
        from shipping_portal.accounts.adminkit import permissions  # noqa: PLC0415
        from shipping_portal.staff.alerts import health  # noqa: PLC0415

        now = timezone.now()
        found = {
            "health": health.health_strip(now),
            "backlog": health.count_backlog(now),
            "gaps": health.webhook_meter(now),
        }
        found["may_bill"] = permissions.may(request.user, "billing")
        return TemplateResponse(
            request, "admin/health.html", {**self.each_context(request), "title": "Health", **found}
        )
