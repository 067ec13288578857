"""Polling is the safety net below the webhook. Polled and pushed scans merge, and the carrier is never polled too
often.
"""

import datetime as dt
import json
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from orders.calling import gateway, turns
from orders.calling.contract import contract_of, current_contract
from orders.calling.turns import APART
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.errors import AccountStopped, CarrierError, Crowded, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Tracked
from shipping_portal.carrier.scans import read_scan
from shipping_portal.refused import Refused
from tests import factories
from tests.catalogue.pushing import event
from tests.orders.call_rate import fill
from tests.sandbox_carrier import SandboxCarrier
from tracking import pace, polling, watching
from tracking.models import Parcel, Poll, WebhookDelivery
from tracking.scanning import projecting

pytestmark = pytest.mark.django_db


@pytest.fixture
def parcel(carrier: SandboxCarrier) -> Parcel:
    """A reference the sandbox knows and somebody here watches."""
    carrier.foreign("SFOREIGN7")
    sender = factories.sender(name="Watcher")
    person = factories.user("w@watch.example")
    factories.member(sender, person)
    return watching.follow_reference(sender, "SFOREIGN7", name="", by=person, now=timezone.now()).parcel


def poll(parcel: Parcel) -> Parcel:
    Poll.objects.filter(parcel=parcel).update(due_at=timezone.now())
    polling.poll_due_parcel(parcel.pk)
    parcel.refresh_from_db()
    return parcel


def test_a_reply_resets_the_count_of_tries(parcel: Parcel) -> None:
    Poll.objects.filter(parcel=parcel).update(tries=3)
    assert poll(parcel).poll.tries == 0


def test_polled_scans_are_stored_once_however_often_they_are_polled(parcel: Parcel, carrier: SandboxCarrier) -> None:
    carrier.scan("SFOREIGN7", "Pickup", push=False)
    carrier.scan("SFOREIGN7", "In Transit", push=False)
    for _ in range(3):
        poll(parcel)
    assert parcel.progress == "in_transit"
    assert parcel.events.filter(event_type__in=["Pickup", "In Transit"]).count() == 2


@pytest.mark.parametrize("polled_ids", [True, False])
def test_a_pushed_scan_and_its_polled_copy_are_one(parcel: Parcel, carrier: SandboxCarrier, polled_ids: bool) -> None:
    """They share an id, which interface §2.2 requires, or the kind and time if the poll has no id."""
    carrier.settings(polled_ids=polled_ids)
    event_id = "3f0a3d1c-2f5b-4c60-8a7d-6f0c9b0e5d21"
    when = (timezone.now() - dt.timedelta(hours=1)).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    carrier.scan("SFOREIGN7", "Pickup", push=False, scan_time=when, description="Parcel picked up", event_id=event_id)
    poll(parcel)
    pushed = {
        "carrier_reference": "SFOREIGN7",
        "event_id": event_id,
        "event_type": "Pickup",
        "description": "Parcel picked up",
        "scan_time": when,
    }
    factories.deliver(json.dumps(pushed).encode())
    poll(parcel)
    event = parcel.events.get(event_type="Pickup")
    assert str(event.event_id) == event_id
    assert event.pushed_at
    assert event.polled_at


def test_subscribing_calls_the_carrier_and_returns_the_scans_so_far(parcel: Parcel, carrier: SandboxCarrier) -> None:
    carrier.scan("SFOREIGN7", "Pickup", push=False)
    assert parcel.subscription == "wanted" or parcel.subscription == ""
    poll(parcel)
    assert parcel.progress == "collected"


def test_watching_again_polls_again_without_a_second_subscription(parcel: Parcel, quill: Sender, alice: User) -> None:
    Parcel.objects.update(subscription="refused", subscription_text="No more than one.")
    Poll.objects.update(parked_at=timezone.now(), failures=5, due_at=None)
    again = watching.follow_reference(quill, parcel.reference, name="", by=alice, now=timezone.now()).parcel
    again.refresh_from_db()
    assert (again.subscription, again.subscription_text) == ("refused", "No more than one.")
    assert (again.poll.parked_at, again.poll.failures, again.poll.due_at is None) == (None, 0, False)


def test_an_unknown_reference_is_polled_again(carrier: SandboxCarrier, quill: Sender, alice: User) -> None:
    watched = watching.follow_reference(quill, "SNOBODY1", name="", by=alice, now=timezone.now())
    parcel = poll(watched.parcel)
    assert parcel.poll.tries == 1
    assert parcel.poll.due_at > timezone.now()


