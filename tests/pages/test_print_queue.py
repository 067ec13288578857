"""The label bench without its script: the queue, the marks, the sort orders, and who may not see it."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.labels import printing
from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, ParcelSize, Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
BENCH, TEST_PAGE = "/parcels/print/", "/labels/test-page/"


def ready(of: Sender, by: User, **fields: object) -> Order:
    made = factories.order(of, by, status="booked", **fields)
    factories.stored_label(made)
    return made


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return ready(quill, alice, carrier_reference="S7K2QX", receiver_name="Priya Nair")


def mark(order: Order) -> str:
    return f"/parcels/{order.uuid}/printed/"


def listed(client: Client, query: str = "") -> list[str]:
    """The references on the bench, from top to bottom."""
    return [row["order"].carrier_reference for row in client.get(f"{BENCH}{query}").context["rows"]]


def test_the_bench_lists_each_label_with_its_size_and_its_own_file(order: Order, alice: User, visit: Visit) -> None:
    answer = visit(alice).get(f"{BENCH}?view=labels-to-print")
    said = text(answer)
    assert "0 of 1 printed" in said
    assert "Priya Nair" in said
    assert "32 × 24 × 11 cm, 2.4 kg" in said
    assert f'href="/parcels/{order.uuid}/label/full.pdf?print=1"' in answer.content.decode()
    assert answer["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize("hour", [0, 9, 23])
def test_the_first_labels_are_for_today_where_the_sender_is(
    quill: Sender, alice: User, visit: Visit, time_machine: Any, hour: int
) -> None:
    time_machine.move_to(dt.datetime(2026, 11, 28, hour, 30, tzinfo=quill.tzinfo))
    for day in (27, 28, 29):
        ready(quill, alice, carrier_reference=f"S{day}", carrier_pickup_date=dt.date(2026, 11, day))
    client = visit(alice)
    assert listed(client)[0] == "S28"
    assert client.get(BENCH).context["for_today"] == 1


def test_mark_printed_takes_it_off_the_queue_and_names_who(order: Order, ana: User, visit: Visit) -> None:
    client = visit(ana)
    answer = client.post(mark(order), {"printed": "yes", "query": "view=labels-to-print"})
    assert answer["Location"] == "/parcels/print/?view=labels-to-print"
    assert "No labels to print" in text(client.get(answer["Location"]))
    assert "Printed by Ana, " in text(client.get(f"/parcels/{order.uuid}/"))


@pytest.mark.parametrize(
    ("opened", "asked"), [(0, "is not asked"), (1, "Did it come out?"), (2, "Did all 2 come out?")]
)
def test_the_page_asks_only_about_opened_labels(
    order: Order, quill: Sender, alice: User, visit: Visit, opened: int, asked: str
) -> None:
    client, orders = visit(alice), [order, ready(quill, alice), ready(quill, alice)]
    assert "go" in classes(client.get(BENCH), "to-print"), "Print comes first"
    for one in orders[:opened]:
        client.get(f"/parcels/{one.uuid}/label/full.pdf?print=1")
    answer = client.get(BENCH)
    assert ("unasked" in classes(answer, "card ask")) is (opened == 0)
    assert (asked in text(answer)) is (opened > 0)
    ticked = re.findall(r'name="order" value="([^"]+)" checked', answer.content.decode())
    assert ticked == [str(one.uuid) for one in orders[: opened or 3]]


def test_opening_a_label_does_not_mark_it_printed(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    client.get(f"/parcels/{order.uuid}/label/full.pdf")
    assert "unasked" in classes(client.get(BENCH), "card ask")


def classes(answer: HttpResponse, of: str) -> str:
    """Return the classes of the first element that has these."""
    found = re.search(rf'class="([^"]*\b{of}\b[^"]*)"', answer.content.decode())
    return found[1] if found else ""


def test_a_collected_or_cancelled_parcel_has_no_print_buttons(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    client = visit(alice)
    collected = ready(quill, alice, progress="collected", printed_at=timezone.now(), printed_by=alice)
    said = text(client.get(f"/parcels/{collected.uuid}/"))
    assert "Print again" not in said
    assert "Printed again" not in said
    cancelled = factories.order(quill, alice, status="cancelled")
    said = text(client.get(f"/parcels/{cancelled.uuid}/"))
    assert "No scan yet" not in said
    assert said.count("Throw away the label") == 1


def test_the_parcels_page_returns_to_itself_and_can_undo_a_mark(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    assert client.post(mark(order), {"printed": "yes"})["Location"] == f"/parcels/{order.uuid}/"
    assert "Printed again" in text(client.get(f"/parcels/{order.uuid}/"))
    client.post(mark(order), {"printed": "no"})
    assert "Printed by" not in text(client.get(f"/parcels/{order.uuid}/"))
    assert listed(client) == ["S7K2QX"]


def test_the_benchs_script_receives_who_printed_it_first(order: Order, alice: User, ana: User, visit: Visit) -> None:
    printing.mark_printed(order, by=ana, at=timezone.now())
    answer = visit(alice).post(mark(order), {"printed": "yes"}, headers={"Accept": "application/json"})
    assert answer.json()["printed"].startswith("Printed by Ana, ")
    answer = visit(alice).post(mark(order), {"printed": "no"}, headers={"Accept": "application/json"})
    assert answer.json() == {"printed": ""}


def test_a_parcel_cancelled_meanwhile_is_not_marked(order: Order, alice: User, visit: Visit) -> None:
    move_to(order, "cancelling", reason="-", at=timezone.now())
    answer = visit(alice).post(mark(order), {"printed": "yes"})
    assert answer.status_code == 409
    assert "Don't use a label that was printed before" in text(answer)
    assert Order.objects.get().printed_at is None


def test_many_labels_are_marked_at_once_and_each_is_audited(quill: Sender, alice: User, visit: Visit) -> None:
    client, found = visit(alice), []
    client.get(BENCH)
    for count in (2, 12):
        orders = [ready(quill, alice) for _ in range(count)]
        with CaptureQueriesContext(connection) as seen:
            answer = client.post("/parcels/print/done/", {"order": [str(order.uuid) for order in orders]})
        found.append(len(seen))
        assert answer["Location"] == BENCH
        assert f"{count} labels marked printed." in text(client.get(BENCH))
    assert found[0] == found[1]
    assert listed(client) == []
    assert {order.printed_by for order in Order.objects.all()} == {alice}
    assert {(row.action, row.subject) for row in Audit.objects.all()} == {
        ("label printed", f"order {order.pk}") for order in Order.objects.all()
    }


def test_only_your_own_booked_parcels_are_marked(
    order: Order, bob: User, quill: Sender, alice: User, ana: User, visit: Visit
) -> None:
    theirs = ready(bob.membership.sender, bob)
    gone = factories.order(quill, alice, status="cancelled", carrier_reference="SGONE")
    printing.mark_printed(earlier := ready(quill, alice), by=ana, at=timezone.now())
    chosen = [str(one.uuid) for one in (order, theirs, gone, earlier)]
    said = text(visit(alice).post("/parcels/print/done/", {"order": [*chosen, "nonsense"]}, follow=True))
    assert "No longer booked: SGONE. Don't use these labels." in said
    printed_by = {one.pk: one.printed_by for one in Order.objects.all()}
    assert printed_by == {order.pk: alice, theirs.pk: None, gone.pk: None, earlier.pk: ana}
    assert "Nothing was marked printed." in text(visit(alice).post("/parcels/print/done/", follow=True))
    many = {"order": [str(uuid.uuid4()) for _ in range(501)]}
    assert visit(alice).post("/parcels/print/done/", many).status_code == 422


ITEMS = [{"description": "Fig candle", "value": "20", "quantity": 2}, {"description": "Wick", "value": "9"}]


def test_the_pick_list_adds_up_what_to_fetch_for_one_days_driver(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    day = dt.date(2026, 12, 1)
    ready(quill, alice, carrier_pickup_date=day, contents=ITEMS, customer_reference="WC-9")
    ready(quill, alice, carrier_pickup_date=day, contents=ITEMS[:1])
    ready(quill, alice, carrier_pickup_date=day, progress="collected", description="Gone")
    ready(quill, alice, carrier_pickup_date=day, first_mile="drop-off", description="Dropped")
    answer = visit(alice).get("/parcels/print/pick-list/?day=2026-12-01")
    assert answer.context["items"] == [("Fig candle", 4), ("Wick", 1)]
    assert "WC-9 Noor Tamsin 2 × Fig candle, Wick" in text(answer)
    assert "This is not a shipping label." in text(answer)


def test_the_handover_sheet_lists_what_the_driver_takes_and_has_a_line_to_sign_on(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    Order.objects.update(carrier_pickup_date=timezone.now().astimezone(quill.tzinfo).date())
    said = text(visit(alice).get("/parcels/print/handover/"))
    for words in ("1 parcel for pickup", "S7K2QX", "Priya Nair", "Boxed ceramic mugs", "Signature"):
        assert words in said
    assert "1 label isn't printed yet." in said
    assert "This is not a shipping label." in said


def test_a_parcel_whose_driver_didnt_come_is_on_todays_sheets_without_a_day_from_the_carrier(
    quill: Sender, alice: User, visit: Visit, time_machine: Any
) -> None:
    """Another driver comes on the next business day (interface section 3), whether or not the carrier names it."""
    today = dt.date(2026, 12, 2)
    time_machine.move_to(dt.datetime(2026, 12, 2, 9, 0, tzinfo=quill.tzinfo))
    yesterday, now = today - dt.timedelta(days=1), timezone.now()
    due = ready(quill, alice, carrier_pickup_date=today, description="Due", printed_at=now, printed_by=alice)
    old = {"carrier_pickup_date": yesterday, "booked_at": now - dt.timedelta(days=3)}
    printed = {"printed_at": now, "printed_by": alice}
    quiet = ready(quill, alice, **old, **printed, description="Packed")
    scanned = ready(quill, alice, **old, progress="pickup_missed", progress_at=now - dt.timedelta(days=1),
                    description="Unpacked")  # fmt: skip
    ready(quill, alice, **old, progress="pickup_futile", progress_at=now - dt.timedelta(days=1))
    moved = ready(quill, alice, progress="pickup_missed", progress_at=now, booked_at=now - dt.timedelta(days=3),
                  carrier_pickup_date=today + dt.timedelta(days=1))  # fmt: skip
    client = visit(alice)
    answer = client.get("/parcels/print/handover/")
    assert [row["order"] for row in answer.context["rows"]] == [due, quiet, scanned]
    assert "3 parcels for pickup, 2 of them missed before" in text(answer)
    assert text(answer).index("The driver didn't come for these before") > text(answer).index(str(due))
    # What is packed already isn't fetched again.
    assert client.get("/parcels/print/pick-list/").context["items"] == [("Due", 1), ("Unpacked", 1)]
    for day, listed_then in ((yesterday, [quiet, scanned]), (today + dt.timedelta(days=1), [moved])):
        rows = client.get("/parcels/print/handover/", {"day": f"{day}"}).context["rows"]
        assert [row["order"] for row in rows if row["order"].progress != "pickup_futile"] == listed_then
    assert 'href="/parcels/print/handover/"' in client.get("/today/").content.decode()


SLIPS = "/parcels/print/packing-slips/"


def slips_of(answer: Any) -> list[str]:
    parts = re.findall(rb"<article.*?</article>", answer.content, re.DOTALL)
    return [text(HttpResponse(part)) for part in parts]


def test_a_packing_slip_says_what_is_in_the_box_and_no_price(quill: Sender, alice: User, visit: Visit) -> None:
    day = dt.date(2026, 12, 1)
    first = ready(quill, alice, carrier_pickup_date=day, contents=ITEMS, customer_reference="WC-9", price="12.08")
    second = ready(quill, alice, carrier_pickup_date=day, description="A <b>jug</b>")
    elsewhen = ready(quill, alice, carrier_pickup_date=day + dt.timedelta(days=1))
    browser = visit(alice)
    of_day = slips_of(browser.get(SLIPS, {"day": "2026-12-01"}))
    assert len(of_day) == 2
    for words in (quill.name, "Order WC-9", "Noor Tamsin", first.carrier_reference, "Fig candle 2 Wick 1"):
        assert words in of_day[0]
    assert "A <b>jug</b> 1" in of_day[1]
    assert not re.search(r"12\.08|\$|\b20\b|\b9\b", of_day[0].replace("WC-9", ""))
    assert slips_of(browser.get(SLIPS, {"parcel": elsewhen.uuid})) != of_day[:1]
    assert len(slips_of(browser.post(SLIPS, {"order": [first.uuid, second.uuid, elsewhen.uuid, "nonsense"]}))) == 3


def test_slips_without_a_selection_lead_to_the_list_and_other_accounts_are_not_found(
    order: Order, alice: User, bob: User, visit: Visit
) -> None:
    assert 'href="/parcels/"' in visit(alice).post(SLIPS).content.decode().split("<main")[1]
    for named in (order.uuid, uuid.uuid4(), "nonsense", ""):
        assert visit(bob).get(SLIPS, {"parcel": named}).status_code == 404
    assert slips_of(visit(bob).post(SLIPS, {"order": order.uuid})) == []


@pytest.mark.parametrize("day", ["2026-02-31", "soon", "2026-12-24"])
def test_a_day_without_a_pickup_says_so_and_an_invalid_day_means_today(alice: User, visit: Visit, day: str) -> None:
    for sheet in ("pick-list", "packing-slips", "handover"):
        assert "No pickup that day" in text(visit(alice).get(f"/parcels/print/{sheet}/", {"day": day}))


def test_no_redirect_leaves_the_site(order: Order, alice: User, visit: Visit) -> None:
    answer = visit(alice).post(mark(order), {"printed": "yes", "query": "//evil.example/?x=1&sort=size"})
    assert answer["Location"] == "/parcels/print/?sort=size"


def test_selected_parcels_are_listed_printed_or_not_and_skipped_ones_are_counted(
    quill: Sender, alice: User, visit: Visit
) -> None:
    first, second = ready(quill, alice), ready(quill, alice)
    bare = factories.order(quill, alice, status="booked")
    printing.mark_printed(second, by=alice, at=timezone.now())
    client, query = visit(alice), f"?order={second.uuid}&order={first.uuid}&order={bare.uuid}&order=nonsense"
    assert listed(client, query) == [second.carrier_reference, first.carrier_reference]
    said = text(client.get(f"{BENCH}{query}"))
    assert "2 of the parcels you chose have no label to print" in said
    assert "1 of 2 printed" in said
    posted = client.post(BENCH, {"order": [str(first.uuid), str(second.uuid)]})
    assert [row["order"] for row in posted.context["rows"]] == [first, second]


def test_five_hundred_selected_parcels_are_accepted_and_one_more_is_refused(
    order: Order, alice: User, visit: Visit
) -> None:
    many = [str(order.uuid)] + [str(uuid.uuid4()) for _ in range(499)]
    assert visit(alice).post(BENCH, {"order": many}).status_code == 200
    answer = visit(alice).post(BENCH, {"order": [*many, str(uuid.uuid4())]})
    assert answer.status_code == 422
    assert "Choose at most 500 parcels at a time" in text(answer)


def test_labels_are_sorted_by_size_or_by_pickup_address(quill: Sender, alice: User, visit: Visit) -> None:
    box = ParcelSize.objects.create(
        sender=quill, name="Shoebox", weight=1, weight_units="kg", length=30, width=20, height=10,
        dimension_units="cm",
    )  # fmt: skip
    big = ready(quill, alice, length_cm=90, carrier_reference="SBIG")
    small = ready(quill, alice, length_cm=1, carrier_reference="SSMALL")
    boxed = ready(quill, alice, size=box, carrier_reference="SBOXED")
    Order.objects.filter(pk=small.pk).update(pickup={**big.pickup, "suburb": "ABBOTSFORD"})
    client = visit(alice)
    assert listed(client) == [str(big), str(small), str(boxed)]
    assert listed(client, "?sort=size") == [str(boxed), str(small), str(big)]
    assert listed(client, "?sort=pickup") == [str(small), str(big), str(boxed)]
    Order.objects.filter(pk=big.pk).update(customer_reference="A-10")
    Order.objects.filter(pk=small.pk).update(customer_reference="A-9")
    Order.objects.filter(pk=boxed.pk).update(customer_reference="")
    assert listed(client, "?sort=number") == [str(small), str(big), str(boxed)]
    assert listed(client, "?sort=nonsense") == listed(client)


def test_single_keys_are_shown_only_to_those_who_have_them_on(order: Order, alice: User, visit: Visit) -> None:
    assert 'aria-keyshortcuts="S"' in visit(alice).get(BENCH).content.decode()
    User.objects.filter(pk=alice.pk).update(has_shortcuts=False)
    page = visit(alice).get(BENCH).content.decode()
    assert 'aria-keyshortcuts="S"' not in page
    assert " data-shortcuts" not in page
    assert 'aria-keyshortcuts="Enter"' in page


def test_the_print_window_opens_by_itself_only_where_the_account_wants_it(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    assert " data-at-once" not in visit(alice).get(BENCH).content.decode()
    Sender.objects.filter(pk=quill.pk).update(prints_at_once=True)
    assert " data-at-once" in visit(alice).get(BENCH).content.decode()


def test_a_suspended_sender_still_prints(order: Order, quill: Sender, alice: User, visit: Visit) -> None:
    Sender.objects.filter(pk=quill.pk).update(suspended_at=timezone.now(), suspension="other")
    client = visit(alice)
    assert listed(client) == ["S7K2QX"]
    assert client.post(mark(order), {"printed": "yes"}).status_code == 302


def test_a_stranger_sees_none_of_the_bench(order: Order, bob: User, visit: Visit) -> None:
    client = visit(bob)
    assert listed(client) == []
    assert client.get(f"{BENCH}?order={order.uuid}").status_code == 404
    assert client.post(mark(order), {"printed": "yes"}).status_code == 404
    assert not Audit.objects.exists()


@pytest.mark.parametrize("who", ["bea", "vic"])
def test_the_bookkeeper_and_the_viewer_get_404(
    order: Order, request: pytest.FixtureRequest, visit: Visit, who: str
) -> None:
    client = visit(request.getfixturevalue(who))
    assert [client.get(page).status_code for page in (BENCH, TEST_PAGE)] == [404, 404]
    assert client.post(mark(order), {"printed": "yes"}).status_code == 404


def test_a_visitor_is_sent_to_log_in(order: Order) -> None:
    for page in (BENCH, TEST_PAGE):
        assert Client().get(page)["Location"].startswith("/accounts/login/")
    assert Client().post(mark(order))["Location"].startswith("/accounts/login/")
    assert Order.objects.get().printed_at is None


def test_other_methods_actions_and_views_are_refused(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    assert client.get(mark(order)).status_code == 405
    assert client.put(BENCH).status_code == 405
    assert client.post(TEST_PAGE).status_code == 405
    assert client.post(mark(order), {"printed": "perhaps"}).status_code == 404
    assert client.get(f"{BENCH}?view=delivered").status_code == 404


def test_the_bench_takes_the_same_number_of_queries_for_one_label_and_for_three(
    quill: Sender, alice: User, visit: Visit
) -> None:
    client, found = visit(alice), []
    client.get(BENCH)  # the first visit writes the session
    for more in (1, 2):
        for _ in range(more):
            printing.mark_printed(made := ready(quill, alice), by=alice, at=timezone.now())
        query = "&".join(f"order={one.uuid}" for one in Order.objects.all())
        with CaptureQueriesContext(connection) as seen:
            answer = client.get(f"{BENCH}?{query}")
        assert len(answer.context["rows"]) == len(found) * 2 + 1
        found.append(len(seen))
    assert made.printed_at
    assert found[0] == found[1] <= 12


def test_the_test_page_says_it_is_not_a_label(alice: User, visit: Visit) -> None:
    said = text(visit(alice).get(TEST_PAGE))
    assert "This is not a shipping label." in said
    assert "100 mm" in said
    assert "4 in" in said


@pytest.mark.parametrize("page", ["/settings/label-size/", "/start/"])
def test_the_test_page_is_offered_where_the_size_is_chosen(alice: User, visit: Visit, page: str) -> None:
    assert f'href="{TEST_PAGE}"' in visit(alice).get(page).content.decode()


def test_the_parcels_page_prints_the_senders_size_first_and_shows_the_tip_once(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    factories.stored_label(order, size="cropped")
    client, page = visit(alice), f"/parcels/{order.uuid}/"
    answer = client.get(page)
    first = re.search(r'href="(/parcels/[^"]+\.pdf)"', answer.content.decode())
    assert first
    assert first[1].endswith("/full.pdf")
    assert text(answer).count("Print at Actual size or 100%") == 1
    Sender.objects.filter(pk=quill.pk).update(label_size="cropped", country="US")
    first = re.search(r'href="(/parcels/[^"]+\.pdf)"', client.get(page).content.decode())
    assert first
    assert first[1].endswith("/cropped.pdf")


def test_without_a_stored_label_the_parcels_page_has_no_printed_button(order: Order, alice: User, visit: Visit) -> None:
    order.labels.update(state="pending")
    assert "Mark printed" not in text(visit(alice).get(f"/parcels/{order.uuid}/"))
