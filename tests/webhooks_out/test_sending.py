"""What an endpoint gets: signed events in order, each repeated until it is accepted; and what happens if it isn't."""

import datetime as dt
import itertools
import json
import os
import shutil
import subprocess
import threading
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from shipping_portal.accounts.models import Audit, Notification, Sender, User, WebhookEndpoint, WebhookEvent
from shipping_portal.accounts.webhooks import endpoints, sending, switching
from shipping_portal.accounts.webhooks.events import Happened, write
from shipping_portal.jobs.registry import NotYet
from tests import factories
from tests.webhooks_out.conftest import make_due, send_due
from tests.webhooks_out.shop import Delivery, Shop

pytestmark = pytest.mark.django_db
State = WebhookEvent.State


def states(endpoint: WebhookEndpoint) -> list[str]:
    return list(endpoint.events.order_by("pk").values_list("state", flat=True))


def ids(shop: Shop) -> list[str]:
    return [one.headers["webhook-id"] for one in shop.deliveries]


def happened(about: str, number: int) -> Happened:
    return Happened("tracking.changed", about, timezone.now(), {"number": number})


def test_a_delivery_passes_the_standard_webhooks_verification(endpoint: WebhookEndpoint, shop: Shop) -> None:
    write([endpoint], [Happened("order.booked", "a", timezone.now(), {"id": "é"})], timezone.now())
    send_due(endpoint)
    (got,) = shop.deliveries
    content = Webhook(endpoint.text).verify(got.body, got.headers)
    assert (content["type"], content["data"]) == ("order.booked", {"id": "é"})
    assert dt.datetime.fromisoformat(content["timestamp"]).tzinfo
    assert got.headers["content-type"] == "application/json"
    row = endpoint.events.get()
    assert (row.state, row.reply_status, row.tries, row.due_at) == (State.DELIVERED, 204, 1, None)
    assert got.headers["webhook-id"] == f"msg_{row.uuid.hex}"
    for changed in (got.body + b" ", got.body.replace(b"booked", b"robbed")):
        with pytest.raises(WebhookVerificationError):
            Webhook(endpoint.text).verify(changed, got.headers)


JAVASCRIPT = """
const { Webhook } = require("standardwebhooks");
const { secret, body, headers } = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(new Webhook(secret).verify(body, headers)));
"""


def javascript(program: str, given: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shutil.which("node") or "node", "-e", program], input=json.dumps(given), capture_output=True, text=True,
        env=dict(os.environ), check=False,
    )  # fmt: skip


def test_the_javascript_library_verifies_it_too(endpoint: WebhookEndpoint, shop: Shop) -> None:
    """It needs node, and the package in NODE_PATH."""
    if not shutil.which("node") or javascript('require("standardwebhooks")', {}).returncode:
        pytest.skip("standardwebhooks of npm is not in NODE_PATH")
    write([endpoint], [happened("a", 1)], timezone.now())
    send_due(endpoint)
    (got,) = shop.deliveries
    given = {"secret": endpoint.text, "body": got.body.decode(), "headers": got.headers}
    assert json.loads(javascript(JAVASCRIPT, given).stdout) == got.content
    assert javascript(JAVASCRIPT, {**given, "body": "{}"}).returncode