@pytest.mark.parametrize(
    ("error", "least", "most"),
    [
        (Rejected(404, text="Unknown reference."), 3600, 3780),
        (NotSent("the carrier asks us to slow down", 2, 429), 3600, 3780),
        (AccountStopped(402, "no payment method"), 3600, 3780),
        (OutcomeUnknown("503"), 6, 60),
        (NotSent("no connection"), 6, 60),
        (Crowded(1.0), 6, 60),
    ],
    ids=repr,
)
def test_a_carrier_that_said_no_is_asked_again_in_an_hour_at_the_earliest(
    parcel: Parcel, monkeypatch: pytest.MonkeyPatch, error: CarrierError, least: int, most: int
) -> None:
    def fail(poll: Poll, client: object) -> None:
        raise error

    monkeypatch.setattr(polling, "_ask_carrier", fail)
    with time_machine.travel(timezone.now(), tick=False):
        wait = (poll(parcel).poll.due_at - timezone.now()).total_seconds()
        assert least <= wait <= most
        # A webhook has said that there is news, so the carrier is asked again soon.
        Poll.objects.update(look_due_at=timezone.now(), tries=0)
        assert 6 <= (poll(parcel).poll.due_at - timezone.now()).total_seconds() <= 60


@pytest.mark.parametrize("story", ["watched 400 days ago", "cancelled 300 days ago"])
def test_polls_that_only_fail_end_after_the_usual_time(
    carrier: SandboxCarrier, quill: Sender, alice: User, story: str
) -> None:
    now = timezone.now()
    if story.startswith("watched"):
        parcel = watching.follow_reference(quill, "SNOBODY1", name="", by=alice, now=now).parcel
        Parcel.objects.update(created_at=now - dt.timedelta(days=400))
    else:
        long_ago = now - dt.timedelta(days=300)
        order = factories.order(quill, alice, status="cancelled", cancelled_at=long_ago, booked_at=long_ago)
        parcel = factories.parcel(order, reference="SNOBODY1", poll_due_at=now)
    assert poll(parcel).poll.due_at is None


def test_the_carriers_refusal_is_kept_when_polls_fail(carrier: SandboxCarrier, quill: Sender, alice: User) -> None:
    watched = watching.follow_reference(quill, "SNOBODY1", name="", by=alice, now=timezone.now())
    Parcel.objects.filter(pk=watched.parcel.pk).update(subscription="refused", subscription_text="Unknown reference.")
    parcel = poll(watched.parcel)
    assert (parcel.poll.tries, parcel.subscription_text) == (1, "Unknown reference.")


@pytest.mark.parametrize(
    ("progress", "hours"), [("", 1), ("pickup_futile", 1), ("collected", 1), ("in_transit", 1), ("out_for_delivery", 1)]
)
def test_no_stage_is_polled_more_often_than_hourly(quill: Sender, alice: User, progress: str, hours: float) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order, progress=progress)
    assert pace.poll_interval(parcel, now=timezone.now()) == hours


def test_a_delivered_parcel_is_polled_three_more_times(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order, progress="delivered", last_scan_at=now)
    later = [pace.poll_interval(parcel, now=now + dt.timedelta(hours=h)) for h in (0, 2, 30, 80)]
    assert later == [1.0, 24.0, 72.0, None]


def test_quiet_time_counts_from_the_last_scan_however_old_the_parcel_is(quill: Sender, alice: User) -> None:
    now, order = timezone.now(), factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order, progress="in_transit", last_scan_at=now - dt.timedelta(days=1))
    Parcel.objects.filter(pk=parcel.pk).update(created_at=now - dt.timedelta(days=60))
    parcel.refresh_from_db()
    assert pace.poll_interval(parcel, now=now) == 1
    assert pace.poll_interval(parcel, now=now + dt.timedelta(days=45)) is None
    parcel.progress = "delivered"
    assert pace.poll_interval(parcel, now=now) == 72


def test_a_cancelled_label_is_tracked_for_sixty_days(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="cancelled")
    parcel = factories.parcel(order)
    now = timezone.now()
    assert pace.poll_interval(parcel, now=now + dt.timedelta(days=59)) == 24
    assert pace.poll_interval(parcel, now=now + dt.timedelta(days=61)) is None


