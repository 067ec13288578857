"""The API of print stations: each label once, and only `printed` marks a parcel."""

import base64
import datetime as dt
import hashlib
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from orders.labels import printing, stations
from orders.models import Label, LabelBytes, Order, PrintJob, PrintStation
from orders.retention import purge_print_jobs
from shipping_portal.accounts.models import ApiToken, Audit, Sender, User
from shipping_portal.jobs import erasing
from tests import factories
from tests.api.conftest import Program

pytestmark = pytest.mark.django_db
HERE = {"installation": "0c1f8e04-3c2b-4f5e-9a76-0d6f2f4f9b11", "printer": "Zebra"}


@pytest.fixture
def station(quill: Sender, alice: User) -> PrintStation:
    return factories.print_station(alice)


@pytest.fixture
def bench(station: PrintStation) -> Program:
    return Program(station.text)  # type: ignore[attr-defined]


def ready(of: Sender, by: User, **fields: Any) -> Order:
    made = factories.order(of, by, status="booked", **fields)
    factories.stored_label(made, content=b"%PDF-1.4 " + str(made.pk).encode() + b" %%EOF")
    return Order.objects.select_related("sender").get(pk=made.pk)


def ask(station: PrintStation, *orders: Order, by: User, **options: Any) -> int:
    return stations.request_prints(orders, station, by=by, now=timezone.now(), **options)


def take(bench: Program) -> Any:
    return bench.post("/print/take", HERE)


def report(bench: Program, job: str, outcome: str, words: str = "") -> Any:
    return bench.post(f"/print/jobs/{job}/report", {"outcome": outcome, "words": words})


def kind(answer: Any) -> str:
    return str(answer.json()["type"]).partition("#")[2]


