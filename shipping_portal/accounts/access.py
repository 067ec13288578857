"""Find the member behind a request, and declare which roles may open a page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.login import proofs, seeing_as
from shipping_portal.accounts.models import Membership, Role, Sender, User

View = Callable[..., HttpResponseBase]

OWNER, SHIPPER, BOOKKEEPER, VIEWER = Role.OWNER, Role.SHIPPER, Role.BOOKKEEPER, Role.VIEWER
EVERY_MEMBER = frozenset(Role.values)
OWNERS = frozenset({OWNER})
BOOKERS = frozenset({OWNER, SHIPPER})
SEE_MONEY = frozenset({OWNER, BOOKKEEPER})  # charges other than the price shown on a booking
require_get_or_post = require_http_methods(["GET", "POST"])


class MemberRequest(HttpRequest):
    """A request behind `audience`: a logged-in member of a sender account."""

    user: User
    membership: Membership
    sender: Sender


def attach_member(get_response: Callable[[Any], HttpResponse]) -> Callable[[Any], HttpResponse]:
    """Attach the membership to each request, or None for operators and visitors (middleware)."""

    def middleware(request: Any) -> HttpResponse:
        request.membership = None
        if request.user.is_authenticated:
            request.user.is_proven_twice = proofs.has_proven_second_factor(request)
            own = getattr(request.user, "membership", None)
            request.membership = own or seeing_as.lent_membership(request, require_second_factor)
            request.sender = request.membership.sender if request.membership else None
        response = get_response(request)
        if request.user.is_authenticated and not response.has_header("Cache-Control"):
            response["Cache-Control"] = "private, no-store"
        return response

    return middleware


def audience(roles: frozenset[str]) -> Callable[[View], View]:
    """Declare who may open a page. Everyone else gets a 404, as if the page didn't exist."""

    def declare(view: View) -> View:
        @wraps(view)
        def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.membership is None:
                raise Http404
            seeing_as.refuse_all_but_reading(request)
            if request.membership.role not in roles:
                raise Http404
            if request.sender.needs_second_factor and not has_second_factor(request.user):
                messages.info(
                    request, "Your account requires two-step verification. Set yours up first."
                )
                return redirect("mfa_activate_totp")
            is_asked = request.resolver_match.url_name == "promise"
            if must_promise(request) and not is_asked:
                return redirect("promise")
            return view(request, *args, **kwargs)

        guarded.audience = roles  # type: ignore[attr-defined]
        return guarded

    return declare


def must_promise(request: Any) -> bool:
    """Return whether the account must still promise not to send dangerous goods.

    An account opened by sign-on starts without this promise.
    """
    is_booker = request.membership.role in BOOKERS and not hasattr(request.user, "sees_as")
    return is_booker and request.sender.dangerous_goods_acknowledged_at is None


class FromElsewhere(PermissionDenied):
    """Raised when the browser reports that another site made the request."""


def same_origin(view: View) -> View:
    """Answer 403 if another site made the request.

    Labels and signed links open only from our own pages.

    Requests are accepted if the browser doesn't report their origin, or if the address was typed or
    bookmarked.
    """

    @wraps(view)
    def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            raise FromElsewhere
        return view(request, *args, **kwargs)

    return guarded


def public(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Declare a page without login; the access matrix test lists each one."""
    view.audience = frozenset({"public"})  # type: ignore[attr-defined]
    return login_not_required(view)


def page_context(request: Any) -> dict[str, Any]:
    """Return the context shared by every page: the member, and what their role may do."""
    membership = getattr(request, "membership", None)
    role = membership.role if membership else ""
    only_looks = hasattr(getattr(request, "user", None), "sees_as")
    return {
        "membership": membership,
        "sender": membership.sender if membership else None,
        "only_looks": only_looks,
        "may_book": role in BOOKERS and not only_looks,
        "is_owner": role == OWNER and not only_looks,
        "sees_money": role in SEE_MONEY,
        "theme": _theme_class(request),
        "demo_mail": settings.DEMO,
        "seen_until": getattr(request, "seen_until", None),
    }


def _theme_class(request: Any) -> str:
    """Return the page's class.

    It is `light` or `dark` if the person chose one; otherwise the device decides.
    """
    theme = getattr(getattr(request, "user", None), "theme", "system")
    return "" if theme == "system" else theme


def has_second_factor(user: Any) -> bool:
    """Return whether this person has a second factor.

    It is an authenticator app, or one that the issuer just asked for and SSO_SECOND_FACTORS
    accepts.
    """
    if not user.is_authenticated:
        return False
    is_proven = getattr(user, "is_proven_twice", False)
    return is_proven or bool(is_mfa_enabled(user, types=[Authenticator.Type.TOTP]))


def require_second_factor(user: Any) -> bool:
    """Return whether this is an active operator who has a group and a second factor."""
    is_operator = (
        user.is_active and user.is_staff and (user.is_superuser or permissions.groups_of(user))
    )
    return bool(is_operator) and has_second_factor(user)
