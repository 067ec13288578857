"""Log in a person the issuer vouches for: find or create their account, and apply its claims.

The first sign-on creates the person, or links the local account with the same address if both sides
have verified it. Roles and groups are updated from the claims at each sign-on. The business isn't:
only an operator moves a person, and only an invitation brings back somebody an owner removed.
"""

import datetime as dt
import secrets
from dataclasses import dataclass
from typing import Any

import structlog
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows import login as flow
from allauth.account.internal.flows.reauthentication import resume_request
from allauth.account.models import EmailAddress
from allauth.account.utils import perform_login
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.utils.http import urlencode

from shipping_portal.accounts import demo
from shipping_portal.accounts.erasing import erase_unconfirmed, unconfirmed_people
from shipping_portal.accounts.login import security_events, sessions, signing_up
from shipping_portal.accounts.login.claims import PersonClaims, read_claims
from shipping_portal.accounts.login.openid import (
    LEEWAY,
    PROVIDER,
    IssuerAway,
    NotProven,
    SignOn,
    issuer_name,
)
from shipping_portal.accounts.login.proofs import MARK
from shipping_portal.accounts.models import Audit, Invitation, Membership, Role, Sender, User
from shipping_portal.accounts.teams import team
from shipping_portal.refused import Refused

logger = structlog.get_logger("security")


class LoginRefused(Exception):
    """Raised when a verified person may not log in. `reason` is for the log, the text for them."""

    def __init__(self, reason: str, text: str, person: User | None = None) -> None:
        super().__init__(text)
        self.reason, self.person = reason, person


@dataclass(frozen=True)
class Failure:
    """A failed sign-on: what its page says, and its status."""

    title: str
    text: str
    status: int


CANCELLED = Failure("You didn't log in", "The login was cancelled.", 400)
AWAY = Failure(
    "You can't log in with {name} right now",
    "It doesn't answer as it should. Try again in a minute.",
    503,
)
STALE = Failure(
    "Logging in didn't work",
    "It took too long, or was begun in another browser or tab. Try again.",
    400,
)


# -- The end of a login at the issuer ------------------------------------------------------------


def finish(request: HttpRequest, sign_on: SignOn) -> HttpResponse:
    """Log in the person of a verified sign-on, or show why not."""
    claims = read_claims(sign_on.claims)
    if sign_on.state.get("again"):
        return _finish_again(request, sign_on)
    try:
        person = _follow(sign_on.account, claims, now=timezone.now())
    except LoginRefused as refusal:
        security_events.record_event(
            "sign-on refused",
            request,
            user=refusal.person,
            email="" if refusal.person else claims.email,
            detail=refusal.reason,
        )
        context = {"text": str(refusal), "contact_email": settings.CONTACT_EMAIL}
        return render(request, "account/sign_on_refused.html", context, status=403)
    flow.record_authentication(request, person, "socialaccount", provider=PROVIDER)
    return perform_login(
        request,
        person,
        redirect_url=sign_on.get_redirect_url(request),
        signal_kwargs={MARK: {"second_factor": claims.has_second_factor}},
    )


def fail(request: HttpRequest, *, error: Any, exception: Exception | None) -> HttpResponse:
    """Show that the sign-on failed. Our log has the type of error, never the issuer's answer."""
    failure = AWAY if isinstance(exception, IssuerAway) else STALE
    if error == AuthError.CANCELLED:
        failure = CANCELLED
    kind = type(exception).__name__ if exception else str(error)
    detail = str(exception) if isinstance(exception, IssuerAway | NotProven) else ""
    logger.warning("sign_on_failed", kind=kind, detail=detail or None)
    context = {"title": failure.title.format(name=issuer_name()), "text": failure.text}
    return render(request, "account/sign_on_failed.html", context, status=failure.status)


def _finish_again(request: HttpRequest, sign_on: SignOn) -> HttpResponse:
    """Record that the person has just proved who they are, and return to the page that asked."""
    began, proven_at = sign_on.state["again"], sign_on.claims.get("auth_time")
    is_fresh = isinstance(proven_at, int | float) and proven_at >= began - LEEWAY
    user = request.user
    is_same = user.is_authenticated and sign_on.account.user_id == user.pk
    if not (is_fresh and is_same):
        security_events.record_event(
            "sign-on refused", request, user=user if user.is_authenticated else None, detail="again"
        )
        return fail(request, error=AuthError.DENIED, exception=None)
    flow.record_authentication(
        request, user, "socialaccount", provider=PROVIDER, reauthenticated=True
    )
    wanted = sign_on.get_redirect_url(request) or resolve_url("security")
    # This is where allauth looks for the page to return to.
    request.GET = QueryDict(urlencode({"next": wanted}))
    response: HttpResponse | None = resume_request(request)
    return response or redirect("security")


