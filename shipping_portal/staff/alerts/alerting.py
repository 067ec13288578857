"""Alert operators when something needs a person, repeatedly while it lasts, and at its end.

An incident is a row, and so is each message about it. They are committed together, so each message
is sent once, however many sweepers run.
"""

import datetime as dt
import hashlib
import hmac
import json
import logging
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.timesince import timesince

from orders.calling.contract import user_agent
from orders.models.restores import DatabaseMark
from shipping_portal.accounts.mail.mailing import wait_after
from shipping_portal.carrier import outgoing
from shipping_portal.carrier.hosts import may_connect_anywhere
from shipping_portal.jobs import retention
from shipping_portal.jobs.registry import chore, enqueue, job
from shipping_portal.staff.alerts import conditions
from shipping_portal.staff.alerts.conditions import Condition
from shipping_portal.staff.models import Alert, AlertMessage, Severity

logger = logging.getLogger(__name__)
CLEAR_AFTER = dt.timedelta(minutes=5)  # a condition that comes and goes is one incident
MOST_TRIES = 5  # half an hour; each further try counts as a failure, until it is a dead letter
KEPT = dt.timedelta(days=90)
SIGNATURE = "X-Portal-Signature"
MAIL = "{text}\n{next_step}\n\n{url}\n"


@chore("alerts", every=60)
def update_alerts(now: dt.datetime) -> None:
    """Queue messages about new, lasting and ended incidents; then send the heartbeat.

    If the check fails, no heartbeat is sent either, and whatever monitors the heartbeat alerts
    somebody.
    """
    check_conditions(now)
    # With a full disk, or on a standby, reading still works, and nothing is late because nothing
    # new arrives.
    DatabaseMark.objects.update(stamp=F("stamp"))
    _send_heartbeat()


def check_conditions(now: dt.datetime) -> None:
    """Open, repeat and close incidents by the current conditions."""
    before = {alert.name: alert for alert in Alert.objects.filter(closed_at=None)}
    for condition in conditions.present_conditions(now):
        alert = before.pop(condition.name, None)
        _open_alert(condition, now) if alert is None else _go_on(alert, condition, now)
    for alert in before.values():
        _close_alert(alert, now)


@transaction.atomic
def _open_alert(condition: Condition, now: dt.datetime) -> None:
    facts = {"title": condition.title, "severity": condition.severity, "url": condition.url}
    times = {"opened_at": now, "seen_at": now, "sent_at": now}
    alert, is_new = Alert.objects.get_or_create(
        name=condition.name, closed_at=None, defaults=facts | times
    )
    if is_new:
        _queue_messages(alert, "opened", now, condition)


@transaction.atomic
def _go_on(alert: Alert, condition: Condition, now: dt.datetime) -> None:
    """Record that an incident continues. Only one sweeper queues the repeated messages."""
    mine = Alert.objects.filter(pk=alert.pk, closed_at=None)
    is_due = alert.sent_at <= now - _repeat_interval(alert)
    if is_due and mine.filter(sent_at=alert.sent_at).update(sent_at=now, seen_at=now):
        _queue_messages(alert, "repeated", now, condition)
    elif not is_due:
        mine.update(seen_at=now)


def _repeat_interval(alert: Alert) -> dt.timedelta:
    """Return the time between repeats: a day or more for a ticket, as it can wait until morning."""
    hours = settings.ALERT_REPEAT_HOURS
    return dt.timedelta(hours=hours if alert.severity == Severity.PAGE else max(hours, 24))


@transaction.atomic
def _close_alert(alert: Alert, now: dt.datetime) -> None:
    if Alert.objects.filter(pk=alert.pk, closed_at=None, seen_at__lte=now - CLEAR_AFTER).update(
        closed_at=now
    ):
        _queue_messages(alert, "closed", now)


