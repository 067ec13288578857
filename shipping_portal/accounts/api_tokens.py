"""Make, revoke and read the API's bearer tokens. A token is shown once; only its hash is stored.

A member's token acts as that member, with the role, limits and suspension at the time of each call.
A partner's token acts for the member named in the Acts-For header.
"""

import datetime as dt
import secrets
from collections.abc import Collection
from typing import NamedTuple

from django.db import transaction
from django.db.models import CharField, F, Q

from shipping_portal.accounts.access import BOOKERS, EVERY_MEMBER, SEE_MONEY
from shipping_portal.accounts.models import ApiToken, Audit, Membership, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.db.planned_statements import Given, PlannedSelect
from shipping_portal.refused import Refused

PREFIX = "portal_"  # identifies our tokens to scanners for leaked secrets, and to our own log
SHOWN = len(PREFIX) + 4
MOST = 20  # the most valid tokens of one member
DAYS = (30, 90, 365)
# use is recorded at most this often, because each record is a write
NOTED_EVERY = dt.timedelta(minutes=1)
KEPT_DAYS = 30  # how long a token is kept after it has ended
# Every call reads one or both of these.
TOKEN = PlannedSelect(
    ApiToken.objects.select_related("user__membership__sender").filter(
        token_hash=Given("token_hash", CharField())
    )
)
NAMED = PlannedSelect(
    Membership.objects.select_related("sender", "user").filter(
        user__email=Given("email", CharField()),
        user__is_active=True,
        user__emailaddress__email=F("user__email"),
        user__emailaddress__verified=True,
    )
)


MEMBERS, PARTNERS, STATIONS = "members", "partners", "stations"  # who holds a token


class Scope(NamedTuple):
    """What a token may do, which roles may do it on the pages, and who may hold it."""

    words: str
    roles: frozenset[str]
    holders: tuple[str, ...] = (MEMBERS, PARTNERS)


SCOPES = {
    "parcels:read": Scope("See parcels and where they are", EVERY_MEMBER),
    "parcels:book": Scope("Get prices, book and cancel. Bookings cost money", BOOKERS),
    "labels:read": Scope("Get labels", BOOKERS),
    "addresses": Scope("Read and change the address book", BOOKERS),
    "imports": Scope("Upload files of parcels", BOOKERS),
    "billing:read": Scope("See statements", SEE_MONEY),
    "enter": Scope("Hand members over to these pages, logged in", EVERY_MEMBER, (PARTNERS,)),
    "print": Scope("Print what it is asked to, as a print station", BOOKERS, (STATIONS,)),
}


def scopes_of(holder: str, *, role: str = "") -> dict[str, Scope]:
    """Return the scopes that this holder's token may have, for a member with this role."""
    return {
        name: scope
        for name, scope in SCOPES.items()
        if holder in scope.holders and role in {"", *scope.roles}
    }


def holder_of(scopes: Collection[str], *, is_partners: bool) -> str:
    """Return who holds a token: a partner, a print station, or another program of a member."""
    if is_partners:
        return PARTNERS
    return STATIONS if list(scopes) == ["print"] else MEMBERS


class NotAccepted(Exception):
    """Raised for an unknown or ended token. The text is for the caller."""


class NobodyNamed(Exception):
    """Raised when a call doesn't name a member it may act for. The text is for the caller."""


class Caller(NamedTuple):
    """The token of one call, and the member that it acts for."""

    token: ApiToken
    member: Membership


@transaction.atomic
def make_token(
    name: str,
    scopes: Collection[str],
    *,
    days: int,
    by: User,
    now: dt.datetime,
    member: Membership | None = None,
    reason: str = "",
) -> tuple[ApiToken, str]:
    """Make a token for a member or a partner. Returns it with its text, which is shown once.

    Only a station may have the scope `print`, and it has no other.

    Raises Refused.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    holder = holder_of(scopes, is_partners=member is None)
    if member:
        User.objects.select_for_update(no_key=True).get(pk=member.user_id)
        valid = ApiToken.objects.filter(user=member.user_id, revoked_at=None, ends_at__gt=now)
        if valid.count() >= MOST:
            raise Refused(f"You have {MOST} valid tokens. Revoke one first.")
    made = ApiToken.objects.create(
        name=name,
        user=member.user if member else None,
        sender=member.sender if member else None,
        scopes=[one for one in scopes_of(holder) if one in scopes],
        token_hash=token_hash(text),
        start=text[:SHOWN],
        made_by=by,
        made_at=now,
        ends_at=now + dt.timedelta(days=days),
    )
    words = f"{', '.join(made.scopes)}; {days} days{f'. {reason}' if reason else ''}"
    Audit.write("API token made", made, by=by, sender=made.sender, reason=words, at=now)
    return made, text


@transaction.atomic
def revoke_token(token: ApiToken, *, by: User, now: dt.datetime, reason: str = "") -> None:
    """End a token immediately. One that has ended or is revoked stays as it is."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        Audit.write("API token revoked", token, by=by, sender=token.sender, reason=reason, at=now)


def find_caller(text: str, acts_for: str, *, now: dt.datetime) -> Caller:
    """Return who a token acts for, and record its use. Raises NotAccepted or NobodyNamed."""
    token = TOKEN.first(token_hash=token_hash(text))
    if token is None:
        raise NotAccepted("This token is unknown.")
    if why := token.why_ended(now):
        raise NotAccepted(why)
    member = _named_member(acts_for) if token.is_partners else _own_member(token, acts_for)
    _note_use(token, now)
    return Caller(token, member)


def _own_member(token: ApiToken, acts_for: str) -> Membership:
    member = getattr(token.user, "membership", None)
    if member is None or member.sender_id != token.sender_id or not member.user.is_active:
        raise NotAccepted("The person this token acts for has left the account.")
    if acts_for:
        raise NobodyNamed("This token acts for its own member. Leave out the header Acts-For.")
    return member


def _named_member(email: str) -> Membership:
    """Return the member with this login address, which they have confirmed."""
    if not email.strip():
        raise NobodyNamed("Name the member by the email they log in with, in the header Acts-For.")
    member: Membership | None = NAMED.first(email=email.strip().lower())
    if member:
        return member
    raise NobodyNamed("No member logs in with the email in the header Acts-For.")


def _note_use(token: ApiToken, now: dt.datetime) -> None:
    before = now - NOTED_EVERY
    if token.used_at is None or token.used_at < before:
        stale = Q(used_at=None) | Q(used_at__lt=before)
        ApiToken.objects.filter(stale, pk=token.pk).update(used_at=now)
