"""Handle all of a case except its resolution: notes, owners, and emails to the sender.

The audit log names each by its key. The text is only in its own row, so that it can be erased.
"""

import datetime as dt

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from orders.drafting.receivers import masked_name
from orders.models import Order
from shipping_portal.accounts.mail.mailing import wait_after
from shipping_portal.accounts.models import Audit, Role, Sender, User
from shipping_portal.jobs.registry import enqueue, job
from shipping_portal.staff.models import Assignment, Note, SenderMail

About = SenderMail.About
LEFT = "the person left the account before it was sent"
TEXTS = {
    About.MISSED: (
        "The driver didn't come for {parcel}. We've asked the carrier when the next pickup is, and"
        " we'll email you again. Please leave the label on, keep the parcel ready and don't"
        " cancel it."
    ),
    About.REFUND: (
        "We've asked the carrier for a refund for {parcel}. It usually arrives within two weekly"
        " bills, and you'll see it on your statement. There's nothing you need to do."
    ),
    About.USED: (
        "The carrier scanned the label for {parcel} after it was cancelled, so it will charge for"
        " it. If you did send it, there's nothing to do. If you didn't, please destroy every copy"
        " of the label and let us know."
    ),
    About.DETAILS: "To sort out {parcel}, we need:\n\n- \n\nPlease reply to this email.",
    About.RESOLVED: (
        "We now know the outcome for {parcel}. You'll find it on the parcel's page. There's nothing"
        " you need to do."
    ),
    About.OTHER: "",
}
MAIL = """{text}

See the parcel:
{link}
"""


@transaction.atomic
def add_note(
    sender: Sender, text: str, *, by: User, now: dt.datetime, order: Order | None = None
) -> Note:
    """Add a note about a sender or one of its orders."""
    note = Note.objects.create(sender=sender, order=order, text=text, by=by, at=now)
    Audit.write("note added", order or sender, by=by, sender=sender, reason=str(note), at=now)
    return note


def notes_about(about: Order | Sender) -> QuerySet[Note]:
    """Return the latest notes of an order, or of a sender with all its orders."""
    found = Note.objects.select_related("by", "order").order_by("-pk")
    return (found.filter(sender=about) if isinstance(about, Sender) else found.filter(order=about))[
        :50
    ]


def case_operators() -> QuerySet[User]:
    """Return the people who may own a case: all admin users."""
    operators = Q(is_superuser=True) | Q(groups__isnull=False)
    return (
        User.objects.filter(operators, is_staff=True, is_active=True).order_by("email").distinct()
    )


@transaction.atomic
def give_case(order: Order, operator: User | None, *, by: User, now: dt.datetime) -> None:
    """Set or remove the owner of an order's case."""
    if operator is None:
        Assignment.objects.filter(order=order).delete()
    else:
        Assignment.objects.update_or_create(order=order, defaults={"operator": operator, "at": now})
    whose = f"to user {operator.pk}" if operator else "to nobody"
    Audit.write("case assigned", order, by=by, sender=order.sender, reason=whose, at=now)


def mail_recipients(order: Order) -> QuerySet[User]:
    """Return who may be emailed about an order: its owners and shippers, never the receiver."""
    roles = [Role.OWNER, Role.SHIPPER]
    found = User.objects.filter(
        membership__sender=order.sender_id, membership__role__in=roles, is_active=True
    )
    return found.filter(emailaddress__verified=True).order_by("pk").distinct()


def prepare_text(order: Order, about: str) -> str:
    """Return the initial text; the receiver is reduced to initials."""
    return TEXTS[About(about)].format(parcel=_name_of(order))


def _name_of(order: Order) -> str:
    way = "from" if order.returns_id else "to"
    who = masked_name(order.of_customer("name"))
    return f"{order.carrier_reference or 'the parcel'} {way} {who}"


@transaction.atomic
def queue_mail(
    order: Order, *, to: User, about: str, text: str, by: User, now: dt.datetime
) -> SenderMail:
    """Queue the email."""
    mail = SenderMail.objects.create(
        order=order, to=to, about=about, text=text, by=by, at=now, due_at=now
    )
    Audit.write(
        "mail to the sender", order, by=by, sender=order.sender, reason=f"{mail}: {about}", at=now
    )
    enqueue("sender-mail", mail.pk)
    return mail


@job(
    "sender-mail",
    queue=SenderMail.objects.select_related("order__sender", "to"),
    lane="order__sender",
    order=122,
)
def send_due_mail(mail: SenderMail) -> None:
    """Send an email unless its reader has left the team; at worst, a crash repeats it."""
    if not mail_recipients(mail.order).filter(pk=mail.to_id).exists():
        mail.finish(last_error=LEFT)
        return
    try:
        _make_message(mail).send()
    except OSError:  # like every SMTP error
        mail.retry(timezone.now() + wait_after(mail.tries))
    else:
        mail.finish(sent_at=timezone.now())


def _make_message(mail: SenderMail) -> EmailMessage:
    about = "About" if mail.about == About.OTHER else f"{mail.get_about_display()}:"
    link = settings.SITE_URL + reverse("parcel", args=[mail.order.uuid])
    return EmailMessage(
        subject=f"{about} {_name_of(mail.order)}",
        body=MAIL.format(text=mail.text, link=link),
        to=[mail.to.email],
        reply_to=[settings.CONTACT_EMAIL] if settings.CONTACT_EMAIL else [],
    )
