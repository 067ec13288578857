"""Record security events: one log line each, and one audit row in the account concerned.

allauth's signals are received only here. An unknown address is recorded as a keyed hash: the same
address always gives the same hash, and the log reveals no addresses.
"""

import datetime as dt
from typing import Any

import structlog
from allauth.account import signals as account
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from django.contrib.auth.signals import user_logged_out
from django.dispatch import Signal, receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from shipping_portal.accounts.login import guesses
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.models.audit import subject_of

logger = structlog.get_logger("security")
# Events that anybody can cause at will: the log has each one, the audit log one every ten minutes.
ENDLESS = {
    "log-in failed",
    "log-in slowed down",
    "requests slowed down",
    "second factor failed",
    "denied",
    "sign-on refused",
}
AT_MOST_EVERY = dt.timedelta(minutes=10)


def record_event(
    event: str, request: HttpRequest | None, *, user: Any = None, email: str = "", detail: str = ""
) -> None:
    """Write the event to the log and, if it concerns an account, to the audit log."""
    person = user or (User.objects.filter(email__iexact=email).first() if email else None)
    ip = get_adapter().get_client_ip(request) if request is not None else None
    fields = {"kind": event, "user": person and person.pk, "ip": ip, "detail": detail or None}
    fields["account"] = None if person or not email else hash_of(email)
    if event in ENDLESS:
        logger.warning("security_event", **fields)
    else:
        logger.info("security_event", **fields)
    if person is not None and not _is_recorded(event, person):
        membership = getattr(person, "membership", None)
        sender = membership.sender if membership else None
        actor = None if event in ENDLESS else person
        Audit.write(event, person, by=actor, sender=sender, reason=detail, at=timezone.now())


def hash_of(email: str) -> str:
    return salted_hmac("security event", email.strip().lower()).hexdigest()[:16]


def _is_recorded(event: str, person: User) -> bool:
    since = timezone.now() - AT_MOST_EVERY
    rows = Audit.objects.filter(subject=subject_of(person), action=event, at__gt=since)
    return event in ENDLESS and rows.exists()


# Events recorded under their name only.
NAMED = {
    account.user_logged_in: "logged in",
    user_logged_out: "logged out",
    account.password_changed: "password changed",
    account.password_set: "password changed",
    account.password_reset: "password reset by e-mail",
    account.email_added: "log-in address added",
    account.email_changed: "log-in address changed",
    mfa.authenticator_added: "second factor added",
    mfa.authenticator_removed: "second factor removed",
    mfa.authenticator_reset: "recovery codes made anew",
    mfa.authentication_failed: "second factor failed",
}


@receiver([*NAMED])
def _record_by_name(
    signal: Signal, request: HttpRequest, user: User | None, authenticator: Any = None, **more: Any
) -> None:
    """Record what happened and the second factor used. A logout without a user isn't recorded."""
    if user is not None:
        detail = authenticator.get_type_display() if authenticator else ""
        record_event(NAMED[signal], request, user=user, detail=detail)


@receiver(account.password_reset)
def forget_guesses(request: HttpRequest, user: User, **more: Any) -> None:
    guesses.forget_guesses(user.email, get_adapter(request).get_client_ip(request))


@receiver(account.email_removed)
def email_removed(
    request: HttpRequest, user: User, email_address: EmailAddress, **more: Any
) -> None:
    """Notify the removed address too: an attacker may control the remaining one."""
    record_event("log-in address removed", request, user=user)
    if email_address.verified:
        words = {"deleted_email": email_address.email}
        get_adapter(request).send_notification_mail(
            "account/email/email_deleted", user, words, email_address.email
        )


@receiver(mfa.authenticator_used)
def recovery_code_used(request: HttpRequest, user: User, authenticator: Any, **more: Any) -> None:
    """Report the use of a recovery code. App codes are recorded with each login."""
    if authenticator.type == authenticator.Type.RECOVERY_CODES:
        record_event("recovery code used", request, user=user)
