"""Manage an account's members: an owner invites them, they join on acceptance, and can be removed.

Each change has one entry point here and writes an audit row. An account always keeps an owner.
"""

import datetime as dt
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.models import (
    ApiToken,
    Audit,
    Invitation,
    Membership,
    Role,
    Sender,
    User,
)
from shipping_portal.refused import Refused

GOOD_FOR = dt.timedelta(hours=72)
# how long another invitation of the same address counts as a second press
SAME_PRESS = dt.timedelta(seconds=10)
MOST_OPEN = 20
LONGEST_NAME = 50  # characters of an email that is sent in our name
# the most emails per account, including repeats and revoked invitations: nobody gets flooded
MOST_A_DAY = 50
ELSEWHERE = "You already belong to another account. Ask us if you want to change it."
MAIL = """{inviter} invites you to join {business} at {portal}, as {role}.

To see the invitation, open this link within 72 hours:
{link}

If you don't know {business}, you can ignore this email.
"""


def invite_person(
    sender: Sender,
    email: str,
    role: str,
    *,
    by: User,
    now: dt.datetime,
    replaces: int = 0,
) -> Invitation:
    """Send somebody a link.

    It replaces an open invitation to the address, so that only one link works. A second press sends
    nothing; `replaces` is the key of an invitation to send again even so.
    """
    token, email = secrets.token_urlsafe(32), email.strip().lower()
    with transaction.atomic():
        # Invitations are counted and created one by one.
        Sender.locked(sender.pk)
        open_ones = sender.invitations.good(now).filter(email=email, role=role)
        if same := open_ones.filter(created_at__gt=now - SAME_PRESS).exclude(pk=replaces).first():
            return same
        made = _create_invitation(sender, email, role, token_hash(token), by=by, now=now)
    _send_invitation(made, token)
    return made


def _create_invitation(
    sender: Sender, email: str, role: str, token_hash: str, *, by: User, now: dt.datetime
) -> Invitation:
    if sender.memberships.filter(user__in=with_address(email)).exists():
        raise Refused(f"{email} is in the team already.")
    open_ones = sender.invitations.filter(accepted_at=None, revoked_at=None)
    if open_ones.exclude(email=email).filter(expires_at__gt=now).count() >= MOST_OPEN:
        raise Refused(f"{MOST_OPEN} invitations are open. Revoke one first.")
    if sender.invitations.filter(created_at__gt=now - dt.timedelta(days=1)).count() >= MOST_A_DAY:
        raise Refused(
            f"{MOST_A_DAY} invitations were sent within 24 hours. Send the next one tomorrow."
        )
    open_ones.filter(email=email).update(revoked_at=now)
    made = Invitation.objects.create(
        sender=sender,
        email=email,
        role=role,
        token_hash=token_hash,
        invited_by=by,
        created_at=now,
        expires_at=now + GOOD_FOR,
    )
    Audit.write("invited", made, by=by, sender=sender, reason=role, at=now)
    return made


@transaction.atomic
def revoke_invitation(invitation: Invitation, *, by: User, now: dt.datetime) -> None:
    still = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if not still.update(revoked_at=now):
        raise Refused("This invitation is no longer open.")
    Audit.write("invitation revoked", invitation, by=by, sender=invitation.sender, at=now)


def find_invitation(token: str) -> Invitation | None:
    """Return the invitation a link belongs to, open or not."""
    return (
        Invitation.objects.select_related("sender", "invited_by")
        .filter(token_hash=token_hash(token))
        .first()
    )


def with_address(email: str) -> QuerySet[User]:
    """Return the person whose login address or other verified address this is."""
    verified = EmailAddress.objects.filter(email__iexact=email, verified=True)
    return User.objects.filter(Q(email__iexact=email) | Q(pk__in=verified.values("user")))


def why_not_accepted(invitation: Invitation, user: User) -> str:
    """Return why this person can't accept the invitation, as a sentence, or ""."""
    if user not in with_address(invitation.email):
        return f"This invitation is for {invitation.email}. Log out, then open its link again."
    is_elsewhere = Membership.objects.filter(user=user).exists() or user.is_staff
    return ELSEWHERE if is_elsewhere else ""


