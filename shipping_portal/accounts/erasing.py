"""Erase personal data in accounts: address books, invitations, notifications and people."""

import datetime as dt

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from shipping_portal.accounts.api_tokens import KEPT_DAYS
from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.models import (
    ApiToken,
    ApprovalRequest,
    Audit,
    EntryLink,
    Invitation,
    Membership,
    Notification,
    NotificationChoice,
    ParcelSize,
    PickupAddress,
    Receiver,
    Role,
    Sender,
    User,
    WebhookEndpoint,
    WebhookEvent,
)
from shipping_portal.accounts.models.book import LAST_USED
from shipping_portal.accounts.teams.people import addresses_of
from shipping_portal.jobs import erasing
from shipping_portal.jobs.erasing import Keys, Reasons, eraser, objection
from shipping_portal.jobs.retention import BATCH, delete, term

UNCONFIRMED = dt.timedelta(days=1, hours=1)  # an hour longer than the link in the email is valid
NOBODYS = "@erased.invalid"  # the mail domain of erased people; no mail is sent there
FORMER = "A former member"
CLOSED = "This account is closed. Nothing is booked for it any more."


# -- When erasing must wait ----------------------------------------------------------------------


@objection("member")
def still_needed(members: Keys) -> Reasons:
    for person in User.objects.filter(pk__in=members):
        sender = Sender.objects.filter(memberships__user=person).first()
        if person.is_staff or person.is_superuser:
            yield person.pk, "This is an operator. Take them out of every group first."
        if sender is None:
            continue
        owners = sender.memberships.exclude(user=person).filter(
            role=Role.OWNER, user__is_active=True
        )
        if not owners.exists():
            yield (
                person.pk,
                (
                    f"{sender} would have no owner left. Close the account, or let an owner name"
                    " another one."
                ),
            )
        if sender.pickup_addresses.filter(email__in=addresses_of(person.pk)).exists():
            yield (
                person.pk,
                (
                    "The carrier writes to this person. Let an owner put another on the pickup"
                    " address."
                ),
            )


# -- What is erased ------------------------------------------------------------------------------


@eraser("member", "people")
def erase_people(members: Keys) -> int:
    """End these people's logins and memberships. Their work keeps their key, without a name."""
    for key in members:
        person = User.objects.get(pk=key)
        Invitation.objects.filter(email__in=addresses_of(key)).delete()
        sessions.end_all(person)
        person.set_unusable_password()
        person.email, person.name, person.is_active, person.last_login = (
            f"{key}{NOBODYS}",
            FORMER,
            False,
            None,
        )
        person.save(update_fields=["email", "name", "is_active", "last_login", "password"])
        person.api_tokens.all().delete()
        for model in (EmailAddress, Authenticator, SocialAccount, EntryLink, Membership):
            model.objects.filter(user=person).delete()
        for model in (Notification, NotificationChoice):
            model.objects.filter(user=person).delete()
    return len(members)


@eraser("sender", "account, with address book, sizes, pickup addresses and invitations")
def erase_accounts(senders: Keys) -> int:
    for sender in Sender.objects.filter(pk__in=senders):
        erasing.erase({"member": list(sender.memberships.values_list("user", flat=True))})
        for model in (
            Receiver,
            ParcelSize,
            PickupAddress,
            Invitation,
            ApprovalRequest,
            WebhookEndpoint,
        ):
            model.objects.filter(sender=sender).delete()
        now = timezone.now()
        Sender.objects.filter(pk=sender.pk).update(
            name=f"Closed account {sender.number}",
            external_id="",
            has_webhooks=False,
            suspended_at=sender.suspended_at or now,
            suspension_text=CLOSED,
            suspension=Sender.Suspension.CLOSED,
            suspension_note="",
            closed_at=sender.closed_at or now,
            erased_at=now,
        )
        Notification.objects.filter(sender=sender).delete()
    return len(senders)


# -- After the retention period ------------------------------------------------------------------


@term("address books")
def purge_address_books(now: dt.datetime) -> int:
    """Delete address book entries unused for ADDRESS_BOOK_DAYS."""
    before = now - dt.timedelta(days=settings.ADDRESS_BOOK_DAYS)
    return delete(Receiver.objects.alias(last_used=LAST_USED).filter(last_used__lt=before))


def unconfirmed_people() -> QuerySet[User]:
    """Return the people of unconfirmed sign-ups. None of them has ever logged in."""
    proven = EmailAddress.objects.filter(verified=True)
    return User.objects.filter(is_staff=False, last_login=None).exclude(
        Q(pk__in=proven.values("user")) | Q(email__endswith=NOBODYS)
    )


def erase_unconfirmed(people: QuerySet[User]) -> int:
    """Erase these people and the accounts they opened, which frees each address for its owner."""
    members = set(people.select_for_update(no_key=True).values_list("pk", flat=True))
    opened = Membership.objects.filter(user__in=members, role=Role.OWNER)
    senders = set(opened.values_list("sender", flat=True))
    now = timezone.now()
    # Do this before anything is searched by the address, which may be somebody else's.
    for key in members:
        User.objects.filter(pk=key).update(email=f"{key}{NOBODYS}")
        Audit.write(
            "unconfirmed sign-up erased", f"{User._meta.verbose_name} {key}", by=None, at=now
        )
    EmailAddress.objects.filter(user__in=members).delete()
    erasing.erase({"member": members, "sender": senders})
    return len(members)


@term("sign-ups nobody confirmed")
@transaction.atomic
def purge_unconfirmed(now: dt.datetime) -> int:
    """Erase unconfirmed sign-ups after UNCONFIRMED. Until then the link in their email works."""
    return erase_unconfirmed(unconfirmed_people().filter(date_joined__lt=now - UNCONFIRMED))


@term("invitations")
def purge_invitations(now: dt.datetime) -> int:
    """Delete invitations INVITATION_DAYS after they ended."""
    return delete(
        Invitation.objects.filter(expires_at__lt=now - dt.timedelta(days=settings.INVITATION_DAYS))
    )


@term("API tokens")
def purge_api_tokens(now: dt.datetime) -> int:
    """Delete tokens KEPT_DAYS after they ended. Their audit rows stay."""
    before = now - dt.timedelta(days=KEPT_DAYS)
    return delete(ApiToken.objects.filter(Q(ends_at__lt=before) | Q(revoked_at__lt=before)))


@term("webhook events")
def purge_webhook_events(now: dt.datetime) -> int:
    """Delete events after WEBHOOK_EVENT_DAYS, delivered or not."""
    before = now - dt.timedelta(days=settings.WEBHOOK_EVENT_DAYS)
    return delete(WebhookEvent.objects.filter(happened_at__lt=before))


@term("words of notifications")
def purge_notifications(now: dt.datetime) -> int:
    """Empty the texts after NOTIFICATION_DAYS. The row stays, to prevent a second notification."""
    before, count = now - dt.timedelta(days=settings.NOTIFICATION_DAYS), 0
    old = Notification.objects.filter(happened_at__lt=before).exclude(line="")
    while keys := list(old.values_list("pk", flat=True)[:BATCH]):
        count += Notification.objects.filter(pk__in=keys).update(line="", due_at=None)
    return count