def test_both_secrets_sign_until_the_old_one_ends(endpoint: WebhookEndpoint, shop: Shop, alice: User) -> None:
    old, now = endpoint.text, timezone.now()
    new = endpoints.rotate(endpoint, by=alice, now=now)
    write([endpoint], [happened("a", 1)], now)
    send_due(endpoint)
    for secret in (old, new):
        Webhook(secret).verify(shop.deliveries[0].body, shop.deliveries[0].headers)
    WebhookEndpoint.objects.update(old_secret_ends_at=now)
    write([endpoint], [happened("a", 2)], now)
    send_due(endpoint)
    Webhook(new).verify(shop.deliveries[1].body, shop.deliveries[1].headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(shop.deliveries[1].body, shop.deliveries[1].headers)
    assert dt.timedelta(hours=24) == endpoints.BOTH_VALID


def test_a_second_rotation_ends_the_first_secret(endpoint: WebhookEndpoint, shop: Shop, alice: User) -> None:
    for _ in range(2):
        endpoints.rotate(endpoint, by=alice, now=timezone.now())
    write([endpoint], [happened("a", 1)], timezone.now())
    send_due(endpoint)
    with pytest.raises(WebhookVerificationError):
        Webhook(endpoint.text).verify(shop.deliveries[0].body, shop.deliveries[0].headers)


def test_many_events_are_sent_over_one_connection_in_order(endpoint: WebhookEndpoint, shop: Shop) -> None:
    made = write([endpoint], [happened("a", number) for number in range(250)], timezone.now())
    send_due(endpoint)
    assert [one.content["data"]["number"] for one in shop.deliveries] == list(range(250))
    assert ids(shop) == [f"msg_{event.uuid.hex}" for event in made]
    assert shop.connections == 1


def test_a_parcels_events_wait_for_the_one_that_failed_and_others_go_on(endpoint: WebhookEndpoint, shop: Shop) -> None:
    order = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
    write([endpoint], [happened(about, number) for about, number in order], timezone.now())
    broken = {"a"}
    about_of = {event.uuid.hex: event.about for event in endpoint.events.all()}

    def answer(delivery: Delivery) -> tuple[int, bytes]:
        return (500 if about_of[delivery.headers["webhook-id"][4:]] in broken else 200), b""

    def taken() -> list[tuple[str, int]]:
        rows = endpoint.events.filter(state=State.DELIVERED).order_by("done_at", "pk")
        return [(row.about, json.loads(row.body)["data"]["number"]) for row in rows]

    shop.answer = answer
    send_due(endpoint)
    assert taken() == []
    first = endpoint.events.earliest("pk")
    endpoint.refresh_from_db()
    assert first.due_at
    assert first.due_at >= endpoint.held_until > timezone.now()
    past = timezone.now() - dt.timedelta(seconds=1)
    endpoint.events.exclude(pk=first.pk).update(due_at=past)
    send_due(endpoint)
    assert taken() == [("b", 1), ("b", 2)]
    broken.clear()
    make_due(endpoint)
    send_due(endpoint)
    assert taken() == [("b", 1), ("b", 2), ("a", 1), ("a", 2), ("a", 3)]


def test_an_event_after_a_failed_one_waits_just_as_long(endpoint: WebhookEndpoint, shop: Shop) -> None:
    now = timezone.now()
    failed = factories.webhook_event(endpoint, due_at=now + dt.timedelta(minutes=7))
    behind = factories.webhook_event(endpoint)
    sending.send_due_events(behind.pk)
    behind.refresh_from_db()
    assert behind.due_at == failed.due_at
    assert shop.deliveries == []


def test_a_failure_delays_only_its_own_endpoint(
    quill: Sender, alice: User, endpoint: WebhookEndpoint, shop: Shop
) -> None:
    """The dead endpoint is tried once per wait, however many events are due."""
    dead = factories.webhook_endpoint(quill, alice, url="http://127.0.0.1:9/")
    write([dead, endpoint], [happened(str(number), number) for number in range(50)], timezone.now())
    send_due(dead)
    assert sorted(dead.events.values_list("tries", flat=True)) == [0] * 49 + [1]
    failed = dead.events.get(tries=1)
    assert (failed.reply_status, failed.reply) == (None, "the receiver refused the connection")
    assert not dead.events.filter(due_at__lte=timezone.now()).exists()
    send_due(endpoint)
    assert set(states(endpoint)) == {State.DELIVERED}
    later = write([dead], [happened("z", 1)], timezone.now())
    dead.refresh_from_db()
    write([dead], [happened("z", 1)], timezone.now())
    assert dead.events.latest("pk").due_at == dead.held_until
    assert later


def test_waits_grow_to_an_hour(endpoint: WebhookEndpoint, shop: Shop) -> None:
    shop.answer = lambda delivery: (503, b"")
    write([endpoint], [happened("a", 1)], timezone.now())
    waits = []
    for _ in range(14):
        make_due(endpoint)
        send_due(endpoint)
        endpoint.refresh_from_db()
        waits.append((endpoint.held_until - timezone.now()).total_seconds())
    assert waits[0] <= 5
    assert 300 < max(waits[10:]) <= 3600
    assert endpoint.failures == 14


@pytest.mark.parametrize(
    ("status", "said", "least", "most"),
    [
        (429, "120", 120, 120),
        (503, "120", 120, 120),
        (429, "Sun, 29 Nov 2026 10:05:00 GMT", 300, 300),
        (429, "999999999", 3600, 3600),
        (429, "1", 1, 5),
        (429, "-5", 0, 5),
        (429, "soon", 0, 5),
    ],
)
def test_a_receiver_may_ask_for_a_longer_wait_of_up_to_an_hour(
    endpoint: WebhookEndpoint, shop: Shop, status: int, said: str, least: int, most: int
) -> None:
    shop.answer, shop.headers = lambda delivery: (status, b""), {"Retry-After": said}
    with time_machine.travel(dt.datetime(2026, 11, 29, 10, 0, tzinfo=dt.UTC), tick=False):
        event, later = write([endpoint], [happened("a", 1), happened("b", 2)], timezone.now())
        send_due(endpoint)
        endpoint.refresh_from_db()
        for row in (event, later):
            row.refresh_from_db()
        waits = [(at - timezone.now()).total_seconds() for at in (endpoint.held_until, event.due_at, later.due_at)]
    assert len(shop.deliveries) == 1
    assert least <= min(waits)
    assert max(waits) <= most


def test_a_day_of_downtime_loses_nothing_and_keeps_the_order(
    endpoint: WebhookEndpoint, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a simulated day events keep coming, and the receiver is down until the evening."""
    monkeypatch.setattr("random.uniform", lambda least, most: (least + most) / 2)  # many short waits are more tries
    began, is_up = timezone.now(), False
    shop.answer = lambda delivery: (200 if is_up else 502, b"")
    numbers = itertools.count()
    for minutes in range(0, 24 * 60, 20):
        is_up = minutes >= 20 * 60
        with time_machine.travel(began + dt.timedelta(minutes=minutes), tick=False):
            endpoint.refresh_from_db()
            write([endpoint], [happened(about, next(numbers)) for about in "ab"], timezone.now())
            send_due(endpoint)
    with time_machine.travel(began + dt.timedelta(days=1), tick=False):
        send_due(endpoint)
    assert set(states(endpoint)) == {State.DELIVERED}
    endpoint.refresh_from_db()
    assert (endpoint.failing_since, endpoint.failures) == (None, 0)
    rows = endpoint.events.order_by("done_at", "pk")
    for about in "ab":
        got = [json.loads(row.body)["data"]["number"] for row in rows if row.about == about]
        assert got == sorted(got)
        assert len(got) == 72
    assert len(shop.deliveries) - 144 <= 40, "tries while it was down"


def test_an_endpoint_that_fails_for_days_is_switched_off_and_its_owners_know(
    endpoint: WebhookEndpoint, shop: Shop, alice: User, ana: User, quill: Sender
) -> None:
    shop.answer = lambda delivery: (500, b"")
    began = timezone.now()
    for days in (0, 3.9, 4.1):
        with time_machine.travel(began + dt.timedelta(days=days), tick=False):
            write([endpoint], [happened("a", 1)], timezone.now())
            make_due(endpoint)
            send_due(endpoint)
            endpoint.refresh_from_db()
    assert endpoint.off_why == "nothing was delivered for 4 days"
    assert endpoint.paused_at
    quill.refresh_from_db()
    assert not quill.has_webhooks
    note = Notification.objects.get()
    assert (note.user, note.kind, note.path) == (alice, "webhook", "/settings/webhooks/")
    assert "We stopped sending events" in note.line
    assert Audit.objects.filter(action="webhook endpoint switched off", actor=None, sender=quill).exists()


def test_only_the_event_that_is_never_accepted_is_given_up(
    endpoint: WebhookEndpoint, shop: Shop, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sending, "FEWEST_TRIES", 3)
    began = timezone.now()
    bad, good, behind = write([endpoint], [happened(a, n) for a, n in (("a", 1), ("b", 1), ("a", 2))], began)
    shop.answer = lambda delivery: (500 if bad.uuid.hex in delivery.headers["webhook-id"] else 200, b"")
    for days in (0, 2, 4.1):
        with time_machine.travel(began + dt.timedelta(days=days), tick=False):
            make_due(endpoint)
            send_due(endpoint)
            endpoint.refresh_from_db()
            if days == 2:
                write([endpoint], [happened("c", 1)], timezone.now())
                WebhookEvent.objects.exclude(pk=bad.pk).filter(about="a").update(due_at=timezone.now())
                endpoint.events.exclude(about="a").update(due_at=timezone.now())
                send_due(endpoint)
    bad.refresh_from_db()
    assert (bad.state, bad.tries, bad.due_at) == (State.GIVEN_UP, 3, None)
    assert endpoint.off_why == ""
    with time_machine.travel(began + dt.timedelta(days=4.2), tick=False):
        make_due(endpoint)
        send_due(endpoint)
    assert states(endpoint) == [State.GIVEN_UP, State.DELIVERED, State.DELIVERED, State.DELIVERED]
    assert good
    assert behind


def test_old_events_of_a_resumed_endpoint_are_not_given_up_at_the_first_failure(
    endpoint: WebhookEndpoint, shop: Shop, alice: User
) -> None:
    """It was down for a week, and its program isn't quite ready when its owner presses Resume."""
    now = timezone.now()
    for number in range(3):
        factories.webhook_event(endpoint, happened_at=now - dt.timedelta(days=7), about=str(number), due_at=None)
    switching.switch_off(endpoint, "nothing was delivered for 4 days", now)
    switching.resume_endpoint(endpoint, by=alice, now=now)
    shop.answer = lambda delivery: (503 if len(shop.deliveries) <= 3 else 200, b"")
    for _ in range(4):
        make_due(endpoint)
        send_due(endpoint)
    assert states(endpoint) == [State.DELIVERED] * 3


def test_a_test_event_that_is_accepted_ends_the_wait_of_the_others(endpoint: WebhookEndpoint, shop: Shop) -> None:
    """They waited for up to an hour, which is over once the receiver works again."""
    now = timezone.now()
    until = now + dt.timedelta(hours=1)
    WebhookEndpoint.objects.update(failing_since=now, failures=12, held_until=until)
    held = factories.webhook_event(endpoint, due_at=until)
    poor = factories.webhook_event(endpoint, due_at=until + dt.timedelta(minutes=5), about="poor")
    # Its own wait happens to end with the endpoint's; it failed, so it keeps it.
    refused = factories.webhook_event(endpoint, due_at=until, about="refused", tries=1)
    endpoint.refresh_from_db()
    endpoints.send_test(endpoint, now=now)
    send_due(endpoint)
    assert states(endpoint) == [State.DELIVERED, State.WAITING, State.WAITING, State.DELIVERED]
    refused.refresh_from_db()
    assert refused.due_at == until
    endpoint.refresh_from_db()
    assert (endpoint.failing_since, endpoint.held_until) == (None, None)
    assert held.pk < poor.pk


def test_a_410_switches_the_endpoint_off_at_once(endpoint: WebhookEndpoint, shop: Shop) -> None:
    shop.answer = lambda delivery: (410, b"")
    write([endpoint], [happened("a", 1)], timezone.now())
    send_due(endpoint)
    endpoint.refresh_from_db()
    assert endpoint.off_why == "it answered 410, Gone"
    assert states(endpoint) == [State.WAITING]


def test_a_redirect_is_a_failure_and_is_not_followed(endpoint: WebhookEndpoint, shop: Shop) -> None:
    shop.answer = lambda delivery: (307, b"")
    write([endpoint], [happened("a", 1)], timezone.now())
    send_due(endpoint)
    assert [one.path for one in shop.deliveries] == ["/"]
    assert endpoint.events.get().reply_status == 307


def test_at_most_500_plain_characters_of_a_reply_are_kept(endpoint: WebhookEndpoint, shop: Shop) -> None:
    shop.answer = lambda delivery: (400, b"<b>no</b>\x00\r\n\xff\x1b[31m" + b"x" * 3000)
    write([endpoint], [happened("a", 1)], timezone.now())
    send_due(endpoint)
    reply = endpoint.events.get().reply
    assert len(reply) == 500
    assert reply.startswith("<b>no</b> \ufffd [31mx")
    shop.answer = lambda delivery: (200, b"thanks")
    make_due(endpoint)
    send_due(endpoint)
    assert endpoint.events.get().reply == ""


def test_a_paused_endpoint_gets_its_waiting_events_once_it_is_resumed(
    endpoint: WebhookEndpoint, shop: Shop, alice: User
) -> None:
    switching.pause_endpoint(endpoint, by=alice, now=timezone.now())
    write([endpoint], [happened("a", 1), happened("a", 2)], timezone.now())
    send_due(endpoint)
    assert list(endpoint.events.values_list("due_at", flat=True)) == [None, None]
    switching.resume_endpoint(endpoint, by=alice, now=timezone.now())
    send_due(endpoint)
    assert [one.content["data"]["number"] for one in shop.deliveries] == [1, 2]
    actions = Audit.objects.filter(sender=endpoint.sender).values_list("action", flat=True)
    assert list(actions.order_by("pk")) == ["webhook endpoint paused", "webhook endpoint resumed"]


def test_one_worker_at_a_time_sends_to_an_endpoint(endpoint: WebhookEndpoint, shop: Shop) -> None:
    event = factories.webhook_event(endpoint)
    busy = timezone.now() + dt.timedelta(seconds=30)
    WebhookEndpoint.objects.update(busy_until=busy)
    send_due(endpoint)
    assert shop.deliveries == []
    event.refresh_from_db()
    assert event.due_at
    assert event.due_at <= timezone.now()
    WebhookEndpoint.objects.update(busy_until=timezone.now())
    send_due(endpoint)
    assert len(shop.deliveries) == 1
    assert WebhookEndpoint.objects.get().busy_until is None


def test_slow_receivers_never_take_all_threads(endpoint: WebhookEndpoint, shop: Shop, monkeypatch: Any) -> None:
    full = threading.BoundedSemaphore(1)
    full.acquire()
    monkeypatch.setattr(sending, "_turns", full)
    event, now = factories.webhook_event(endpoint), timezone.now()
    with pytest.raises(NotYet):
        sending.send_due_events.work(event)
    send_due(endpoint)
    event.refresh_from_db()
    assert shop.deliveries == []
    assert now < event.due_at < now + dt.timedelta(seconds=5)
    assert (event.tries, event.failures) == (0, 0)
    assert sending.AT_ONCE == 4


def test_a_slow_receiver_gets_only_one_turn(endpoint: WebhookEndpoint, shop: Shop, monkeypatch: Any) -> None:
    monkeypatch.setattr(sending, "TURN_SECONDS", 0.1)

    def answer(delivery: Delivery) -> tuple[int, bytes]:
        threading.Event().wait(0.06)
        return 200, b""

    shop.answer = answer
    write([endpoint], [happened("a", number) for number in range(20)], timezone.now())
    send_due(endpoint)
    assert len(shop.deliveries) < 5
    delivered = endpoint.events.filter(state=State.DELIVERED).count()
    assert delivered == len(shop.deliveries)


def test_an_endpoint_that_found_no_place_comes_before_the_rest_of_a_slow_one(
    endpoint: WebhookEndpoint, shop: Shop, bob: User, monkeypatch: Any
) -> None:
    """Otherwise four slow receivers would take every place again at once, for as long as they have events."""
    published: list[dt.datetime | None] = []
    monkeypatch.setattr(sending, "_turns", threading.BoundedSemaphore(1))
    monkeypatch.setattr(sending, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(sending, "publish_task", lambda task, pk, at=None: published.append(at))
    quick = factories.webhook_event(factories.webhook_endpoint(bob.membership.sender, bob, url=shop.url + "quick"))
    send, was_due_at = sending._send, quick.due_at

    def slowly(*what: Any) -> tuple[int | None, str]:
        threading.Event().wait(0.15)
        if quick.due_at == was_due_at:  # it looks for a place once
            sending.send_due_events(quick.pk)  # all places are taken
            quick.refresh_from_db()
        return send(*what)

    monkeypatch.setattr(sending, "_send", slowly)
    write([endpoint], [happened("a", number) for number in range(3)], timezone.now())
    send_due(endpoint)
    quick.refresh_from_db()
    (rest_at,) = published
    assert rest_at is not None
    assert was_due_at < quick.due_at < rest_at
    send_due(endpoint)
    assert published[1:] == [None]  # nobody waits now


def test_one_event_or_all_since_a_time_are_repeated_with_their_ids(endpoint: WebhookEndpoint, shop: Shop) -> None:
    now = timezone.now()
    old = factories.webhook_event(endpoint, happened_at=now - dt.timedelta(days=2), about="old")
    new = factories.webhook_event(endpoint, about="new")
    send_due(endpoint)
    assert endpoints.repeat(endpoint, now=now, pk=old.pk) == 1
    send_due(endpoint)
    assert endpoints.repeat(endpoint, now=now, happened_at__gte=now - dt.timedelta(days=1)) == 1
    send_due(endpoint)
    assert ids(shop) == [f"msg_{event.uuid.hex}" for event in (old, new, old, new)]
    assert endpoints.repeat(endpoint, now=now, pk=0) == 0


def test_an_endpoint_may_be_removed_while_its_first_success_is_recorded(
    endpoint: WebhookEndpoint, shop: Shop, alice: User, monkeypatch: Any
) -> None:
    factories.webhook_event(endpoint)
    WebhookEndpoint.objects.update(failing_since=timezone.now(), failures=3)
    send = sending._send

    def removed_meanwhile(*what: Any) -> tuple[int | None, str]:
        reply = send(*what)
        endpoints.remove_endpoint(endpoint, by=alice, now=timezone.now())
        return reply

    monkeypatch.setattr(sending, "_send", removed_meanwhile)
    send_due(endpoint)
    assert len(shop.deliveries) == 1


def test_a_removed_endpoint_gets_nothing_more(endpoint: WebhookEndpoint, shop: Shop, alice: User) -> None:
    event = factories.webhook_event(endpoint)
    endpoints.remove_endpoint(endpoint, by=alice, now=timezone.now())
    sending.send_due_events(event.pk)
    assert shop.deliveries == []
    assert not WebhookEvent.objects.exists()