# -- Who it is -----------------------------------------------------------------------------------


def _follow(account: SocialAccount, claims: PersonClaims, *, now: dt.datetime) -> User:
    """Return the person after applying their claims. Raises LoginRefused."""
    for _ in range(2):
        try:
            with transaction.atomic():
                return _person_of(_known_account(account.uid) or account, claims, now=now)
        except IntegrityError:
            # Another tab created them at the same instant; the second attempt finds them.
            account = SocialAccount(provider=PROVIDER, uid=account.uid)
    raise LoginRefused("race", "Two logins ran at once. Try again.")


def _known_account(uid: str) -> SocialAccount | None:
    return SocialAccount.objects.filter(provider=PROVIDER, uid=uid).first()


def _person_of(account: SocialAccount, claims: PersonClaims, *, now: dt.datetime) -> User:
    if account.pk:
        person = User.objects.select_for_update(no_key=True).get(pk=account.user_id)
        _refuse_local_operator(person)
        if person.is_active:
            _follow_claims(person, claims, now=now)
        return person
    local = _local_account(claims, account.uid)
    person = local or _new_person(claims)
    if person.is_active:
        # A local account without a business was removed from one; the claim doesn't undo that.
        _follow_claims(person, claims, now=now, is_new=local is None)
    account.user = person
    account.save()
    action = "sign-on linked" if local else "person made by sign-on"
    Audit.write(action, person, by=None, sender=_sender_of(person), at=now)
    return person


def _local_account(claims: PersonClaims, uid: str) -> User | None:
    """Return the local account with this address, if both sides have verified it."""
    if not claims.email:
        raise LoginRefused("no email", f"{_name()} didn't give us your email address.")
    if not claims.is_verified:
        raise LoginRefused(
            "unverified email",
            f"{_name()} hasn't confirmed that {claims.email} is yours. Confirm it there, then log"
            " in again.",
        )
    # With its case changed it may be somebody else's: K (Kelvin) is k, and ı is I.
    if not claims.email.isascii():
        raise LoginRefused(
            "unusable email",
            f"{claims.email} isn't written in plain letters, like name@example.com. Change it at"
            f" {issuer_name()}, then log in again.",
        )
    # An unconfirmed sign-up with this address may be somebody else's.
    erase_unconfirmed(unconfirmed_people().filter(email__iexact=claims.email))
    found = team.with_address(claims.email).select_for_update(no_key=True).first()
    if found is None:
        return None
    if not EmailAddress.objects.filter(
        user=found, email__iexact=claims.email, verified=True
    ).exists():
        raise LoginRefused("unverified account", f"{claims.email} isn't confirmed here yet.", found)
    if SocialAccount.objects.filter(provider=PROVIDER, user=found).exclude(uid=uid).exists():
        raise LoginRefused("other account", f"{claims.email} belongs to another login.", found)
    _refuse_local_operator(found)
    return found


def _refuse_local_operator(person: User) -> None:
    if person.is_superuser or (person.is_staff and not settings.SSO_STAFF_CLAIM):
        raise LoginRefused("local operator", "This account logs in with its own password.", person)


def _new_person(claims: PersonClaims) -> User:
    try:
        validate_email(claims.email)
        if claims.groups:
            demo.refuse_reserved(claims.email)
        else:
            get_adapter().clean_email(claims.email)
    except ValidationError as error:
        raise LoginRefused("unusable email", " ".join(error.messages)) from None
    # Set a password that nobody knows: without one, allauth doesn't ask people to prove who they
    # are again before they change an account.
    person = User.objects.create_user(claims.email, secrets.token_urlsafe(48), name=claims.name)
    EmailAddress.objects.create(user=person, email=claims.email, verified=True, primary=True)
    return person


def _name() -> str:
    name = issuer_name()
    return name[:1].upper() + name[1:]


