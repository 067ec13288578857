"""Show the team page of owners, and the page an invitation opens."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.models import EmailAddress
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.password_validation import validate_password
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from shipping_portal.accounts.access import (
    OWNER,
    OWNERS,
    MemberRequest,
    audience,
    public,
    require_get_or_post,
)
from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.erasing import erase_unconfirmed, unconfirmed_people
from shipping_portal.accounts.login.adapter import landing_page
from shipping_portal.accounts.login.forms import NEEDED, Plain
from shipping_portal.accounts.models import Audit, Invitation, Membership, Role, User
from shipping_portal.accounts.teams import team
from shipping_portal.http.forms import refusals_at, render_form
from shipping_portal.refused import Refused

BACKEND = "shipping_portal.accounts.login.backend.MemberBackend"
ACTIVITY, MOST_ACTIVITY = 10, 200  # lines on the page, and how many on request
LOOKED_AT = 1000  # lines from which the kinds on offer are taken
MAY = {
    Role.OWNER: "everything, and this page",
    Role.SHIPPER: "books, prints, cancels, imports and follows parcels",
    Role.BOOKKEEPER: "sees prices; no labels, receivers only as initials",
    Role.VIEWER: "looks at parcels and their scans",
}


class InviteForm(Plain):
    email = forms.EmailField(
        label="Email", max_length=254, error_messages={"required": "Enter an email address."}
    )
    role = forms.ChoiceField(
        choices=Role.choices,
        initial=Role.SHIPPER,
        error_messages={
            "required": "Choose a role.",
            "invalid_choice": "Choose one of the roles on the list.",
        },
    )

    def clean_email(self) -> str:
        return str(get_adapter().clean_email(self.cleaned_data["email"]))


class JoinForm(Plain):
    """Asks a person without an account for what they need to join one."""

    name = LineField(label="Your name", max_length=120, error_messages={"required": NEEDED["name"]})
    password = forms.CharField(
        label="Password",
        strip=False,
        help_text="At least 12 characters. A few unrelated words work well.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        error_messages={"required": NEEDED["password1"]},
    )

    def __init__(self, *args: Any, invitation: Invitation, **options: Any) -> None:
        super().__init__(*args, **options)
        self.invitation = invitation

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        person = User(email=self.invitation.email, name=self.cleaned_data.get("name", ""))
        person.business = self.invitation.sender.name  # type: ignore[attr-defined]
        validate_password(password, person)
        return password


@audience(OWNERS)
@require_get_or_post
@reauthentication_required(allow_get=True)
def team_page(request: MemberRequest) -> HttpResponse:
    """Show members, invitations and recent changes; a POST invites."""
    form = InviteForm(request.POST or None)
    if form.is_valid():
        chosen = form.cleaned_data
        with refusals_at(form, "email"):
            team.invite_person(
                request.sender, chosen["email"], chosen["role"], by=request.user, now=timezone.now()
            )
            messages.success(request, f"Invited {chosen['email']}. The link works for 72 hours.")
            return redirect("team")
    context = {
        "form": form,
        "members": request.sender.memberships.select_related("user").order_by("user__email"),
        "invitations": (
            _open_invitations(request).select_related("invited_by").order_by("-created_at")
        ),
        "roles": [(role, role.label, may) for role, may in MAY.items()],
        "now": timezone.now(),
    }
    context |= _activity(request)
    return render_form(request, "accounts/team.html", context)


def _activity(request: MemberRequest) -> dict[str, Any]:
    """Return the newest audit lines: a few, or with `activity` many, or those of one kind."""
    kind = request.GET.get("activity", "")
    mine = Audit.objects.filter(sender=request.sender).order_by("-pk")
    if not kind:
        return {"activity": mine.select_related("actor")[:ACTIVITY]}
    known = sorted(set(mine.values_list("action", flat=True)[:LOOKED_AT]))
    lines = (mine.filter(action=kind) if kind in known else mine).select_related("actor")
    return {
        "activity": lines[:MOST_ACTIVITY],
        "activity_kind": kind,
        "activity_kinds": known,
    }


@audience(OWNERS)
@require_POST
@reauthentication_required
def change_member(request: MemberRequest, member: int) -> HttpResponse:
    """Set another `role`, or end the membership with `remove`."""
    found = get_object_or_404(
        request.sender.memberships.select_related("user", "sender"), pk=member
    )
    role = request.POST.get("role", "")
    try:
        if "remove" in request.POST:
            team.remove_member(found, by=request.user, now=timezone.now())
            messages.success(request, f"{found.user} is no longer in the team and is logged out.")
        elif role in Role.values:
            team.set_role(found, role, by=request.user, now=timezone.now())
            messages.success(request, f"{found.user} is now {Role(role).label.lower()}.")
        else:
            messages.error(request, "Choose one of the roles on the list. Nothing was changed.")
    except Refused as error:
        messages.error(request, str(error))
    is_still_owner = Membership.objects.filter(user=request.user, role=OWNER).exists()
    return redirect("team" if is_still_owner else "home")


@audience(OWNERS)
@require_POST
@reauthentication_required
def change_invitation(request: MemberRequest, invitation: Any) -> HttpResponse:
    """Make a new link with `resend`, or end the invitation."""
    found = get_object_or_404(_open_invitations(request), uuid=invitation)
    now = timezone.now()
    try:
        if "resend" in request.POST:
            team.invite_person(
                request.sender, found.email, found.role, by=request.user, now=now, replaces=found.pk
            )
            messages.success(
                request, f"Sent {found.email} a new link. The old one no longer works."
            )
        else:
            team.revoke_invitation(found, by=request.user, now=now)
            messages.success(request, f"The link sent to {found.email} no longer works.")
    except Refused as error:
        messages.error(request, str(error))
    return redirect("team")


@audience(OWNERS)
@require_POST
@reauthentication_required
def second_factor_rule(request: MemberRequest) -> HttpResponse:
    if request.POST.get("needed") not in {"yes", "no"}:
        messages.error(request, "Nothing was changed. Press the button again.")
        return redirect("team")
    needed = request.POST["needed"] == "yes"
    team.require_second_factor(request.sender, needed=needed, by=request.user, now=timezone.now())
    messages.success(
        request,
        (
            "Everyone now needs two-step verification."
            if needed
            else "Two-step verification is optional now."
        ),
    )
    return redirect("team")


@public
@require_get_or_post
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show who invites the person to which account.

    Only a button accepts, because mail scanners follow links.
    """
    found = team.find_invitation(token)
    if found is None:
        raise Http404
    if not found.is_open(timezone.now()):
        return _invitation_page(request, found, None, status=410)
    if request.user.is_authenticated:
        return _accept_logged_in(request, found)
    is_known = team.with_address(found.email).exclude(pk__in=unconfirmed_people()).exists()
    if is_known or not settings.LOCAL_PASSWORDS:
        return _invitation_page(request, found, None)  # it says to log in first
    form = JoinForm(request.POST or None, invitation=found)
    if not form.is_valid():
        return _invitation_page(request, found, form)
    try:
        with transaction.atomic():
            # The link came to this address, so an unconfirmed sign-up with it isn't this person's.
            erase_unconfirmed(unconfirmed_people().filter(email__iexact=found.email))
            user = _new_person(found.email, form.cleaned_data)
            team.accept_invitation(found, user, now=timezone.now())
    except (IntegrityError, Refused):
        # A simultaneous request came first, or the link has been revoked.
        return redirect("invitation", token)
    login(request, user, backend=BACKEND)
    return redirect(landing_page(user))


def _accept_logged_in(request: Any, found: Invitation) -> HttpResponse:
    if request.method == "GET":
        why = team.why_not_accepted(found, request.user)
        return _invitation_page(request, found, None, problem=why)
    try:
        team.accept_invitation(found, request.user, now=timezone.now())
    except Refused as error:
        return _invitation_page(request, found, None, problem=str(error), status=409)
    return redirect(landing_page(request.user))


def _new_person(email: str, typed: dict[str, Any]) -> User:
    """Create the person. Their address is verified, since the link came to it by email."""
    user: User = User.objects.create_user(email, typed["password"], name=typed["name"])
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user


def _open_invitations(request: MemberRequest) -> Any:
    return request.sender.invitations.filter(accepted_at=None, revoked_at=None)


def _invitation_page(
    request: HttpRequest,
    found: Invitation,
    form: JoinForm | None,
    *,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "invitation": found,
        "is_open": found.is_open(timezone.now()),
        "form": form,
        "problem": problem,
        "may": MAY[Role(found.role)],
        "login_url": f"{reverse('account_login')}?next={request.path}",
    }
    return render(
        request, "accounts/invitation.html", context, status=422 if form and form.errors else status
    )