def accept_invitation(invitation: Invitation, user: User, *, now: dt.datetime) -> Membership:
    """Accept an invitation, once. One person belongs to one account."""
    if why := why_not_accepted(invitation, user):
        raise Refused(why)
    with transaction.atomic():
        if not Invitation.objects.good(now).filter(pk=invitation.pk).update(accepted_at=now):
            raise Refused("This invitation is no longer open.")
        made = _new_member(invitation, user)
        Audit.write("invitation accepted", invitation, by=user, sender=made.sender, at=now)
    return made


def _new_member(invitation: Invitation, user: User) -> Membership:
    try:
        with transaction.atomic():
            return Membership.objects.create(
                sender=invitation.sender, user=user, role=invitation.role
            )
    except IntegrityError as error:
        # They joined another account at the same instant.
        raise Refused(ELSEWHERE) from error


def set_role(member: Membership, role: str, *, by: User | None, now: dt.datetime) -> None:
    """Change a member's role. Without `by`, the issuer's claim at a sign-on changes it."""
    with _keeping_an_owner(member.sender):
        if not Membership.objects.filter(pk=member.pk).update(role=role):
            raise Refused(f"{member.user} is no longer in the team.")
        if role != Role.OWNER:
            _end_invitations_by(member, now)
        reason, sender = f"{member.role} → {role}", member.sender
        if role != member.role:
            Audit.write("role changed", member.user, by=by, sender=sender, reason=reason, at=now)


def remove_member(member: Membership, *, by: User, now: dt.datetime) -> None:
    """Remove a person from the account, and end their logins and tokens. What they booked stays."""
    with _keeping_an_owner(member.sender):
        if not Membership.objects.filter(pk=member.pk).delete()[0]:
            raise Refused(f"{member.user} is no longer in the team.")
        Audit.write("removed from the team", member.user, by=by, sender=member.sender, at=now)
        _end_invitations_by(member, now)
        ApiToken.objects.filter(user=member.user, revoked_at=None).update(revoked_at=now)
        sessions.end_all(member.user)


def _end_invitations_by(member: Membership, now: dt.datetime) -> None:
    """End a former owner's invitations, so that they can't rejoin with another address."""
    open_ones = member.sender.invitations.filter(accepted_at=None, revoked_at=None)
    open_ones.filter(invited_by=member.user).update(revoked_at=now)


@transaction.atomic
def require_second_factor(sender: Sender, *, needed: bool, by: User, now: dt.datetime) -> None:
    if Sender.objects.filter(~Q(needs_second_factor=needed), pk=sender.pk).update(
        needs_second_factor=needed
    ):
        action = "second factor required" if needed else "second factor optional"
        Audit.write(action, sender, by=by, sender=sender, at=now)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@contextmanager
def _keeping_an_owner(sender: Sender) -> Iterator[None]:
    """Roll the change back unless an owner who can log in remains."""
    with transaction.atomic():
        # Two owners may leave at the same time.
        Sender.locked(sender.pk)
        yield
        if not sender.memberships.filter(role=Role.OWNER, user__is_active=True).exists():
            raise Refused("An account needs an owner. Make someone else an owner first.")


def _send_invitation(invitation: Invitation, token: str) -> None:
    words = {
        "inviter": shorten(invitation.invited_by.get_full_name(), LONGEST_NAME, placeholder="…"),
        "business": shorten(invitation.sender.name, LONGEST_NAME, placeholder="…"),
        "role": invitation.get_role_display().lower(),
        "link": settings.SITE_URL + reverse("invitation", args=[token]),
    }
    subject = " ".join(f"{words['inviter']} invites you to {words['business']}".split())
    try:
        send_mail(
            subject, MAIL.format(portal=settings.BRAND_NAME, **words), None, [invitation.email]
        )
    except OSError as error:  # like every SMTP error
        reached_nobody = Invitation.objects.filter(pk=invitation.pk)
        reached_nobody.update(expires_at=invitation.created_at)
        raise Refused(f"The email to {invitation.email} couldn't be sent. Try again.") from error
