"""Open new accounts, and have an operator approve them, as SIGN_UP says.

open         new accounts book right away
first_limit  a few parcels right away, more once approved (orders/booking/limits.py)
approve      parcels may be prepared and priced, but not booked, until approved
invited      nobody can sign up

People who join an account by invitation (accounts/teams/team.py) don't open one, so invitations
work in every mode.
"""

import datetime as dt

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.address import places
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.mail.mailing import wait_after
from shipping_portal.accounts.models import ApprovalRequest, Audit, Membership, Role, Sender, User
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.refused import Refused

KIND = "approved"
APPROVED = "We approved your account: you can book now."
MAIL = """A new account waits for your approval.

{business}, {country}, {number}
Opened by {name}, {email}

Approve or decline it in the admin:
{link}
"""


def is_open() -> bool:
    """Return whether a stranger may open an account."""
    return settings.SIGN_UP != "invited" and settings.LOCAL_PASSWORDS


def open_account(
    user: User, *, name: str, country: str, now: dt.datetime, external_id: str = ""
) -> Sender:
    """Open a business account owned by this person, in the transaction that creates the person.

    The pickup address refines the time zone later. An owner who signs on (`external_id`) hasn't
    filled in a form, so they are asked about dangerous goods before anything else.
    """
    approved = now if settings.SIGN_UP == "open" else None
    sender = Sender.objects.create(
        name=name,
        country=country,
        zone=places.zone_of(country, ""),
        approved_at=approved,
        external_id=external_id,
    )
    Membership.objects.create(sender=sender, user=user, role=Role.OWNER)
    if not external_id:
        acknowledge_dangerous_goods(sender, by=user, now=now)
    if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory":
        announce_account(user, now=now)
    return sender


@transaction.atomic
def acknowledge_dangerous_goods(sender: Sender, *, by: User, now: dt.datetime) -> None:
    """Record the promise not to send dangerous goods (interface §1), once."""
    unpromised = Sender.objects.filter(pk=sender.pk, dangerous_goods_acknowledged_at=None)
    if unpromised.update(dangerous_goods_acknowledged_at=now):
        Audit.write("dangerous goods acknowledged", sender, by=by, sender=sender, at=now)


@transaction.atomic
def announce_account(user: User, *, now: dt.datetime) -> None:
    """Queue the operators' email about this person's account, once their address is confirmed."""
    owned = Q(memberships__user=user, memberships__role=Role.OWNER)
    for sender in Sender.objects.filter(owned, approved_at=None):
        request, is_new = ApprovalRequest.objects.get_or_create(
            sender=sender, defaults={"due_at": now}
        )
        if is_new:
            enqueue("approval", request.pk)


@transaction.atomic
def approve_account(sender: Sender, *, by: User, reason: str, now: dt.datetime) -> None:
    """Approve an account: lift its first limit and notify its people. Raises Refused."""
    if not Sender.objects.filter(pk=sender.pk, approved_at=None, suspended_at=None).update(
        approved_at=now
    ):
        raise Refused("This account isn't waiting for approval.")
    Audit.write("account approved", sender, by=by, sender=sender, reason=reason, at=now)
    fact = outbox.Event(
        sender=sender,
        kind=KIND,
        dedupe_key=f"{KIND}:{sender.pk}",
        line=APPROVED,
        path=reverse("home"),
        happened_at=now,
    )
    outbox.notify(fact, now=now)


@job("approval", queue=ApprovalRequest.objects.select_related("sender"), lane="sender", order=125)
def ask_for_due_approval(request: ApprovalRequest) -> None:
    """Email the operators once; a crash in between repeats one email at worst."""
    sender = request.sender
    try:
        # Without an address, the admin's queue shows it.
        if settings.CONTACT_EMAIL and sender.approved_at is None and sender.suspended_at is None:
            subject = f"{sender.name} waits for approval"
            send_mail(subject, _approval_text(sender), None, [settings.CONTACT_EMAIL])
    except OSError:  # like every SMTP error
        request.retry(timezone.now() + wait_after(request.tries))
    else:
        request.finish()


def _approval_text(sender: Sender) -> str:
    owner = User.objects.filter(membership__sender=sender).order_by("pk")[:1].get()
    link = settings.SITE_URL + reverse("admin:accounts_sender_change", args=[sender.pk])
    return MAIL.format(
        business=sender.name,
        country=sender.get_country_display(),
        number=sender.number,
        name=owner.get_full_name(),
        email=owner.email,
        link=link,
    )
