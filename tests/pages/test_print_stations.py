"""Print stations on the pages, with plain posts: add one, send labels to it, view it and stop it."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.labels import printing, stations
from orders.models import Order, PrintJob, PrintStation
from shipping_portal.accounts.models import ApiToken, Audit, Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
BENCH, STATIONS = "/parcels/print/", "/parcels/print/stations/"


def ready(of: Sender, by: User, **fields: object) -> Order:
    made = factories.order(of, by, status="booked", **fields)
    factories.stored_label(made)
    return made


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return ready(quill, alice, carrier_reference="S7K2QX", customer_reference="SHOP-7")


@pytest.fixture
def station(alice: User) -> PrintStation:
    return factories.print_station(alice)


def at(station: PrintStation, act: str = "print") -> str:
    return f"{STATIONS}{station.uuid}/{act}/"


def test_a_bench_is_added_and_its_token_is_shown_once(ana: User, visit: Visit) -> None:
    client = factories.gave_password(visit(ana), ana)
    answer = client.post(STATIONS, {"name": "Bench 1"}, follow=True)
    shown = re.search(r'value="(portal_[^"]+)"', answer.content.decode())
    assert shown
    assert answer.redirect_chain == [(STATIONS, 302)]
    made = PrintStation.objects.get()
    assert (made.name, made.sender, made.token.scopes) == ("Bench 1", ana.membership.sender, ["print"])
    assert shown[1] not in client.get(STATIONS).content.decode()
    assert shown[1] not in str(list(ApiToken.objects.values()) + list(Audit.objects.values()))
    assert "Bench 1" in text(client.get(BENCH))
    assert "Not started yet." in text(client.get(BENCH))


def test_the_page_alone_is_enough_to_set_up_two_printers_of_one_computer(alice: User, visit: Visit) -> None:
    said = text(factories.gave_password(visit(alice), alice).get(STATIONS))
    assert "lpstat -e lists the names of printers" in said
    assert "On the same computer it needs a folder of its own: add --folder bench-2 each time" in said


def test_a_bench_without_a_name_shows_an_error_at_the_field(alice: User, visit: Visit) -> None:
    answer = factories.gave_password(visit(alice), alice).post(STATIONS, {"name": " "})
    assert answer.status_code == 422
    assert "Name the bench" in text(answer)
    assert not PrintStation.objects.exists()


def test_the_program_download_is_the_file_itself(alice: User, visit: Visit) -> None:
    answer = visit(alice).get(f"{STATIONS}print_station.py")
    program = Path(__file__).resolve().parents[2] / "tools/print_station.py"
    assert answer.content == program.read_bytes()
    assert answer["Content-Disposition"] == 'attachment; filename="print_station.py"'


def test_print_all_sends_waiting_labels_to_the_station_that_is_on(
    order: Order, station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    other, client = ready(quill, alice), visit(alice)
    page = client.get(BENCH)
    assert page.context["here"] == station
    assert 'id="print-all"' not in page.content.decode()
    assert "Did all" not in text(page)
    chosen = re.findall(r'name="order" value="([^"]+)"', page.content.decode())
    assert chosen[:2] == [str(order.uuid), str(other.uuid)]
    answer = client.post(at(station), {"order": chosen[:2], "query": "sort=size"}, follow=True)
    assert answer.redirect_chain == [(f"{BENCH}?sort=size", 302)]
    assert "Bench 1 prints 2 labels." in text(answer)
    assert [job.order for job in PrintJob.objects.order_by("pk")] == [order, other]
    assert answer.context["to_send"] == []
    assert text(answer).count("At Bench 1") == 2


def test_a_scan_goes_to_the_station_and_a_printed_one_is_asked_about(
    order: Order, station: PrintStation, alice: User, visit: Visit
) -> None:
    client = visit(alice)
    form = re.search(r'<form id="scan".*?</form>', client.get(BENCH).content.decode(), re.S)
    assert form
    assert f'action="{at(station)}" method="post"' in form[0]
    assert "Bench 1 prints SHOP-7." in text(client.post(at(station), {"q": "#shop-7"}, follow=True))
    job = PrintJob.objects.get()
    assert (job.order, job.asked_by, job.is_again) == (order, alice, False)
    stations.claim_next(station, now=timezone.now())
    job.refresh_from_db()
    stations.report_end(job, is_printed=True, words="", now=timezone.now())
    asked = client.post(at(station), {"q": "S7K2QX"}, follow=True)
    assert "SHOP-7 is printed already." in text(asked)
    assert PrintJob.objects.count() == 1
    client.post(at(station), {"order": str(order.uuid), "again": "yes"})
    assert PrintJob.objects.get(state="waiting").is_again


def test_a_scan_without_a_label_to_print_says_so(
    order: Order, station: PrintStation, bob: User, alice: User, visit: Visit
) -> None:
    ready(bob.membership.sender, bob, customer_reference="BOLT-1")
    factories.order(alice.membership.sender, alice, status="cancelled", customer_reference="GONE-1")
    for scanned in ("BOLT-1", "GONE-1", "", "<b>"):
        answer = visit(alice).post(at(station), {"q": scanned}, follow=True)
        assert "isn't a parcel with a label to print." in text(answer)
        assert "<b> isn't" not in answer.content.decode()
    assert not PrintJob.objects.exists()


@pytest.mark.parametrize("scanned", ["", " # ", "\0"])
def test_an_empty_scan_prints_no_parcel_without_an_order_number(
    station: PrintStation, quill: Sender, alice: User, visit: Visit, scanned: str
) -> None:
    ready(quill, alice, customer_reference="")
    answer = visit(alice).post(at(station), {"q": scanned}, follow=True)
    assert answer.status_code == 200
    assert not PrintJob.objects.exists()


def test_with_no_station_on_the_browser_prints_as_before(
    order: Order, station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    ready(quill, alice)
    PrintStation.objects.update(seen_at=timezone.now() - dt.timedelta(minutes=2))
    page = visit(alice).get(BENCH)
    assert 'id="print-all"' in page.content.decode()
    assert "data-station" not in page.content.decode()
    assert "Off, last heard" in text(page)
    answer = visit(alice).post(at(station), {"order": str(order.uuid)}, follow=True)
    assert "Bench 1 is off, so nothing was sent there." in text(answer)
    assert not PrintJob.objects.exists()


def test_with_two_stations_on_a_browser_sends_to_the_one_it_chose(
    order: Order, station: PrintStation, alice: User, ana: User, visit: Visit
) -> None:
    other, client = factories.print_station(ana, "Bench 2"), visit(alice)
    assert client.get(BENCH).context["here"] is None
    assert "Your scans print at Bench 2 now." in text(client.post(at(other), follow=True))
    assert client.get(BENCH).context["here"] == other
    assert visit(ana).get(BENCH).context["here"] is None


def test_a_jam_and_a_failure_are_shown_with_the_printers_own_message(
    order: Order, station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    failed = ready(quill, alice, customer_reference="SHOP-8")
    factories.print_job(station, order, state="taken", words="Paper <jam>")
    factories.print_job(station, failed, state="failed", words="Out of ribbon", ended_at=timezone.now())
    said = text(visit(alice).get(BENCH))
    assert "Prints SHOP-7." in said
    assert "The printer says: Paper &lt;jam&gt;" in said or "The printer says: Paper <jam>" in said
    assert "SHOP-8 isn't marked printed Out of ribbon" in said
    printing.mark_printed(failed, by=alice, at=timezone.now())
    assert "Out of ribbon" not in text(visit(alice).get(BENCH))


def test_a_label_that_may_be_on_paper_is_reprinted_only_by_its_own_button(
    order: Order, station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    fresh, client = ready(quill, alice), visit(alice)
    factories.print_job(station, order, state="failed", words="Unclear", ended_at=timezone.now())
    page = client.get(BENCH)
    assert page.context["to_send"] == [fresh]
    assert "Print it again at Bench 1" in text(page)
    both = [str(order.uuid), str(fresh.uuid)]
    client.post(at(station), {"order": both})  # another tab, opened before it failed
    assert PrintJob.objects.get(state="waiting").order == fresh
    asked = client.post(at(station), {"q": "SHOP-7"}, follow=True)
    assert "SHOP-7 may be on paper already." in text(asked)
    assert PrintJob.objects.filter(state="waiting").count() == 1
    answer = client.post(at(station), {"order": str(order.uuid), "again": "yes"}, follow=True)
    assert PrintJob.objects.filter(state="waiting", order=order, is_again=True).exists()
    assert "isn't marked printed" not in text(answer)


def test_a_stopped_stations_label_is_mentioned_when_no_station_is_left(
    order: Order, station: PrintStation, alice: User, visit: Visit
) -> None:
    factories.print_job(station, order, state="taken")
    visit(alice).post(at(station, "stop"))
    assert f"SHOP-7 isn't marked printed {stations.LOOK_FIRST}" in text(visit(alice).get(BENCH))


def test_many_failures_take_a_few_lines_and_one_button(
    station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    for _ in range(7):
        factories.print_job(station, ready(quill, alice), state="failed", ended_at=timezone.now())
    said = text(visit(alice).get(BENCH))
    assert said.count("isn't marked printed") == 5
    assert "7 labels aren't marked printed." in said
    assert "Print these 7 again at Bench 1" in said


def test_a_worthless_label_at_a_station_is_mentioned(
    order: Order, station: PrintStation, alice: User, visit: Visit
) -> None:
    factories.print_job(station, order, state="taken")
    Order.objects.update(status="cancelled", cancelled_at=timezone.now())
    assert "which is no longer booked: don't use its label" in text(visit(alice).get(BENCH))


def test_waiting_labels_are_withdrawn_and_a_station_is_stopped(
    order: Order, station: PrintStation, quill: Sender, alice: User, ana: User, visit: Visit
) -> None:
    factories.print_job(station, order, state="taken")
    factories.print_job(station, ready(quill, alice))
    assert "1 label withdrawn from Bench 1." in text(visit(ana).post(at(station, "withdraw"), follow=True))
    assert set(PrintJob.objects.values_list("state", flat=True)) == {"taken", "withdrawn"}
    assert "Bench 1 is stopped." in text(visit(ana).post(at(station, "stop"), follow=True))
    assert set(PrintJob.objects.values_list("state", flat=True)) == {"failed", "withdrawn"}
    assert visit(alice).get(BENCH).context["stations"] == []
    assert ApiToken.objects.get().revoked_at


def test_labels_of_a_station_whose_token_ended_go_to_another(
    order: Order, station: PrintStation, alice: User, ana: User, visit: Visit
) -> None:
    factories.print_job(station, order)
    ApiToken.objects.update(ends_at=timezone.now())
    other, client = factories.print_station(ana, "Bench 2"), visit(ana)
    page = client.get(BENCH)
    assert (page.context["here"], page.context["to_send"]) == (other, [order])
    client.post(at(other), {"order": str(order.uuid)})
    assert PrintJob.objects.get(state="waiting").station == other


def test_labels_it_had_already_taken_are_not_reprinted_unasked(
    order: Order, station: PrintStation, alice: User, ana: User, visit: Visit
) -> None:
    factories.print_job(station, order, state="taken")
    ApiToken.objects.update(ends_at=timezone.now())
    other, client = factories.print_station(ana, "Bench 2"), visit(ana)
    answer = client.post(at(other), {"order": str(order.uuid)}, follow=True)
    assert PrintJob.objects.get().state == "failed"
    assert f"SHOP-7 isn't marked printed {stations.LOOK_FIRST}" in text(answer)


def test_another_accounts_station_is_not_found(order: Order, station: PrintStation, bob: User, visit: Visit) -> None:
    for act in ("print", "stop", "withdraw"):
        assert visit(bob).post(at(station, act), {"order": str(order.uuid)}).status_code == 404
    own = factories.print_station(bob)
    visit(bob).post(at(own), {"order": str(order.uuid)})
    assert not PrintJob.objects.exists()
    assert "S7K2QX" not in text(visit(bob).post(at(own), {"q": "S7K2QX"}, follow=True)).replace("S7K2QX isn't", "")


def test_more_than_five_hundred_are_refused(station: PrintStation, alice: User, visit: Visit) -> None:
    many = [str(uuid.uuid4()) for _ in range(501)]
    assert visit(alice).post(at(station), {"order": many}).status_code == 422


def test_no_redirect_leaves_the_site(order: Order, station: PrintStation, alice: User, visit: Visit) -> None:
    answer = visit(alice).post(at(station), {"order": str(order.uuid), "query": "//evil.example/?x=1"})
    assert answer["Location"] == f"{BENCH}?"


def test_sending_many_labels_takes_as_many_queries_as_sending_one(
    station: PrintStation, quill: Sender, alice: User, visit: Visit
) -> None:
    client, found = visit(alice), []
    client.get(BENCH)
    client.post(at(station))
    for count in (1, 12):
        orders = [ready(quill, alice) for _ in range(count)]
        with CaptureQueriesContext(connection) as seen:
            client.post(at(station), {"order": [str(order.uuid) for order in orders]})
        found.append(len(seen))
    assert PrintJob.objects.count() == 13
    assert found[0] == found[1]
