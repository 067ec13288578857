"""A problem that needs a person sends an alert: when it starts, again while it lasts, and when it is over."""

import datetime as dt
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured
from django.core import mail
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from orders import queues
from orders.calling import gateway
from orders.models import CancelAttempt, CarrierAccount, CarrierCall, DailySpend, DatabaseMark, Label, Order, Restore
from orders.restoring import marks
from orders.status.transitions import move_to
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.carrier import outgoing
from shipping_portal.jobs import retention
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.jobs.sweep import Sweep
from shipping_portal.staff.alerts import alerting, certificates, conditions
from shipping_portal.staff.models import Alert, AlertMessage, Certificate
from shipping_portal.staff.queues import waiting_queues
from shipping_portal.staff.restores import fencing, restoring
from tests import factories, older
from tests.receiver import Receiver
from tracking.models import Parcel
from tracking.receiving import webhook_health

pytestmark = pytest.mark.django_db

MINUTE, HOUR = dt.timedelta(minutes=1), dt.timedelta(hours=1)
ODD_SPELLINGS_OF_THIS_MACHINE = (
    *("127.0.0.1", "127.1", "0x7f.1", "2130706433", "0", "localhost", "[::1]", "[::ffff:127.0.0.1]"),
)
OUR_NETWORK = ("10.0.0.7", "172.16.3.4", "192.168.1.9", "[fd00::7]")
SECRET = configured.ALERT_WEBHOOK_SECRET


@pytest.fixture
def receiver(tmp_path: Path, settings: Any) -> Iterator[Receiver]:
    """The URL that alerts are sent to; its certificate is trusted."""
    with Receiver(tmp_path) as it:
        settings.ALERT_PRIVATE_HOSTS, settings.ALERT_CA_BUNDLE = ["127.0.0.1"], it.bundle
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
    """Return the subjects of all emails, once a worker has tried everything that is due."""
    due = AlertMessage.objects.filter(due_at__isnull=False)
    due.update(due_at=timezone.now())
    for message in due.order_by("pk"):
        with suppress(outgoing.Undelivered):
            alerting.send_due_message(message.pk)
    return [message.subject for message in mail.outbox]


def look(*minutes: int) -> list[str]:
    """Check conditions this many minutes from now, and send the messages; return all subjects so far."""
    for later in minutes:
        alerting.check_conditions(timezone.now() + later * MINUTE)
        sent()
    return sent()


@pytest.mark.postgres
def test_an_incident_is_sent_once_repeated_later_and_cleared_once(stopped: CarrierAccount) -> None:
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


@pytest.mark.parametrize(("repeat_hours", "mails"), [(4, [1, 1, 2, 2, 3]), (30, [1, 1, 1, 2, 2])])
def test_a_ticket_is_repeated_once_a_day_at_most(settings: Any, repeat_hours: float, mails: list[int]) -> None:
    """Nobody can end a ticket about a scan of an unknown reference, so every four hours would be noise."""
    settings.ALERT_EMAILS, settings.ALERT_REPEAT_HOURS = ["one@ops.example"], repeat_hours
    factories.parcel(reference="SNOBODY001", last_scan_at=timezone.now())
    Parcel.objects.update(created_at=timezone.now() - 25 * HOUR)
    assert [len(look(60 * hours)) for hours in (0, 23, 24, 47, 48)] == mails
    assert mail.outbox[0].subject == "[ticket] Scans for unknown references: 1, oldest 1 day, 1 hour"


def test_a_problem_that_comes_and_goes_within_five_minutes_is_one_incident(stopped: CarrierAccount) -> None:
    for minutes in range(9):
        stop(stopped, timezone.now() - HOUR if minutes % 3 else None)
        look(minutes)
    assert len(sent()) == 1


def test_a_problem_that_returns_after_the_all_clear_is_a_new_incident(stopped: CarrierAccount) -> None:
    for minutes, at in {0: timezone.now() - HOUR, 1: None, 6: None, 7: timezone.now() - HOUR}.items():
        stop(stopped, at)
        look(minutes)
    assert [subject.partition("]")[0] for subject in sent()] == ["[page", "[all clear", "[page"]


def test_several_sweepers_send_one_email(stopped: CarrierAccount) -> None:
    for sweeper in (Sweep(), Sweep(), Sweep()):
        sweeper._do_chores()
    assert len(sent()) == 1