def test_an_unreadable_polled_scan_is_kept_once(parcel: Parcel, carrier: SandboxCarrier) -> None:
    tracked = Tracked(
        state="", scans=(), unreadable=(({"event_type": 5}, "event_type is no text"),), pickup_date=None, body=b""
    )
    for _ in range(2):
        polling.take_scans(parcel, tracked, now=timezone.now())
    assert WebhookDelivery.objects.get().state == "quarantined"


@pytest.mark.parametrize(("named", "is_taken"), [("SANOTHER01", False), ("", True)])
def test_a_scan_of_another_reference_in_a_polls_reply_is_set_aside(
    quill: Sender, alice: User, named: str, is_taken: bool
) -> None:
    parcel = factories.parcel(factories.order(quill, alice, status="booked", carrier_reference="SPOLLED001"))
    at = f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"  # a scan of long before the booking moves nothing
    raw = event(carrier_reference=named, event_type="Delivered", scan_time=at)
    raw = raw if named else {key: value for key, value in raw.items() if key != "carrier_reference"}
    polling.take_scans(parcel, tracked(scans=(read_scan(raw, contract_of(parcel.account)),)), now=timezone.now())
    parcel.refresh_from_db()
    assert (parcel.progress, parcel.events.count()) == (("delivered", 1) if is_taken else ("", 0))
    kept = list(WebhookDelivery.objects.values_list("state", "reason"))
    assert kept == ([] if is_taken else [("quarantined", "the scan names SANOTHER01")])


def tracked(**fields: Any) -> Tracked:
    """Return a reply without scans."""
    return Tracked(**{"state": "", "scans": (), "unreadable": (), "pickup_date": None, "body": b"", **fields})


@pytest.mark.parametrize(
    ("given", "field", "before", "after"),
    [
        ({"pickup_date": dt.date(2026, 12, 3)}, "carrier_pickup_date", None, dt.date(2026, 12, 3)),
        ({"pickup_date": None}, "carrier_pickup_date", dt.date(2026, 12, 2), dt.date(2026, 12, 2)),
        ({"is_cancellable": False}, "is_cancellable", True, False),
        ({"is_cancellable": None}, "is_cancellable", False, False),
    ],
)
def test_order_data_in_a_poll_is_stored_on_the_order(
    quill: Sender, alice: User, given: dict[str, Any], field: str, before: object, after: object
) -> None:
    order = factories.order(quill, alice, status="booked", **{field: before})
    polling.take_scans(factories.parcel(order), tracked(**given), now=timezone.now())
    order.refresh_from_db()
    assert getattr(order, field) == after


def test_another_parcels_scan_is_kept_with_the_reason_but_not_as_a_scan(parcel: Parcel) -> None:
    row = {"carrier_reference": "SOTHER", "event_type": "Pickup", "scan_time": "2026-11-20T01:00:00Z"}
    now = timezone.now() - dt.timedelta(minutes=5)
    polling.take_scans(parcel, tracked(scans=(read_scan(row, current_contract()),)), now=now)
    kept = WebhookDelivery.objects.get()
    assert (kept.state, kept.reason) == ("quarantined", "the scan names SOTHER")
    assert (kept.account, kept.polled_for, kept.received_at) == (parcel.account, parcel.reference, now)
    assert json.loads(bytes(kept.body)) == row
    assert kept.due_at is None
    assert not parcel.events.exists()


def test_the_same_unreadable_scan_is_kept_for_each_parcel_it_came_with(parcel: Parcel) -> None:
    answer = tracked(unreadable=(({"event_type": 5}, "event_type is no text"),))
    for one in (parcel, factories.parcel(reference="SOTHER01"), parcel):
        polling.take_scans(one, answer, now=timezone.now())
    kept = WebhookDelivery.objects.order_by("pk").values_list("polled_for", "reason")
    assert list(kept) == [("SFOREIGN7", "event_type is no text"), ("SOTHER01", "event_type is no text")]


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_finished_parcels_last_poll_is_dated_only_if_it_was_answered(
    quill: Sender, alice: User, is_answered: bool
) -> None:
    long_ago = timezone.now() - dt.timedelta(days=90)
    order = factories.order(quill, alice, status="cancelled", cancelled_at=long_ago)
    last = factories.parcel(order, poll_due_at=timezone.now()).poll
    assert last.claim()
    polling._schedule_next(last, is_answered=is_answered, has_reply=False, first=30.0)
    last.refresh_from_db()
    assert last.due_at is None
    assert (last.polled_at is not None) is is_answered


