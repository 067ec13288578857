"""Change people's logins on behalf of an operator, including other operators' logins."""

import datetime as dt

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.core.mail import send_mail
from django.db import transaction

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.models import Audit, Membership, Sender, User
from shipping_portal.accounts.teams import team
from shipping_portal.refused import Refused

SECOND_FACTOR_MAIL = """An operator turned off two-step verification for your account.

You can log in with your password and set it up again in your settings.
If you didn't ask for this, reply to this email now.
"""


def set_active(person: User, *, is_active: bool, by: User, reason: str, now: dt.datetime) -> None:
    """Turn a person's account on or off.

    Sessions of an inactive person end with the next request.
    """
    _refuse_beyond_reach(person, by)
    if person.pk == by.pk:
        raise Refused("You cannot turn off your own account.")
    with transaction.atomic():
        if not User.objects.filter(pk=person.pk, is_active=not is_active).update(
            is_active=is_active
        ):
            raise Refused("Someone else was faster; nothing was changed.")
        action = "account turned on" if is_active else "account turned off"
        Audit.write(action, person, by=by, reason=reason, at=now)


def log_out(person: User, *, by: User, reason: str, now: dt.datetime) -> None:
    """Log a person out everywhere, immediately. They may log in again."""
    _refuse_beyond_reach(person, by)
    with transaction.atomic():
        count = sessions.end_all(person)
        Audit.write(
            "logged out everywhere", person, by=by, reason=f"{count} sessions: {reason}", at=now
        )


def reset_second_factor(person: User, *, by: User, reason: str, now: dt.datetime) -> None:
    _refuse_beyond_reach(person, by)
    with transaction.atomic():
        removed, _ = Authenticator.objects.filter(user=person).delete()
        if not removed:
            raise Refused("There is no second factor to remove.")
        Audit.write("second factor reset", person, by=by, reason=reason, at=now)
    is_unconfirmed = EmailAddress.objects.filter(
        user=person, email__iexact=person.email, verified=False
    ).exists()
    if person.is_active and not is_unconfirmed:
        send_mail("Two-step verification was turned off", SECOND_FACTOR_MAIL, None, [person.email])


def move_person(
    person: User, number: str, role: str, *, by: User, reason: str, now: dt.datetime
) -> None:
    """Move a person to the business with this number. Sign-on never does this by itself."""
    _refuse_beyond_reach(person, by)
    key = Sender.pk_of(number) or 0
    target = Sender.objects.filter(pk=key, closed_at=None, erased_at=None).first()
    if target is None:
        raise Refused("No open account has this number.")
    if person.is_staff:
        raise Refused("An operator ships for no business.")
    member = Membership.objects.select_related("sender", "user").filter(user=person).first()
    if member is not None and member.sender_id == target.pk:
        raise Refused("This person is there already.")
    with transaction.atomic():
        if member is not None:
            team.remove_member(member, by=by, now=now)
        Membership.objects.create(sender=target, user=person, role=role)
        action = "moved to another business"
        Audit.write(action, person, by=by, sender=target, reason=reason, at=now)


def set_groups(person: User, groups: list[str], *, by: User, reason: str, now: dt.datetime) -> None:
    """Set an operator's groups. Without a group they can't use the admin.

    A new operator chooses a new password by email: the old one may be too short for an operator.
    """
    if not permissions.may(by, "operators"):
        raise Refused("Only an Ops lead sets groups.")
    _refuse_beyond_reach(person, by)
    if person.pk == by.pk:
        raise Refused("You cannot set your own groups.")
    if why := why_no_groups(person):
        raise Refused(why)
    chosen = list(Group.objects.filter(name__in=groups))
    if len(chosen) < len(set(groups)):
        raise Refused("A group is missing. Run manage.py operator_groups first.")
    with transaction.atomic():
        person.groups.set(chosen)
        if chosen and not person.is_staff:
            person.set_unusable_password()
            sessions.end_all(person)
        User.objects.filter(pk=person.pk).update(is_staff=bool(chosen), password=person.password)
        names = ", ".join(groups) or "no operator any more"
        Audit.write("operator groups set", person, by=by, reason=f"{names}: {reason}", at=now)


def why_no_groups(person: User) -> str:
    """Return why this person can't be in a group, or ""."""
    if person.is_superuser:
        return "A superuser may do everything and is in no group."
    return (
        "Who ships for a sender cannot work here as well." if hasattr(person, "membership") else ""
    )


def _refuse_beyond_reach(person: User, by: User) -> None:
    """Limit Support to senders' people. Otherwise it could lock out more senior operators."""
    if person.is_superuser and not by.is_superuser:
        raise Refused("Only a superuser changes a superuser's account.")
    if person.is_staff and not permissions.may(by, "operators"):
        raise Refused("Only an Ops lead changes an operator's account.")


def addresses_of(person: int) -> set[str]:
    """Return every email address of a person, in lower case."""
    known = EmailAddress.objects.filter(user=person).values_list("email", flat=True)
    return {
        email.lower()
        for email in (*known, *User.objects.filter(pk=person).values_list("email", flat=True))
    }