def test_no_email_is_sent_if_no_address_is_set(stopped: CarrierAccount, settings: Any) -> None:
    settings.ALERT_EMAILS = []
    alerting.check_conditions(timezone.now())
    assert (Alert.objects.count(), AlertMessage.objects.count()) == (1, 0)


@pytest.mark.postgres
def test_the_webhook_is_signed_and_says_the_same_as_the_email(stopped: CarrierAccount, receiver: Receiver) -> None:
    alerting.check_conditions(timezone.now())
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


@pytest.mark.parametrize("status", [301, 302, 307, 400, 500])
def test_a_failed_webhook_is_retried_later_and_no_redirect_is_followed(
    stopped: CarrierAccount, receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.requests = status, []
    alerting.check_conditions(timezone.now())
    sent()
    message = AlertMessage.objects.get(channel="webhook")
    assert [request.path for request in receiver.requests] == ["/alerts"]
    assert message.due_at > timezone.now()
    assert (message.tries, message.failures) == (1, 0)


def test_an_unreachable_receiver_makes_a_dead_letter_and_the_email_is_still_sent(
    stopped: CarrierAccount, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 503
    alerting.check_conditions(timezone.now())
    for _ in range(alerting.MOST_TRIES + 6):
        sent()
    assert len(mail.outbox) == 1
    assert DeadLetter.objects.get().job == "alert"
    assert len(receiver.requests) == alerting.MOST_TRIES + 5
    assert receiver.url not in caplog.text
    line = next(line for line in caplog.records if line.message == "alert_undelivered")
    assert line.why == "the receiver answered 503"


@pytest.mark.parametrize(
    ("name", "value"), [("ALERT_CA_BUNDLE", ""), ("ALERT_PRIVATE_HOSTS", ["alertmanager.internal"])]
)
def test_nothing_is_sent_to_an_untrusted_certificate(
    stopped: CarrierAccount, receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture, name: str, value: Any
) -> None:
    """Our own authority is trusted only for the listed hosts."""
    setattr(settings, name, value)
    alerting.check_conditions(timezone.now())
    sent()
    assert receiver.requests == []
    assert [line.why for line in caplog.records if line.message == "alert_undelivered"] == [
        "the receiver's certificate was not accepted"
    ]


# -- Where nothing is sent -----------------------------------------------------------------------


def test_an_installation_sends_nothing_to_its_own_machine_or_network(
    receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The resolved IP address decides, whatever the name: the receiver is reached but gets nothing."""
    settings.TESTING, settings.HEARTBEAT_URL, settings.ALERT_PRIVATE_HOSTS = False, receiver.url, []
    alerting.update_alerts(timezone.now())
    assert receiver.requests == []
    assert [line.why for line in caplog.records if line.message == "heartbeat_undelivered"] == [
        "the receiver is not on a public network"
    ]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://1.1.1.1/", "isn't a plain https address"),
        ("https://user:secret@1.1.1.1/", "isn't a plain https address"),
        ("https://1.1.1.1\\@127.0.0.1/", "isn't a plain https address"),
        ("file:///etc/passwd", "isn't a plain https address"),
        ("1.1.1.1", "isn't a plain https address"),
        *((f"https://{host}/", "isn't on a public network") for host in ODD_SPELLINGS_OF_THIS_MACHINE),
        *((f"https://{host}/", "isn't on a public network") for host in OUR_NETWORK),
        ("https://169.254.169.254/", "isn't on a public network"),
        ("https://nowhere.invalid/", "has a name that isn't found"),
        (f"https://{'a' * 64}.example/", "has a name that isn't found"),
        ("https://1.1.1.1/a?b=c", ""),
        ("https://1.1.1.1:8443/", ""),
        ("https://[2606:4700:4700::1111]/", ""),
    ],
)
def test_an_address_to_which_no_alert_can_be_sent_says_why(url: str, why: str) -> None:
    assert outgoing.why_unreachable(url) == why


@pytest.mark.parametrize("host", OUR_NETWORK)
def test_a_host_on_our_own_network_is_reached_once_it_is_listed(host: str) -> None:
    listed = [host.strip("[]")]
    assert outgoing.why_unreachable(f"https://{host}/", listed) == ""
    assert outgoing.why_unreachable("https://10.9.9.9/", listed) == "isn't on a public network"


@pytest.mark.parametrize("host", [*ODD_SPELLINGS_OF_THIS_MACHINE, "169.254.169.254", "[fe80::1]"])
def test_our_own_machine_is_never_reached_even_if_listed(host: str) -> None:
    assert outgoing.why_unreachable(f"https://{host}/", [host.strip("[]")]) == "is on this machine"


def test_an_alert_goes_to_a_listed_host_and_to_no_other(settings: Any) -> None:
    """The address actually reached decides, whatever the check found."""
    settings.ALERT_PRIVATE_HOSTS = ["alertmanager.internal"]
    listed = outgoing.reach_of("https://alertmanager.internal:9093/api", settings.ALERT_PRIVATE_HOSTS)
    other = outgoing.reach_of("https://chat.internal/hook", settings.ALERT_PRIVATE_HOSTS)
    reached = ("10.0.0.7", "1.1.1.1", "127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1")  # noqa: S104
    assert [listed(address) for address in reached] == [True, True, False, False, False, False, False]
    assert [other(address) for address in reached] == [False, True, False, False, False, False, False]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "file:///etc/passwd", ""])
def test_nothing_is_sent_without_tls(url: str) -> None:
    with pytest.raises(outgoing.Undelivered, match="not https"):
        outgoing.send(url, user_agent="-")


# -- The heartbeat -------------------------------------------------------------------------------


def test_the_sweep_calls_the_heartbeat_url_each_minute(receiver: Receiver, settings: Any) -> None:
    settings.HEARTBEAT_URL = f"{receiver.url}beat"
    sweep = Sweep()
    sweep._do_chores()
    sweep._do_chores()
    assert [(request.method, request.path) for request in receiver.requests] == [("GET", "/beat")]
    sweep.chore_due_at["alerts"] -= MINUTE
    sweep._do_chores()
    assert len(receiver.requests) == 2


def test_a_failed_heartbeat_is_logged_and_the_sweep_continues(
    receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.HEARTBEAT_URL, receiver.status = f"{receiver.url}beat", 500
    caplog.set_level(logging.WARNING)
    Sweep()._do_chores()
    assert [line.message for line in caplog.records] == ["heartbeat_undelivered"]
    assert receiver.url not in caplog.text


def test_there_is_no_heartbeat_if_the_alerts_could_not_be_checked(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBEAT_URL = receiver.url
    monkeypatch.setattr(conditions, "present_conditions", lambda now: 1 / 0)
    Sweep()._do_chores()
    assert receiver.requests == []


def test_there_is_no_heartbeat_while_nothing_can_be_written(receiver: Receiver, settings: Any) -> None:
    """A full disk or a standby: every check finds nothing wrong."""
    settings.HEARTBEAT_URL = receiver.url
    alerting.update_alerts(timezone.now())
    assert len(receiver.requests) == 1
    read_only = {"sqlite": "PRAGMA query_only = 1", "postgresql": "SET LOCAL transaction_read_only = on"}
    with connection.cursor() as cursor:
        cursor.execute(read_only[connection.vendor])
    try:
        with pytest.raises(DatabaseError), transaction.atomic():
            alerting.update_alerts(timezone.now())
    finally:
        if connection.vendor == "sqlite":
            connection.cursor().execute("PRAGMA query_only = 0")
    assert len(receiver.requests) == 1


# -- What sends an alert ----------------------------------------------------------------------------------


def named(now: dt.datetime) -> dict[str, str]:
    return {one.name: str(one.severity) for one in conditions.present_conditions(now)}


def test_a_queue_alerts_after_its_limit_and_pages_if_that_is_hours(quill: Sender, alice: User) -> None:
    now = timezone.now()
    unclear = factories.order(quill, alice, status="unconfirmed")
    Order.objects.filter(pk=unclear.pk).update(created_at=now - 119 * MINUTE)
    Sender.objects.filter(pk=quill.pk).update(approved_at=None, created_at=now - 23 * HOUR)
    assert named(now) == {}
    assert named(now + MINUTE) == {"order-unconfirmed": "page"}
    assert named(now + HOUR) == {"order-unconfirmed": "page", "sender-waiting": "ticket"}


def test_an_old_order_waits_from_the_moment_it_needs_somebody(quill: Sender, alice: User) -> None:
    """A cancellation of a parcel booked last week has got its four hours, and a refusal alerts nobody."""
    now = timezone.now()
    booked_at = {"created_at": now - 9 * 24 * HOUR}
    cancelled = factories.order(quill, alice, status="booked", **booked_at)
    CancelAttempt.objects.create(order=cancelled, why="not needed", state="unknown", asked_at=now - HOUR)
    move_to(cancelled, "cancelling", reason="-", at=now - HOUR)
    move_to(cancelled, "cancel_unconfirmed", reason="-", at=now)
    refused = factories.order(quill, alice, status="booking", **booked_at)
    move_to(refused, "rejected", reason="-", at=now - HOUR)
    factories.order(quill, alice, status="cancelled", used_after_cancel_at=now - HOUR, **booked_at)
    factories.order(quill, alice, status="booked", progress="pickup_futile", progress_at=now - HOUR, **booked_at)
    found = {queue.name: queue for queue in waiting_queues(now)}
    for name in ("order-cancel-stuck", "order-refused", "order-used-after-cancel", "order-futile"):
        assert (found[name].count, found[name].oldest) == (1, now - HOUR), name
        assert found[name].urgency != "overdue"
    assert [name for name in named(now + 3 * HOUR) if name in found] == ["order-cancel-stuck"]


def test_work_that_nobody_does_alerts_after_five_minutes(quill: Sender, alice: User) -> None:
    now = timezone.now()
    factories.order(quill, alice, status="booking", due_at=now - 5 * MINUTE)
    factories.order(quill, alice, status="booking", due_at=now)
    assert "jobs-late" not in named(now - MINUTE)
    (late,) = [one for one in conditions.present_conditions(now) if one.name == "jobs-late"]
    assert (late.count, late.oldest, late.severity) == (2, now - 5 * MINUTE, "page")


def test_a_carrier_that_replies_to_no_booking_alerts(db: None) -> None:
    now = timezone.now()
    account = factories.account()
    CarrierAccount.objects.filter(pk=account.pk).update(resting_until=now + MINUTE)
    assert named(now) == {"carrier-silent": "page"}
    assert named(now + 60 * MINUTE) == {"carrier-silent": "page"}
    assert named(now + 61 * MINUTE) == {}
    account.refresh_from_db()
    account.note_answer(now)
    assert named(now) == {}


@pytest.mark.parametrize("what", ["", "quotes_"])
def test_a_pause_with_an_end_wakes_nobody_and_one_without_pages(db: None, what: str) -> None:
    """An operator who paused it until the morning has decided, and it resumes by itself."""
    now = timezone.now()
    account = CarrierAccount.objects.filter(pk=factories.account().pk)
    account.update(**{f"{what}paused_at": now - HOUR, _end_of(what): now + 8 * HOUR})
    assert named(now) == {}
    account.update(**{_end_of(what): None})
    assert named(now) == {"carrieraccount-held": "page"}
    account.update(**{f"{what}paused_at": now - 14 * MINUTE})
    assert named(now) == {}


def test_repeats_that_are_off_page_during_a_pause_with_an_end_too(db: None) -> None:
    now = timezone.now()
    ends = {"paused_at": now - HOUR, "pause_ends_at": now + HOUR}
    CarrierAccount.objects.filter(pk=factories.account().pk).update(**ends, replays_off_at=now - HOUR)
    assert named(now) == {"carrieraccount-held": "page"}


def _end_of(what: str) -> str:
    return f"{what}pause_ends_at"


@pytest.mark.parametrize("outcome", ["unknown", "not sent", "account stopped"])
def test_a_carrier_that_gives_no_prices_alerts_although_nobody_can_book(db: None, outcome: str) -> None:
    """Without a price no booking is sent, so no booking shows that the carrier is away or refuses the account."""
    now = timezone.now()
    for ago in range(conditions.MOST_UNPRICED):
        assert "carrier-silent" not in named(now)
        asked("quote", outcome, now - ago * MINUTE)
    (one,) = conditions.present_conditions(now)
    assert (one.name, one.severity, one.count) == ("carrier-silent", "page", 1)
    assert one.oldest == now - (conditions.MOST_UNPRICED - 1) * MINUTE
    assert "nobody can book" in one.next_step
    assert "Five bookings" not in one.next_step
    assert "carrier-silent" not in named(now + HOUR), "since then nobody asked"
    asked("quote", "rejected", now)  # an answer, even if the sender mistyped something
    assert named(now) == {}


def test_one_outage_of_the_carrier_is_one_alert_whatever_it_leaves_unanswered(db: None, settings: Any) -> None:
    """Prices and bookings both fail while the carrier is away, and nobody is paged twice."""
    settings.ALERT_EMAILS = ["ops@ops.example"]
    now, account = timezone.now(), factories.account()
    for ago in range(conditions.MOST_UNPRICED):
        asked("quote", "unknown", now - ago * MINUTE)
    alerting.check_conditions(now)
    CarrierAccount.objects.filter(pk=account.pk).update(resting_until=now + MINUTE)
    alerting.check_conditions(now)
    assert sent() == ["[page] The carrier isn't answering: 1, oldest 4 minutes"]
    (one,) = conditions.present_conditions(now)
    assert "Five bookings" in one.next_step
    assert "nobody can book" in one.next_step


def test_an_account_that_the_carrier_stopped_alerts_once_although_it_gives_no_prices(db: None) -> None:
    now = timezone.now()
    stop(factories.account(), now)
    for ago in range(conditions.MOST_UNPRICED):
        asked("quote", "account stopped", now - ago * MINUTE)
    assert named(now) == {"carrieraccount-stopped": "page"}


# -- A carrier that refuses every booking --------------------------------------------------------


def refused(by: User, ago: dt.timedelta = MINUTE, **fields: Any) -> Order:
    """Create an order that its carrier refused so long ago."""
    of = fields.pop("of", None)
    if of is None:
        of = factories.sender(name=f"Sender {Sender.objects.count()}")
        factories.pickup_address(of, email="ship@sender.example")
    order = factories.order(of, by, status="booking", **fields)
    move_to(order, "rejected", reason="refused: Your contract has ended.", at=timezone.now() - ago, due_at=None)
    return order


def test_a_carrier_that_refuses_every_booking_pages(quill: Sender, alice: User) -> None:
    """Its rule or our contract with it has changed, and each sender looks for a mistake of their own."""
    now = timezone.now()
    refused(alice, 4 * MINUTE, of=quill)
    refused(alice, of=quill)
    refused(alice, of=quill)
    refused(alice)
    assert named(now) == {}
    refused(alice)
    (one,) = conditions.present_conditions(now)
    assert (one.name, one.severity, one.count) == ("all-refused", "page", 5)
    assert MINUTE < now - one.oldest < 5 * MINUTE
    assert "Nothing was charged" in one.next_step
    asked("book", "ok", now - 2 * MINUTE)
    assert named(now) == {}, "only four since the last one it accepted"
    refused(alice)
    assert named(now) == {"all-refused": "page"}


def test_refusals_of_two_senders_are_their_own_mistakes(quill: Sender, alice: User) -> None:
    """Such as a file whose every row has a wrong postcode."""
    for _ in range(20):
        refused(alice, of=quill)
    refused(alice)
    assert named(timezone.now()) == {}


def test_refusals_that_somebody_knows_of_page_nobody_again(quill: Sender, alice: User) -> None:
    now = timezone.now()
    account = CarrierAccount.objects.filter(pk=factories.account().pk)
    for _ in range(5):
        refused(alice)
    account.update(paused_at=now, pause_ends_at=now + HOUR)
    assert named(now) == {}
    account.update(paused_at=None, pause_ends_at=None, stopped_at=now)
    assert named(now) == {"carrieraccount-stopped": "page"}
    account.update(stopped_at=None)
    assert named(now) == {"all-refused": "page"}
    Order.objects.update(problem={"kind": "ours", "text": "The carrier refused how we asked."})
    assert named(now) == {}, "they have a queue of their own, and are over once its fault is corrected"


def test_refusals_of_an_account_without_new_orders_page_nobody(quill: Sender, alice: User) -> None:
    gone = older.unnamed()
    for _ in range(5):
        refused(alice, account=gone)
    assert "all-refused" not in named(timezone.now())


def test_other_calls_and_an_account_without_new_orders_do_not_count_as_missing_prices(db: None) -> None:
    now, gone = timezone.now(), older.unnamed()
    for ago in range(conditions.MOST_UNPRICED):
        asked("track", "unknown", now - ago * MINUTE)
        asked("quote", "unknown", now - ago * MINUTE, gone)
    assert named(now) == {}


def asked(operation: str, outcome: str, at: dt.datetime, of: CarrierAccount | None = None) -> None:
    call = {"operation": operation, "method": "POST", "path": "/x", "milliseconds": 9, "outcome": outcome}
    CarrierCall.objects.create(at=at, account=of or factories.account(), **call)


def test_lost_webhooks_alert(quill: Sender, alice: User) -> None:
    now = timezone.now()
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for number in range(webhook_health.ALARM):
        assert "webhook-gap" not in named(now)
        factories.event(parcel, source="poll", received_at=now, description=str(number))
    assert named(now)["webhook-gap"] == "ticket"


def test_emails_that_do_not_go_out_alert_unless_one_mailbox_alone_refuses(
    quill: Sender, alice: User, ana: User, settings: Any
) -> None:
    """Each is tried again later and later, so none becomes a dead letter, and no job is late."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, now = "127.0.0.1", 9, timezone.now()
    event = {"sender": quill, "kind": "booking", "line": "-", "path": "/", "happened_at": now}
    for person in (alice, ana):
        assert "mail-unsent" not in named(now)
        outbox.notify(outbox.Event(dedupe_key=f"booking:{person.pk}", only=person.pk, **event), now=now)
        mine = Notification.objects.filter(user=person)
        for _ in range(conditions.UNSENT_TRIES):
            assert "mail-unsent" not in named(now)
            mine.update(due_at=timezone.now())
            mailing.send_due_mail(mine.get().pk)
    assert named(now) == {"mail-unsent": "ticket"}
    mine.update(due_at=None, sent_at=now)
    assert named(now) == {}


def test_an_open_restore_gap_alerts(db: None) -> None:
    now = timezone.now()
    restore = factories.restore(backup_at=now - HOUR)
    assert named(now)["restore-gap"] == "page"
    type(restore).objects.update(lifted_at=now)
    assert "restore-gap" not in named(now)


def test_a_pause_by_a_restore_alerts_once_as_the_gap_and_another_alerts_too(db: None) -> None:
    """The pause can't be resumed before the gap is closed, and closing it resumes."""
    now = timezone.now()
    gateway.current_account()
    fencing.fence_database(now - HOUR, now=now)
    assert named(now + HOUR) == {"restore-gap": "page"}
    (held,) = [queue for queue in waiting_queues(now + HOUR) if queue.name == "carrieraccount-held"]
    assert (held.count, held.oldest) == (1, None)
    for why in ("quotes_paused_at", "replays_off_at"):
        CarrierAccount.objects.update(**{why: now})
        assert named(now + HOUR) == {"restore-gap": "page", "carrieraccount-held": "page"}, why
        CarrierAccount.objects.update(**{why: None})
    restoring.lift_gap(Restore.objects.get(), by=factories.user("sam@example.com"), reason="compared", now=now)
    assert named(now + HOUR) == {}


@pytest.mark.postgres
def test_a_label_store_over_its_quota_alerts(quill: Sender, alice: User, settings: Any) -> None:
    factories.stored_label(factories.order(quill, alice, status="booked"))
    assert "label-store" not in named(timezone.now())
    settings.LABEL_STORE_GB = 1e-9
    assert named(timezone.now())["label-store"] == "ticket"
    assert Label.objects.exists()


def test_a_backup_that_is_too_old_alerts(settings: Any, tmp_path: Path) -> None:
    now = timezone.now().replace(microsecond=0)
    DatabaseMark.objects.update_or_create(pk=1, defaults={"stamp": ""})
    assert marks.last_backup_at() is None
    settings.RESTORE_MARK_FILE = str(tmp_path / "stamp")
    marks.renew_mark(now=now)
    assert marks.last_backup_at() == now
    assert "backup-old" not in named(now + 26 * HOUR)
    assert named(now + 26 * HOUR + MINUTE)["backup-old"] == "ticket"


@pytest.mark.parametrize(
    ("days", "name"),
    [
        (dt.timedelta(days=14, seconds=1), {}),
        (dt.timedelta(days=14), {"certificate": "ticket"}),
        (dt.timedelta(days=2, seconds=1), {"certificate": "ticket"}),
        (dt.timedelta(days=2), {"certificate-now": "page"}),
        (-dt.timedelta(days=1), {"certificate-now": "page"}),
    ],
)
def test_a_certificate_alerts_two_weeks_before_it_expires_and_pages_two_days_before(
    db: None, days: dt.timedelta, name: dict[str, str]
) -> None:
    now = timezone.now()
    Certificate.objects.create(server="carrier.example:443", ends_at=now + days, seen_at=now)
    assert named(now) == name
    assert named(now + dt.timedelta(days=3)) == {}, "it is looked at no more: an account that was left"
    Certificate.objects.update(ends_at=now + dt.timedelta(days=90))
    assert named(now) == {}


def test_our_own_certificate_and_the_carriers_are_checked_and_named(
    db: None, tmp_path: Path, receiver: Receiver, settings: Any
) -> None:
    """Who issued it and whether it has expired don't matter here: nothing is sent."""
    now, days = timezone.now(), dt.timedelta(days=1)
    (tmp_path / "other").mkdir()
    with Receiver(tmp_path / "other") as carrier:
        settings.SITE_URL, settings.CARRIER_BASE_URL = receiver.url.rstrip("/"), carrier.url
        certificates.look_at_certificates(now)
        assert carrier.requests == receiver.requests == []
        (one,) = [one for one in conditions.present_conditions(now) if one.name == "certificate-now"]
        assert one.count == 2
        for url in (carrier.url, receiver.url):
            assert urlsplit(url).netloc in one.next_step
    ends = Certificate.objects.values_list("ends_at", flat=True)
    assert all(now + days - HOUR < at < now + days + HOUR for at in ends)


def test_an_unreachable_server_keeps_its_last_check_and_is_logged(
    db: None, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    now = timezone.now()
    settings.SITE_URL = "https://127.0.0.1:9"
    Certificate.objects.create(server="127.0.0.1:9", ends_at=now, seen_at=now - HOUR)
    certificates.look_at_certificates(now)
    assert Certificate.objects.get().seen_at == now - HOUR
    assert [line.server for line in caplog.records if line.message == "certificate_not_seen"] == ["127.0.0.1:9"]


@pytest.mark.parametrize(("spent", "is_near"), [("89.99", False), ("90.00", True), ("100.00", True)])
def test_using_nine_tenths_of_the_daily_limit_alerts(db: None, settings: Any, spent: str, is_near: bool) -> None:
    settings.DAILY_MONEY_LIMIT, now = Decimal(100), timezone.now()
    DailySpend.objects.create(day=now.date(), spent=Decimal(spent))
    assert named(now) == ({"money-near-limit": "ticket"} if is_near else {})
    assert named(now + 36 * HOUR) == {}


@pytest.mark.parametrize(
    ("at", "is_told"),
    [
        ("2026-11-26T10:00:00Z", True),  # the day has started where it starts first
        ("2026-11-28T00:00:00Z", True),
        ("2026-11-28T11:59:59Z", True),  # where it ends last it is the evening of the 27th
        ("2026-11-28T12:00:00Z", False),
    ],
)
def test_a_daily_money_limit_alerts_until_that_day_is_over_everywhere(
    db: None, settings: Any, at: str, is_told: bool
) -> None:
    now, settings.DAILY_MONEY_LIMIT = dt.datetime.fromisoformat(at), Decimal(100)
    day = dt.date(2026, 11, 27)
    DailySpend.objects.create(day=day, spent=Decimal(95), refused_at=now - MINUTE, refused_price=Decimal(9))
    assert ("money-near-limit" in named(now)) is is_told
    assert DailySpend.objects.filter(queues._refused_today(now)).exists() is is_told


def booked(quill: Sender, alice: User, at: dt.datetime) -> Order:
    return factories.order(quill, alice, status="booked", booked_at=at, reserved_on=at.date(), reserved=12, unbilled=12)


def test_a_missing_first_bill_alerts_nine_days_after_the_first_parcel(quill: Sender, alice: User) -> None:
    now = timezone.now()
    booked(quill, alice, now - dt.timedelta(days=9))
    assert "bill-missing" not in named(now - MINUTE)
    assert named(now)["bill-missing"] == "ticket"
    factories.billing_report(uploaded_at=now)
    assert "bill-missing" not in named(now + dt.timedelta(days=8))


def test_a_missing_bill_alerts_while_somebody_books(quill: Sender, alice: User) -> None:
    now, days = timezone.now(), dt.timedelta(days=1)
    factories.billing_report(uploaded_at=now - 12 * days)
    assert "bill-missing" not in named(now), "nobody booked since"
    booked(quill, alice, now - 13 * days)
    assert "bill-missing" not in named(now), "it is older than that report, and in a queue of its own"
    last = booked(quill, alice, now - 10 * days)
    (one,) = [one for one in conditions.present_conditions(now) if one.name == "bill-missing"]
    assert one.oldest == last.booked_at
    Order.objects.filter(pk=last.pk).update(unbilled=0)  # cancelled, or billed
    assert "bill-missing" not in named(now)


def test_a_void_report_does_not_count_as_a_bill(quill: Sender, alice: User) -> None:
    now = timezone.now()
    booked(quill, alice, now - dt.timedelta(days=10))
    factories.billing_report(uploaded_at=now, state="void")
    assert named(now)["bill-missing"] == "ticket"


def test_webhooks_that_never_come_alert_after_six_hours(quill: Sender, alice: User) -> None:
    """Three scans in a day are too few for the one-hour alarm."""
    now = timezone.now()
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for hours in (10, 8, 6):
        assert "webhook-silent" not in named(now)
        factories.event(parcel, source="poll", received_at=now - hours * HOUR, description=str(hours))
    assert named(now)["webhook-silent"] == "ticket"
    assert "webhook-silent" not in named(now - 4 * HOUR - MINUTE), "the first of three was less than six hours ago"
    factories.delivery(received_at=now)
    assert "webhook-silent" not in named(now)


def test_a_webhook_before_the_last_three_scans_does_not_count(quill: Sender, alice: User) -> None:
    now = timezone.now()
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    factories.delivery(received_at=now - 11 * HOUR)
    for hours in (10, 8, 7):
        factories.event(parcel, source="poll", received_at=now - hours * HOUR, description=str(hours))
    assert named(now)["webhook-silent"] == "ticket"
    factories.delivery(received_at=now - 9 * HOUR)
    assert "webhook-silent" not in named(now)


def test_an_unread_polled_scan_does_not_count_as_a_webhook(quill: Sender, alice: User) -> None:
    now = timezone.now()
    parcel = factories.parcel(factories.order(quill, alice, status="booked"))
    for hours in (10, 8, 7):
        factories.event(parcel, source="poll", received_at=now - hours * HOUR, description=str(hours))
    factories.delivery(received_at=now - HOUR, state="quarantined", polled_for=parcel.reference)
    assert named(now)["webhook-silent"] == "ticket"


def test_no_message_names_a_person_or_a_parcel(quill: Sender, alice: User, settings: Any, carrier: Any) -> None:
    settings.ALERT_EMAILS = ["one@ops.example"]
    now = timezone.now()
    order = factories.order(quill, alice, status="unconfirmed", due_at=now - HOUR)
    Order.objects.filter(pk=order.pk).update(created_at=now - 9 * HOUR)
    Sender.objects.filter(pk=quill.pk).update(approved_at=None, created_at=now - 99 * HOUR)
    alerting.check_conditions(now)
    assert len(sent()) >= 3
    everything = "".join(str(message.message()) for message in mail.outbox)
    for private in (order.receiver_name, order.receiver_email, str(order.uuid), quill.name, alice.email):
        assert private not in everything


def test_a_three_month_old_incident_is_deleted_with_its_messages(stopped: CarrierAccount) -> None:
    now = timezone.now()
    look(0)
    stop(stopped, None)
    look(60)
    retention.purge(now + HOUR + alerting.KEPT)
    assert Alert.objects.count() == 1
    retention.purge(now + 2 * HOUR + alerting.KEPT)
    assert (Alert.objects.count(), AlertMessage.objects.count()) == (0, 0)