@pytest.mark.parametrize(
    ("progress", "quiet", "hours"),
    [
        ("delivered", dt.timedelta(hours=1, seconds=-1), 1.0),
        ("delivered", dt.timedelta(hours=1), 24.0),
        ("delivered", dt.timedelta(hours=24), 72.0),
        ("delivered", dt.timedelta(hours=72), None),
        ("in_transit", pace.GIVE_UP_SILENT, 1.0),
        ("in_transit", pace.GIVE_UP_SILENT + dt.timedelta(seconds=1), None),
    ],
)
def test_the_poll_interval_changes_exactly_at_its_limit(
    quill: Sender, alice: User, progress: str, quiet: dt.timedelta, hours: float | None
) -> None:
    now, order = timezone.now(), factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order, progress=progress, last_scan_at=now - quiet)
    assert pace.poll_interval(parcel, now=now) == hours


def test_a_used_label_of_a_cancelled_order_is_polled_like_any_moving_parcel(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="cancelled", cancelled_at=now - dt.timedelta(days=60))
    parcel = factories.parcel(order, progress="in_transit", last_scan_at=now)
    assert pace.poll_interval(parcel, now=now) is None
    order.used_after_cancel_at = now
    assert pace.poll_interval(parcel, now=now) == 1


def test_a_poll_waits_for_its_turn_in_the_queue_of_calls(
    parcel: Parcel, carrier: SandboxCarrier, contract: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "APART", APART)
    contract("tracking_per_second = 0.1")  # so that no slow machine finds room in the line again
    full = fill(gateway.current_account(), "track")
    poll(parcel)
    assert not [request for request in carrier.requests() if request["operation"] == "track"]
    assert full <= parcel.poll.due_at < full + dt.timedelta(seconds=2)
    assert parcel.poll.tries == 0


def test_a_scan_reaches_the_order_of_its_parcel(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    parcel = factories.parcel(order)
    factories.event(parcel, event_type="Delivered")
    projecting.project_parcels(parcel.pk)
    assert Order.objects.get().progress == "delivered"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("sabcdef", "SABCDEF"),
        (" SQ7K2M ", "SQ7K2M"),
        ("https://track.carrier.example/tracking?ref=SQ7K2M", "SQ7K2M"),
        ("https://track.carrier.example/SQ7K2M/", "SQ7K2M"),
    ],
)
def test_a_reference_is_found_in_pasted_text(text: str, reference: str) -> None:
    assert watching.reference_in(text) == reference


@pytest.mark.parametrize("text", ["", "S123", "X123456", "hello there", "https://track.carrier.example/"])
def test_text_without_a_reference_is_refused(text: str) -> None:
    with pytest.raises(watching.NotAReference):
        watching.reference_in(text)


def test_watching_twice_is_one_watch(quill: Sender, alice: User) -> None:
    first = watching.follow_reference(quill, "SABCDEF", name="", by=alice, now=timezone.now())
    assert watching.follow_reference(quill, "sabcdef", name="again", by=alice, now=timezone.now()) == first


@pytest.mark.parametrize("typed", ["sab12cd", "SAB12CD", "Sab12cD"])
def test_a_parcel_tracked_in_the_carriers_case_is_found_in_any_case(quill: Sender, alice: User, typed: str) -> None:
    first = watching.follow_reference(quill, "Sab12cD", name="", by=alice, now=timezone.now())
    assert watching.follow_reference(quill, typed, name="again", by=alice, now=timezone.now()) == first


def test_a_reference_typed_in_mixed_case_is_kept_as_typed(quill: Sender, alice: User) -> None:
    watching.follow_reference(quill, "sab12cd", name="", by=alice, now=timezone.now())
    meant = watching.follow_reference(quill, "Sab12cD", name="", by=alice, now=timezone.now())
    assert meant.parcel.reference == "Sab12cD"


def test_watching_your_own_parcel_uses_the_orders_spelling(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="booked", carrier_reference="Sab12cD", due_at=now)
    own = watching.follow_reference(quill, "sab12cd", name="", by=alice, now=now)
    polling.open_parcel(order.pk)
    own.parcel.refresh_from_db()
    assert (own.parcel, own.parcel.reference) == (order.parcel, "Sab12cD")