def _queue_messages(
    alert: Alert, state: str, now: dt.datetime, condition: Condition | None = None
) -> None:
    """Queue one message for each channel that is set."""
    content = {
        "alert": alert.pk,
        "name": alert.name,
        "state": state,
        "severity": alert.severity,
        "title": alert.title,
        "count": condition.count if condition else 0,
        "oldest": condition.oldest.isoformat() if condition and condition.oldest else None,
        "next_step": condition.next_step if condition else "",
        "url": settings.SITE_URL + alert.url,
        "opened_at": alert.opened_at.isoformat(),
        "at": now.isoformat(),
        "text": _message_text(alert, state, now, condition),
    }
    channels = AlertMessage.Channel
    for channel, to in {
        channels.MAIL: settings.ALERT_EMAILS,
        channels.WEBHOOK: settings.ALERT_WEBHOOK_URL,
    }.items():
        if to:
            message = AlertMessage.objects.create(
                alert=alert, channel=channel, content=content, due_at=now
            )
            enqueue("alert", message.pk)


def _message_text(alert: Alert, state: str, now: dt.datetime, condition: Condition | None) -> str:
    """Return the message in one line, for a subject or a chat."""
    if condition is None:
        return f"[all clear] {alert.title}"
    age = f", oldest {timesince(condition.oldest, now)}" if condition.oldest else ""
    again = " (again)" if state == "repeated" else ""
    return f"[{alert.severity}] {alert.title}: {condition.count}{age}{again}".replace("\xa0", " ")


@job("alert", queue=AlertMessage.objects.select_related("alert"), order=15)
def send_due_message(message: AlertMessage) -> None:
    """Send one message; a crash in between repeats it at worst."""
    try:
        _send_message(message)
    except (OSError, outgoing.Undelivered) as problem:
        # Every SMTP error is an OSError.
        # An SMTP error's text may contain an address.
        why = str(problem) if isinstance(problem, outgoing.Undelivered) else type(problem).__name__
        logger.warning("alert_undelivered", extra={"channel": message.channel, "why": why})
        if message.tries >= MOST_TRIES:
            raise
        message.retry(timezone.now() + wait_after(message.tries))
    else:
        message.finish()


def _send_message(message: AlertMessage) -> None:
    if message.channel == AlertMessage.Channel.MAIL:
        send_mail(
            message.content["text"], MAIL.format(**message.content), None, settings.ALERT_EMAILS
        )
        return
    body = json.dumps(message.content).encode()
    headers = {"Content-Type": "application/json", SIGNATURE: sign_body(body, timezone.now())}
    _send_request(settings.ALERT_WEBHOOK_URL, body, headers)


def sign_body(body: bytes, now: dt.datetime) -> str:
    """Return `t=seconds since 1970,v1=hex`: HMAC-SHA256 of `seconds.body`.

    The key is ALERT_WEBHOOK_SECRET.
    """
    seconds = int(now.timestamp())
    made = hmac.new(
        settings.ALERT_WEBHOOK_SECRET.encode(), f"{seconds}.".encode() + body, hashlib.sha256
    )
    return f"t={seconds},v1={made.hexdigest()}"


def _send_heartbeat() -> None:
    """Request HEARTBEAT_URL; log a failure, because the sweep continues without it."""
    try:
        if settings.HEARTBEAT_URL:
            _send_request(settings.HEARTBEAT_URL)
    except outgoing.Undelivered as problem:
        logger.warning("heartbeat_undelivered", extra={"why": str(problem)})


def _send_request(
    url: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> None:
    is_trial = settings.DEMO or settings.TESTING
    may_reach = (
        may_connect_anywhere if is_trial else outgoing.reach_of(url, settings.ALERT_PRIVATE_HOSTS)
    )
    # If a public service is used alongside our own receiver, it is checked against public
    # authorities.
    is_ours = urlsplit(url).hostname in settings.ALERT_PRIVATE_HOSTS
    authority = settings.ALERT_CA_BUNDLE if is_ours else None
    outgoing.send(
        url,
        user_agent=user_agent(),
        body=body,
        headers=headers,
        may_reach=may_reach,
        ca_bundle=authority,
    )


@retention.term("alerts")
def purge_ended(now: dt.datetime) -> int:
    """Delete incidents that ended three months ago, with their messages."""
    return retention.delete(Alert.objects.filter(closed_at__lt=now - KEPT))
