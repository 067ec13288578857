"""Send notifications by email: one per person and batch_key, with one link to the portal."""

import datetime as dt
from collections.abc import Collection, Sequence

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.mail.outbox import KINDS, When, still_wanted
from shipping_portal.accounts.models import Notification, User
from shipping_portal.jobs.models import UNDER_WAY
from shipping_portal.jobs.registry import job

LEASE = dt.timedelta(seconds=60)  # a mail server may be slow
SENDING = "the process stopped while it sent the email"
LONGEST_WAIT = dt.timedelta(hours=6)
MOST_LINES = 50
SALT = "unsubscribe"
TEXT = """{lines}

Open the portal:
{link}

You get this because of your settings there. To stop this kind of email:
{stop}
"""


@job(
    "mail",
    queue=Notification.objects.filter(sent_at=None).select_related("user"),
    lane="sender",
    order=120,
)
def send_due_mail(first: Notification) -> None:
    """Send the email this notification belongs to.

    A crash in between repeats one email at worst.
    """
    rows = _gather_notifications(first)
    try:
        if wanted := still_wanted(rows, first.user):
            _make_mail(first.user, wanted).send()
    except OSError:  # like every SMTP error
        now = timezone.now()
        for row in rows:
            row.retry(now + wait_after(row.tries))
        return
    mine = Notification.objects.filter(pk__in=[row.pk for row in rows], due_at=first.due_at)
    mine.update(sent_at=timezone.now(), due_at=None, **Notification.AFRESH)


def wait_after(tries: int) -> dt.timedelta:
    """Return how long to wait before the next attempt, after this many attempts."""
    return min(dt.timedelta(minutes=2 ** min(tries, 10)), LONGEST_WAIT)


@transaction.atomic
def _gather_notifications(first: Notification) -> list[Notification]:
    """Claim all notifications of this email under one lease; none if another worker has them.

    Rows that another worker has claimed but not yet gathered are taken too; that worker then finds
    none.
    """
    User.objects.select_for_update(no_key=True).get(pk=first.user_id)
    now = timezone.now()
    if not first.renew(now + LEASE):
        return []
    due = Notification.objects.filter(
        user=first.user, batch_key=first.batch_key, sent_at=None, parked_at=None
    )
    due.filter(Q(due_at__lte=now) | Q(last_error=UNDER_WAY)).update(
        due_at=first.due_at, last_error=SENDING
    )
    return list(due.filter(due_at=first.due_at).order_by("happened_at", "pk"))


def _make_mail(user: User, rows: Sequence[Notification]) -> EmailMessage:
    kinds = {row.kind for row in rows}
    path = rows[0].path if len({row.path for row in rows}) == 1 else reverse("home")
    stop = settings.SITE_URL + reverse("unsubscribe", args=[token_for(user, kinds)])
    lines = [f"- {row.line}" for row in rows[:MOST_LINES]]
    if len(rows) > MOST_LINES:
        lines.append(f"- and {len(rows) - MOST_LINES} more")
    subject = KINDS[rows[0].kind].subject_of(len(rows), rows[0].batch_key)
    is_of_a_day = rows[0].batch_key == When.DAILY  # one email may hold both deliveries and returns
    return EmailMessage(
        subject=subject if len(kinds) == 1 and not is_of_a_day else "Your parcels",
        body=TEXT.format(lines="\n".join(lines), link=settings.SITE_URL + path, stop=stop),
        to=[user.email],
        headers={
            "List-Unsubscribe": f"<{stop}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


def token_for(user: User, kinds: Collection[str]) -> str:
    """Return a token that can only turn off these kinds of email for this person."""
    return signing.dumps([user.pk, *sorted(kinds)], salt=SALT)


def read_token(token: str) -> tuple[int, list[str]] | None:
    try:
        user, *kinds = signing.loads(token, salt=SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return (user, kinds) if kinds and all(kind in KINDS for kind in kinds) else None