def test_a_scan_with_the_reference_in_another_case_is_stored(parcel: Parcel, carrier: SandboxCarrier) -> None:
    row = {"carrier_reference": "SForeign7", "event_type": "Pickup", "scan_time": "2026-11-20T01:00:00Z"}
    tracked = Tracked(state="", scans=(read_scan(row, current_contract()),), unreadable=(), pickup_date=None, body=b"")
    polling.take_scans(parcel, tracked, now=timezone.now())
    assert parcel.events.get().event_type == "Pickup"
    assert not WebhookDelivery.objects.exists()


def test_a_parcel_with_incomplete_scans_is_polled_again_in_an_hour(
    parcel: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"event_type": "Pickup", "scan_time": timezone.now().isoformat()}
    part = Tracked("", (read_scan(row, current_contract()),), (), None, b"", is_whole=False)
    monkeypatch.setattr(polling, "_ask_carrier", lambda poll, client: part)
    poll(parcel)
    assert parcel.events.get().event_type == "Pickup"
    assert (parcel.poll.tries, parcel.poll.polled_at) == (1, None)
    assert parcel.poll.due_at > timezone.now() + dt.timedelta(minutes=59)


def test_watches_are_limited(quill: Sender, alice: User, monkeypatch: Any) -> None:
    monkeypatch.setattr(watching, "MOST_WATCHES", 1)
    watching.follow_reference(quill, "SABCDEF", name="", by=alice, now=timezone.now())
    with pytest.raises(Refused):
        watching.follow_reference(quill, "SBCDEFG", name="", by=alice, now=timezone.now())


def test_at_the_limit_a_parcel_already_watched_is_shown_and_a_new_one_is_refused(
    quill: Sender, alice: User, monkeypatch: Any
) -> None:
    monkeypatch.setattr(watching, "MOST_WATCHES", 1)
    first = watching.follow_reference(quill, "SABCDEF", name="", by=alice, now=timezone.now())
    assert watching.follow_reference(quill, "sabcdef", name="again", by=alice, now=timezone.now()) == first
    with pytest.raises(Refused):
        watching.follow_reference(quill, "SBCDEFG", name="", by=alice, now=timezone.now())
    assert Parcel.objects.get() == first.parcel


def test_a_parcel_is_updated_later_if_opening_it_failed_midway(
    quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = factories.parcel(reference="SEARLY0001")
    factories.event(early)
    order = factories.order(quill, alice, status="booked", carrier_reference="SEARLY0001", due_at=timezone.now())
    with monkeypatch.context() as patched:
        patched.setattr(projecting, "project_parcels", lambda pk: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            polling.open_parcel(order.pk)
    projecting.project_due_parcel(early.pk)
    order.refresh_from_db()
    assert order.progress == "collected"


def test_a_slow_refusal_of_a_subscription_does_not_cost_the_poll_its_lease(
    parcel: Parcel, monkeypatch: pytest.MonkeyPatch
) -> None:
    Parcel.objects.update(subscription="wanted")
    with time_machine.travel(timezone.now(), tick=False) as clock:

        class Slow:
            def subscribe(self, reference: str) -> Tracked:
                clock.shift(19)
                raise Rejected(404, text="Unknown reference.")

            def track(self, reference: str) -> Tracked:
                clock.shift(19)
                Poll.objects.filter(due_at__lte=timezone.now()).update(
                    due_at=None, failures=99
                )  # another worker has it
                raise OutcomeUnknown("no answer in time")

        monkeypatch.setattr(gateway, "carrier_client", lambda *of, **how: Slow())
        assert poll(parcel).poll.failures == 0


@pytest.mark.parametrize(
    "text",
    [
        "https://carrier.example/track/S7K2QX?utm_source=shopify",
        "https://carrier.example/track/S7K2QX/status?utm_campaign=shipped",
        "https://carrier.example/shipments?service=standard&ref=S7K2QX",
    ],
)
def test_a_word_in_a_url_is_not_the_reference_if_another_part_has_a_digit(db: None, text: str) -> None:
    assert watching.reference_in(text) == "S7K2QX"


def test_a_url_with_two_references_is_refused(db: None) -> None:
    with pytest.raises(watching.NotAReference):
        watching.reference_in("https://carrier.example/track/S7K2QX9/SB4N8X1")
