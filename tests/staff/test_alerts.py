"""What needs a person calls one: once when it begins, again while it lasts, and once when it is over."""

import datetime as dt
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core import mail
from django.utils import timezone

from orders.models import CarrierAccount, DatabaseMark, Label, Order
from orders.restoring import marks
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier import outgoing
from shipping_portal.jobs import retention
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.staff import alerting, conditions
from shipping_portal.staff.models import Alert, AlertMessage
from tests import factories
from tests.receiver import Receiver
from tests.table import table
from tracking import webhook_health

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
SECRET = configured.ALERT_WEBHOOK_SECRET


@pytest.fixture
def receiver(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """The address that alerts are sent to; its certificate is trusted."""
    with Receiver(tmp_path) as it:
        monkeypatch.setattr(outgoing, "CA_BUNDLE", it.bundle)
        settings.ALERT_WEBHOOK_URL, settings.ALERT_WEBHOOK_SECRET = f"{it.url}alerts", SECRET
        yield it


@pytest.fixture
def stopped(settings: Any) -> CarrierAccount:
    """The carrier refused the account an hour ago, and two people are written to."""
    settings.ALERT_EMAILS = ["one@ops.example", "two@ops.example"]
    account = factories.account()
    stop(account, timezone.now() - HOUR)
    return account


def stop(account: CarrierAccount, at: dt.datetime | None) -> None:
    CarrierAccount.objects.filter(pk=account.pk).update(stopped_at=at)


def sent() -> list[str]:
    """The subjects of all mails, once a worker has tried everything that is owed."""
    owed = AlertMessage.objects.filter(due_at__isnull=False)
    owed.update(due_at=timezone.now())
    for message in owed.order_by("pk"):
        with suppress(outgoing.Undelivered):
            alerting.work(message.pk)
    return [message.subject for message in mail.outbox]


def look(*minutes: int) -> list[str]:
    """Look so many minutes from now, and send what is owed for it; all subjects so far."""
    for later in minutes:
        alerting.check(timezone.now() + later * MINUTE)
        sent()
    return sent()


@pytest.mark.postgres
def test_an_incident_is_sent_once_repeated_after_the_term_and_cleared_once(stopped: CarrierAccount) -> None:
    look(0, 1, 2, 120, 239, 240)
    stop(stopped, None)
    look(241, 244, 245, 246, 500)
    assert sent() == [
        "[page] Carrier account stopped: 1, oldest 1 hour",
        "[page] Carrier account stopped: 1, oldest 5 hours (again)",
        "[all clear] Carrier account stopped",
    ]
    assert mail.outbox[0].to == ["one@ops.example", "two@ops.example"]
    assert "press Ask the carrier again now" in mail.outbox[0].body
    assert "http://127.0.0.1:8000/admin/orders/carrieraccount/?held=stopped" in mail.outbox[0].body
    assert (Alert.objects.get().closed_at - Alert.objects.get().opened_at) // MINUTE == 245


def test_what_comes_and_goes_within_five_minutes_is_one_incident(stopped: CarrierAccount) -> None:
    for minutes in range(9):
        stop(stopped, timezone.now() - HOUR if minutes % 3 else None)
        look(minutes)
    assert len(sent()) == 1


def test_what_comes_back_after_the_all_clear_is_another_incident(stopped: CarrierAccount) -> None:
    for minutes, at in {0: timezone.now() - HOUR, 1: None, 6: None, 7: timezone.now() - HOUR}.items():
        stop(stopped, at)
        look(minutes)
    assert [subject.partition("]")[0] for subject in sent()] == ["[page", "[all clear", "[page"]


def test_sweepers_side_by_side_or_one_after_the_other_send_one_mail(stopped: CarrierAccount) -> None:
    for sweeper in (Sweep(), Sweep(), Sweep()):
        sweeper._do_chores()
    assert len(sent()) == 1


def test_nobody_is_written_to_where_no_address_is_set(stopped: CarrierAccount, settings: Any) -> None:
    settings.ALERT_EMAILS = []
    alerting.check(timezone.now())
    assert (Alert.objects.count(), AlertMessage.objects.count()) == (1, 0)


@pytest.mark.postgres
def test_the_webhook_is_signed_and_holds_what_the_mail_says(stopped: CarrierAccount, receiver: Receiver) -> None:
    alerting.check(timezone.now())
    (subject,) = sent()
    (request,) = receiver.requests
    seconds, made = (part.partition("=")[2] for part in request.headers["X-Portal-Signature"].split(","))
    expected = hmac.new(SECRET.encode(), f"{seconds}.".encode() + request.body, hashlib.sha256).hexdigest()
    assert (request.method, request.path, made) == ("POST", "/alerts", expected)
    assert abs(int(seconds) - timezone.now().timestamp()) < 60
    content = json.loads(request.body)
    assert content["text"] == subject
    alert = Alert.objects.get()
    facts = {"alert": alert.pk, "name": "carrieraccount-stopped", "state": "opened", "severity": "page", "count": 1}
    assert facts.items() <= content.items()
    assert content["url"] == "http://127.0.0.1:8000/admin/orders/carrieraccount/?held=stopped"


@table("status", [301, 302, 307, 400, 500])
def test_an_answer_other_than_yes_is_tried_again_later_and_no_redirect_is_followed(
    stopped: CarrierAccount, receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.requests = status, []
    alerting.check(timezone.now())
    sent()
    message = AlertMessage.objects.get(channel="webhook")
    assert [request.path for request in receiver.requests] == ["/alerts"]
    assert message.due_at > timezone.now()
    assert (message.tries, message.failures) == (1, 0)


def test_a_receiver_that_stays_away_makes_a_dead_letter_and_the_mail_goes_all_the_same(
    stopped: CarrierAccount, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 503
    alerting.check(timezone.now())
    for _ in range(alerting.MOST_TRIES + 6):
        sent()
    assert len(mail.outbox) == 1
    assert DeadLetter.objects.get().job == "alert"
    assert len(receiver.requests) == alerting.MOST_TRIES + 5
    assert receiver.url not in caplog.text
    line = next(line for line in caplog.records if line.message == "alert_undelivered")
    assert line.why == "the receiver answered 503"


def test_a_certificate_nobody_vouches_for_is_sent_nothing(
    stopped: CarrierAccount, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outgoing, "CA_BUNDLE", None)
    alerting.check(timezone.now())
    sent()
    assert receiver.requests == []
    assert [line.why for line in caplog.records if line.message == "alert_undelivered"] == [
        "the receiver's certificate was not accepted"
    ]


# -- Where nothing is sent -----------------------------------------------------------------------


def test_an_installation_sends_nothing_to_its_own_machine_or_network(
    receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """By the address the name led to, whatever the name is: the receiver is reached, and told nothing."""
    settings.TESTING, settings.HEARTBEAT_URL = False, receiver.url
    alerting.look(timezone.now())
    assert receiver.requests == []
    assert [line.why for line in caplog.records if line.message == "heartbeat_undelivered"] == [
        "the receiver is not on a public network"
    ]


@table(
    "url",
    [
        "http://alerts.example/",
        "https://user:secret@alerts.example/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://alerts.example\\@127.0.0.1/",
        "file:///etc/passwd",
        "alerts.example",
    ],
)
def test_an_address_that_is_not_plain_https_elsewhere_is_none(url: str) -> None:
    assert not outgoing.is_address(url)


@table("url", ["https://alerts.example/a?b=c", "https://alerts.example:8443/", "https://203.0.113.9/"])
def test_any_other_https_address_is_one(url: str) -> None:
    assert outgoing.is_address(url)


@table("url", ["http://127.0.0.1:9/", "file:///etc/passwd", ""])
def test_nothing_is_sent_without_tls(url: str) -> None:
    with pytest.raises(outgoing.Undelivered, match="not https"):
        outgoing.send(url, user_agent="-", is_public=False)


# -- The heartbeat -------------------------------------------------------------------------------


def test_the_sweep_asks_the_heartbeats_address_each_minute(receiver: Receiver, settings: Any) -> None:
    settings.HEARTBEAT_URL = f"{receiver.url}beat"
    sweep = Sweep()
    sweep._do_chores()
    sweep._do_chores()
    assert [(request.method, request.path) for request in receiver.requests] == [("GET", "/beat")]
    sweep.chore_due_at["alerts"] -= MINUTE
    sweep._do_chores()
    assert len(receiver.requests) == 2


def test_a_heartbeat_nobody_takes_is_logged_and_the_sweep_goes_on(
    receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.HEARTBEAT_URL, receiver.status = f"{receiver.url}beat", 500
    caplog.set_level(logging.WARNING)
    Sweep()._do_chores()
    assert [line.message for line in caplog.records] == ["heartbeat_undelivered"]
    assert receiver.url not in caplog.text


def test_there_is_no_heartbeat_when_the_alerts_could_not_be_looked_at(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBEAT_URL = receiver.url
    monkeypatch.setattr(conditions, "present", lambda now: 1 / 0)
    Sweep()._do_chores()
    assert receiver.requests == []


# -- What calls ----------------------------------------------------------------------------------


def named(now: dt.datetime) -> dict[str, str]:
    return {one.name: str(one.severity) for one in conditions.present(now)}


def test_a_queue_calls_from_its_term_on_and_wakes_somebody_where_that_is_hours(quill: Sender, alice: User) -> None:
    now = timezone.now()
    unclear = factories.order(quill, alice, status="unconfirmed")
    Order.objects.filter(pk=unclear.pk).update(created_at=now - 119 * MINUTE)
    Sender.objects.filter(pk=quill.pk).update(approved_at=None, created_at=now - 23 * HOUR)
    assert named(now) == {}
    assert named(now + MINUTE) == {"order-unconfirmed": "page"}
    assert named(now + HOUR) == {"order-unconfirmed": "page", "sender-waiting": "ticket"}


def test_work_that_nobody_does_calls_after_five_minutes(quill: Sender, alice: User) -> None:
    now = timezone.now()
    factories.order(quill, alice, status="booking", due_at=now - 5 * MINUTE)
    factories.order(quill, alice, status="booking", due_at=now)
    assert "jobs-late" not in named(now - MINUTE)
    (late,) = [one for one in conditions.present(now) if one.name == "jobs-late"]
    assert (late.count, late.oldest, late.severity) == (2, now - 5 * MINUTE, "page")


def test_a_carrier_that_answers_no_booking_calls(db: None) -> None:
    now = timezone.now()
    account = factories.account()
    CarrierAccount.objects.filter(pk=account.pk).update(resting_until=now + MINUTE)
    assert named(now) == {"carrier-silent": "page"}
    assert named(now + 60 * MINUTE) == {"carrier-silent": "page"}
    assert named(now + 61 * MINUTE) == {}
    account.refresh_from_db()
    account.note_answer()
    assert named(now) == {}


def test_webhooks_that_get_lost_call(quill: Sender, alice: User) -> None:
    now = timezone.now()
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for number in range(webhook_health.ALARM):
        assert "webhook-gap" not in named(now)
        factories.event(parcel, source="poll", received_at=now, description=str(number))
    assert named(now)["webhook-gap"] == "ticket"


def test_an_open_gap_of_a_restore_calls(db: None) -> None:
    now = timezone.now()
    restore = factories.restore(backup_at=now - HOUR)
    assert named(now)["restore-gap"] == "page"
    type(restore).objects.update(lifted_at=now)
    assert "restore-gap" not in named(now)


@pytest.mark.postgres
def test_a_label_store_over_its_quota_calls(quill: Sender, alice: User, settings: Any) -> None:
    factories.stored_label(factories.order(quill, alice, status="booked"))
    assert "label-store" not in named(timezone.now())
    settings.LABEL_STORE_GB = 1e-9
    assert named(timezone.now())["label-store"] == "ticket"
    assert Label.objects.exists()


def test_a_backup_that_is_too_old_calls(settings: Any, tmp_path: Path) -> None:
    now = timezone.now().replace(microsecond=0)
    DatabaseMark.objects.update_or_create(pk=1, defaults={"stamp": ""})
    assert marks.last_backup_at() is None
    settings.RESTORE_MARK_FILE = str(tmp_path / "stamp")
    marks.renew(now=now)
    assert marks.last_backup_at() == now
    assert "backup-old" not in named(now + 26 * HOUR)
    assert named(now + 26 * HOUR + MINUTE)["backup-old"] == "ticket"


def test_no_message_names_a_person_or_a_parcel(quill: Sender, alice: User, settings: Any, carrier: Any) -> None:
    settings.ALERT_EMAILS = ["one@ops.example"]
    now = timezone.now()
    order = factories.order(quill, alice, status="unconfirmed", due_at=now - HOUR)
    Order.objects.filter(pk=order.pk).update(created_at=now - 9 * HOUR)
    Sender.objects.filter(pk=quill.pk).update(approved_at=None, created_at=now - 99 * HOUR)
    alerting.check(now)
    assert len(sent()) >= 3
    everything = "".join(str(message.message()) for message in mail.outbox)
    for private in (order.receiver_name, order.receiver_email, str(order.uuid), quill.name, alice.email):
        assert private not in everything


def test_an_incident_of_three_months_ago_is_deleted_with_its_messages(stopped: CarrierAccount) -> None:
    now = timezone.now()
    look(0)
    stop(stopped, None)
    look(60)
    retention.purge(now + HOUR + alerting.KEPT)
    assert Alert.objects.count() == 1
    retention.purge(now + 2 * HOUR + alerting.KEPT)
    assert (Alert.objects.count(), AlertMessage.objects.count()) == (0, 0)
