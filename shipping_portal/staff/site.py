"""The operator's site: Django admin that opens on what needs a person, for staff with a second factor only."""

from collections.abc import Iterable
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

from shipping_portal.accounts.adminkit.facts import ReadOnlyAdmin


class StaffSite(admin.AdminSite):
    """The operators' site: it opens on what needs a person, for staff with a second factor."""

    site_header = "Shipping Portal desk"
    site_title = "Shipping Portal desk"
    index_title = "What needs you"
    site_url = None
    empty_value_display = "–"

    def register(
        self,
        model_or_iterable: ModelBase | Iterable[ModelBase],
        admin_class: "type[admin.ModelAdmin[Any]] | None" = None,
        **options: Any,
    ) -> None:
        """Register pages that only read: a library's would show second-factor secrets or edit what is read-only."""
        if admin_class is not None and issubclass(admin_class, ReadOnlyAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        from shipping_portal.staff import restoring  # noqa: PLC0415  (models load after the site)

        gaps = restoring.gaps() if self.has_permission(request) else []
        return {**super().each_context(request), "restore_gaps": gaps}

    def get_urls(self) -> list[URLPattern | URLResolver]:
        from shipping_portal.staff.listener import page  # noqa: PLC0415

        return [path("listener/", self.admin_view(page), name="listener"), *super().get_urls()]

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether an operator of a group is logged in with a second factor; asked once a request."""
        known = getattr(request, "is_at_the_desk", None)
        if known is None:
            from shipping_portal.accounts.access import require_second_factor  # noqa: PLC0415

            known = require_second_factor(request.user)
            request.is_at_the_desk = known  # type: ignore[attr-defined]
        return bool(known)

    @method_decorator(never_cache)
    @login_not_required
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the portal's own log-in, second factor included.

        For anybody else who is logged in there is no desk.
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
        messages.warning(request, "The desk needs a second factor. Set it up, then come back.")
        return redirect("mfa_activate_totp")

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send to the portal's own page, which ends other sessions too."""
        return redirect("account_change_password")

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        from shipping_portal.accounts.adminkit import permissions  # noqa: PLC0415  (models load after the site)
        from shipping_portal.staff import health, queues  # noqa: PLC0415

        now = timezone.now()
        found: dict[str, Any] = {"queues": queues.waiting(now), "health": health.strip(now), "gaps": health.meter(now)}
        found["may_bill"] = permissions.may(request.user, "billing")
        return super().index(request, found | (extra_context or {}))