def _sender_of(person: User) -> Sender | None:
    member = Membership.objects.select_related("sender").filter(user=person).first()
    return member.sender if member else None


# -- Applying the claims ------------------------------------------------------------------------


def _follow_claims(
    person: User, claims: PersonClaims, *, now: dt.datetime, is_new: bool = False
) -> None:
    member = Membership.objects.select_related("sender", "user").filter(user=person).first()
    if settings.SSO_STAFF_CLAIM and not person.is_superuser:
        _set_groups(person, claims, member, now=now)
    if person.is_staff:
        return
    if member is None:
        if is_new:
            _join(person, claims, now=now)
        return
    if settings.SSO_BUSINESS_CLAIM and member.sender.external_id != claims.business:
        raise LoginRefused(
            "other business",
            f"{_name()} says that you no longer work for {member.sender.name}. Ask us to move your"
            " login.",
            person,
        )
    _set_role(member, claims, now=now)


def _set_groups(
    person: User, claims: PersonClaims, member: Membership | None, *, now: dt.datetime
) -> None:
    """Make somebody an operator, change their groups, or remove them, as the claim says now."""
    if claims.groups and member is not None:
        raise LoginRefused(
            "operator and member", "Who ships for a sender can't work here too.", person
        )
    groups = list(Group.objects.filter(name__in=claims.groups))
    if len(groups) < len(claims.groups):
        raise LoginRefused("missing group", "Your group isn't set up here yet.", person)
    before = set(person.groups.values_list("name", flat=True))
    if before == claims.groups and person.is_staff == bool(claims.groups):
        return
    if not person.is_staff:
        # the old password may be too short for operators
        person.set_password(secrets.token_urlsafe(48))
    person.groups.set(groups)
    person.is_staff = bool(claims.groups)
    person.save(update_fields=["is_staff", "password"])
    sessions.end_all(person)
    names = ", ".join(sorted(claims.groups)) or "no operator any more"
    Audit.write("operator groups set", person, by=None, reason=f"{names}: by sign-on", at=now)


def _join(person: User, claims: PersonClaims, *, now: dt.datetime) -> None:
    """Add a new person to the business in their claim, or leave that to an invitation."""
    if not settings.SSO_BUSINESS_CLAIM:
        return
    is_invited = Invitation.objects.good(now).filter(email__iexact=claims.email).exists()
    if not claims.business:
        if is_invited:
            return
        raise LoginRefused("no business", f"{_name()} doesn't say which business you work for.")
    if not claims.role:
        raise LoginRefused("no role", f"{_name()} gives you no role here.")
    sender = Sender.objects.filter(external_id=claims.business).first()
    if sender is None:
        _open_business(person, claims, now=now)
        return
    if sender.closed_at or sender.erased_at:
        raise LoginRefused("closed", f"The account of {sender.name} is closed.")
    Membership.objects.create(sender=sender, user=person, role=claims.role)
    Audit.write("joined by sign-on", person, by=None, sender=sender, reason=claims.role, at=now)


def _open_business(person: User, claims: PersonClaims, *, now: dt.datetime) -> None:
    """Open an account for a business that is new here."""
    if not settings.SSO_OPENS_BUSINESSES:
        raise LoginRefused("unknown business", "Your business isn't set up here yet.")
    if claims.role != Role.OWNER:
        raise LoginRefused(
            "no owner yet", "Your business isn't set up here yet. An owner of it logs in first."
        )
    if claims.country not in Sender.Country.values:
        raise LoginRefused("no country", "We don't ship from your country yet.")
    signing_up.open_account(
        person,
        name=claims.business_name or claims.business,
        country=claims.country,
        now=now,
        external_id=claims.business,
    )
    signing_up.announce_account(person, now=now)


def _set_role(member: Membership, claims: PersonClaims, *, now: dt.datetime) -> None:
    if not settings.SSO_ROLE_CLAIM or member.role == claims.role:
        return
    if not claims.role:
        raise LoginRefused("no role", f"{_name()} gives you no role here any more.", member.user)
    try:
        team.set_role(member, claims.role, by=None, now=now)
    except Refused:
        raise LoginRefused(
            "last owner",
            f"{_name()} says that you are no longer an owner of {member.sender.name}, which has no"
            " other. Let another owner log in first.",
            member.user,
        ) from None