def test_labels_come_in_request_order_and_are_marked_when_printed(
    station: PrintStation, bench: Program, quill: Sender, alice: User, ana: User
) -> None:
    second, first = ready(quill, alice), ready(quill, alice)
    assert ask(station, first, second, by=ana) == 2
    for order in (first, second):
        job = take(bench).json()
        assert job["reference"] == str(order)
        file = bench.get(f"/print/jobs/{job['id']}/label")
        assert file.content == bytes(LabelBytes.objects.get(label__order=order).content)
        digest = hashlib.sha256(file.content)
        assert job["sha256"] == digest.hexdigest()
        assert file["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        order.refresh_from_db()
        assert order.printed_at is None
        assert report(bench, job["id"], "printed").json() == {"state": "printed", "is_wanted": False}
        order.refresh_from_db()
        assert order.printed_by == ana
    nothing = take(bench)
    assert (nothing.status_code, nothing["Retry-After"], nothing.content) == (204, "2", b"")


def test_asking_twice_returns_the_same_label(station: PrintStation, quill: Sender, alice: User, ana: User) -> None:
    order, other = ready(quill, alice), factories.print_station(ana, "Bench 2")
    assert [ask(station, order, by=alice), ask(other, order, by=ana), ask(station, order, by=ana)] == [1, 0, 0]
    assert PrintJob.objects.get().station == station
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.print_job(other, order)


def test_a_station_that_restarts_gets_the_same_label_again(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    ask(station, ready(quill, alice), ready(quill, alice), by=alice)
    first = take(bench).json()
    assert take(bench).json() == first
    report(bench, first["id"], "failed", "Out of ribbon")
    assert take(bench).json()["id"] != first["id"]
    assert PrintJob.objects.filter(state="failed").values_list("words", flat=True).get() == "Out of ribbon"
    assert not Order.objects.exclude(printed_at=None).exists()


def test_a_report_counts_once(station: PrintStation, bench: Program, quill: Sender, alice: User) -> None:
    order = ready(quill, alice)
    ask(station, order, by=alice)
    job = take(bench).json()["id"]
    assert report(bench, job, "failed", "Jam").json()["state"] == "failed"
    assert report(bench, job, "printed").json()["state"] == "failed"
    assert [row.action for row in Audit.objects.filter(action__startswith="label")] == []
    order.refresh_from_db()
    assert order.printed_at is None


def test_a_reported_jam_does_not_end_the_job(station: PrintStation, bench: Program, quill: Sender, alice: User) -> None:
    ask(station, ready(quill, alice), by=alice)
    job = take(bench).json()["id"]
    assert report(bench, job, "stuck", "Paper jam").json() == {"state": "taken", "is_wanted": True}
    assert PrintJob.objects.get().words == "Paper jam"
    assert report(bench, job, "printed").json()["state"] == "printed"
    assert PrintJob.objects.get().words == ""


def test_a_label_that_became_worthless_is_withdrawn_before_it_is_taken(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    cancelled, unusable, by_hand, good = (ready(quill, alice) for _ in range(4))
    ask(station, cancelled, unusable, by_hand, good, by=alice)
    Order.objects.filter(pk=cancelled.pk).update(status="cancelled", cancelled_at=timezone.now())
    Label.objects.filter(order=unusable).update(is_worthless=True)
    printing.mark_printed(by_hand, by=alice, at=timezone.now())
    assert take(bench).json()["reference"] == str(good)
    states = dict(PrintJob.objects.values_list("order", "state"))
    assert states == {cancelled.pk: "withdrawn", unusable.pk: "withdrawn", by_hand.pk: "withdrawn", good.pk: "taken"}
    assert "Don't use its label." in PrintJob.objects.get(order=cancelled).words


def test_a_label_that_becomes_worthless_at_the_station_is_cancelled(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    order = ready(quill, alice)
    ask(station, order, by=alice)
    job = take(bench).json()["id"]
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())
    assert kind(bench.get(f"/print/jobs/{job}/label")) == "not-found"
    assert report(bench, job, "stuck", "Jam").json()["is_wanted"] is False
    assert report(bench, job, "printed").json()["state"] == "printed"
    order.refresh_from_db()
    assert order.printed_at is None
    assert PrintJob.objects.get().words == "No longer booked. Don't use this label."


def test_reprinting_must_be_requested(
    station: PrintStation, bench: Program, quill: Sender, alice: User, ana: User
) -> None:
    order = ready(quill, alice)
    printing.mark_printed(order, by=alice, at=timezone.now())
    assert ask(station, order, by=ana) == 0
    assert ask(station, order, by=ana, is_again=True) == 1
    report(bench, take(bench).json()["id"], "printed")
    assert Audit.objects.filter(action="label reprinted").count() == 1
    order.refresh_from_db()
    assert order.printed_by == ana


def test_a_printed_label_is_marked_even_if_unmarked_meanwhile(
    station: PrintStation, bench: Program, quill: Sender, alice: User, ana: User
) -> None:
    order = ready(quill, alice)
    printing.mark_printed(order, by=alice, at=timezone.now())
    ask(station, order, by=ana, is_again=True)
    job = take(bench).json()["id"]
    printing.unmark_printed(order, by=alice, at=timezone.now())
    report(bench, job, "printed")
    order.refresh_from_db()
    assert order.printed_by == ana


def test_a_reprint_marked_by_hand_meanwhile_is_withdrawn(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    order = ready(quill, alice)
    factories.print_job(station, order, state="failed", ended_at=timezone.now())
    assert [ask(station, order, by=alice), ask(station, order, by=alice, is_again=True)] == [0, 1]
    printing.mark_printed(order, by=alice, at=timezone.now())
    assert take(bench).status_code == 204
    assert PrintJob.objects.get(is_again=True).state == "withdrawn"


def test_a_failure_counts_until_the_label_comes_out(station: PrintStation, quill: Sender, alice: User) -> None:
    order = ready(quill, alice)
    for state, is_failed in (("failed", True), ("withdrawn", True), ("printed", False), ("failed", True)):
        factories.print_job(station, order, state=state, ended_at=timezone.now())
        assert bool(stations.failed_jobs([order])) is is_failed


def test_many_labels_that_became_worthless_take_several_calls(
    station: PrintStation, bench: Program, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stations, "LOOKED_AT", 2)
    orders = [ready(quill, alice) for _ in range(3)]
    ask(station, *orders, by=alice)
    Order.objects.filter(pk__in=[order.pk for order in orders[:2]]).update(
        status="cancelled", cancelled_at=timezone.now()
    )
    assert take(bench).status_code == 204
    assert take(bench).json()["reference"] == str(orders[2])


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/print/take", HERE | {"printer": "a\0b"}),
        (f"/print/jobs/{HERE['installation']}/report", {"outcome": "failed", "words": "a\0"}),
    ],
)
def test_a_nul_character_is_refused(bench: Program, path: str, sent: dict[str, str]) -> None:
    assert kind(bench.post(path, sent)) == "invalid"


def test_a_second_installation_is_refused(station: PrintStation, bench: Program, quill: Sender, alice: User) -> None:
    """It has no journal, so it can't know what the first one printed."""
    ask(station, ready(quill, alice), by=alice)
    assert take(bench).status_code == 200
    answer = bench.post("/print/take", HERE | {"installation": str(uuid.uuid4())})
    assert (answer.status_code, kind(answer)) == (409, "state")


def test_a_label_of_another_station_is_not_found(
    station: PrintStation, bench: Program, quill: Sender, alice: User, ana: User
) -> None:
    other = factories.print_job(factories.print_station(ana, "Bench 2"), ready(quill, alice), state="taken")
    assert bench.get(f"/print/jobs/{other.uuid}/label").status_code == 404
    assert report(bench, str(other.uuid), "printed").status_code == 404


def test_a_label_that_was_not_taken_or_has_ended_has_no_bytes(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    job = factories.print_job(station, ready(quill, alice))
    for state in ("waiting", "printed", "failed", "withdrawn"):
        PrintJob.objects.update(state=state)
        assert kind(bench.get(f"/print/jobs/{job.uuid}/label")) == "state"


def test_while_dispatch_is_stopped_nothing_is_taken_or_read(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    ask(station, ready(quill, alice), by=alice)
    job = take(bench).json()["id"]
    Sender.objects.update(dispatch_stopped_at=timezone.now(), suspended_at=timezone.now(), suspension="other")
    assert kind(take(bench)) == "suspended"
    assert kind(bench.get(f"/print/jobs/{job}/label")) == "suspended"
    assert report(bench, job, "stuck").json()["is_wanted"] is False


def test_a_stopped_station_leaves_no_open_job(
    station: PrintStation, bench: Program, quill: Sender, alice: User, ana: User
) -> None:
    had, waits = ready(quill, alice), ready(quill, alice)
    ask(station, had, waits, by=alice)
    take(bench)
    stations.stop_station(station, by=ana, now=timezone.now())
    assert dict(PrintJob.objects.values_list("order", "state")) == {had.pk: "failed", waits.pk: "withdrawn"}
    assert PrintJob.objects.get(order=had).words == stations.LOOK_FIRST
    assert take(bench).status_code == 401
    other = factories.print_station(ana, "Bench 2")
    assert ask(other, had, waits, by=ana) == 1
    assert ask(other, had, waits, by=ana, is_again=True) == 1


def test_an_ended_token_blocks_no_other_station(station: PrintStation, quill: Sender, alice: User, ana: User) -> None:
    order = ready(quill, alice)
    ask(station, order, by=alice)
    ApiToken.objects.filter(pk=station.token_id).update(revoked_at=timezone.now())
    assert ask(factories.print_station(ana, "Bench 2"), order, by=ana) == 1


def test_the_printers_message_is_limited_and_unknown_outcomes_are_refused(
    station: PrintStation, bench: Program, quill: Sender, alice: User
) -> None:
    ask(station, ready(quill, alice), by=alice)
    job = take(bench).json()["id"]
    assert kind(report(bench, job, "failed", "x" * 301)) == "invalid"
    assert kind(report(bench, job, "perhaps")) == "invalid"
    assert PrintJob.objects.get().state == "taken"


def test_a_stations_last_call_is_recorded_at_most_every_ten_seconds(
    station: PrintStation, bench: Program, django_assert_num_queries: Any
) -> None:
    now = timezone.now()
    for ago, is_noted in ((9, False), (11, True)):
        seen = now - dt.timedelta(seconds=ago)
        PrintStation.objects.update(seen_at=seen, installation=HERE["installation"])
        take(bench)
        assert (PrintStation.objects.get().seen_at != seen) is is_noted
    assert station.is_on(now)
    assert not station.is_on(now + dt.timedelta(seconds=31))


def test_jobs_are_deleted_after_a_month_and_with_the_receiver(
    station: PrintStation, quill: Sender, alice: User
) -> None:
    now, order = timezone.now(), ready(quill, alice)
    for days in (29, 31):
        factories.print_job(station, order, state="printed", ended_at=now - dt.timedelta(days=days))
    waits = factories.print_job(station, order)
    assert purge_print_jobs(now) == 1
    assert PrintJob.objects.filter(pk=waits.pk).exists()
    erasing.erase({"order": {order.pk}})
    assert not PrintJob.objects.exists()
