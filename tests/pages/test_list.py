"""Views, filters, paging both ways and bulk actions, all with links and forms and without a script."""

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from html import unescape
from itertools import pairwise
from typing import Any
from unittest.mock import ANY

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.cancelling import cancels
from orders.list.system_views import VIEWS
from orders.models import Order, SavedView
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
TODAY = timezone.now().date()


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **{"status": "booked", **fields})


def sheet(answer: Any) -> list[dict[str, str]]:
    body = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(body)))


def local_day(quill: Sender, days: int = 0) -> dt.date:
    return timezone.now().astimezone(quill.tzinfo).date() + dt.timedelta(days=days)


@pytest.mark.parametrize(
    ("view", "fields"),
    [
        ("needs-attention", {"progress": "pickup_futile"}),
        ("waiting-for-pickup", {"progress": ""}),
        ("on-the-way", {"progress": "in_transit"}),
        ("late", {"progress": "in_transit", "eta_to": TODAY - dt.timedelta(days=3)}),
        ("delivery-problem", {"progress": "held"}),
        ("delivered", {"progress": "delivered"}),
        ("cancelled", {"status": "cancelled"}),
        ("drafts", {"status": "draft"}),
        ("not-booked", {"status": "rejected"}),
        ("couldnt-collect", {"progress": "pickup_futile"}),
        ("checking", {"status": "unconfirmed"}),
        ("used-after-cancelling", {"status": "cancelled", "used_after_cancel_at": timezone.now()}),
    ],
)
def test_a_view_lists_what_its_name_says_and_nothing_else(
    page: Client, order: Callable[..., Order], view: str, fields: dict[str, Any]
) -> None:
    made = order(customer_reference="MINE", **fields)
    order(progress="damaged" if view != "delivery-problem" else "delivered", customer_reference="OTHER")
    words = text(page.get("/parcels/", {"view": view}))
    assert "MINE" in words, made
    if view != "needs-attention":
        assert "1 parcel" in words
        assert "OTHER" not in words


def test_labels_to_print_are_those_nobody_printed(page: Client, order: Callable[..., Order], alice: User) -> None:
    waits, done = order(), order(printed_at=timezone.now(), printed_by=alice)
    for made in (waits, done):
        factories.stored_label(made)
    order()  # its label is still being made
    words = text(page.get("/parcels/?view=labels-to-print"))
    assert "1 parcel" in words
    assert str(waits) in words


def test_a_missed_pickup_is_recognised_by_the_calendar_and_by_scans(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    booked_at = timezone.now() - dt.timedelta(days=9)
    silent = order(booked_at=booked_at, carrier_pickup_date=local_day(quill, -3))
    found = order(progress="pickup_missed")
    ahead = order(booked_at=booked_at, carrier_pickup_date=local_day(quill, 1))
    words = text(page.get("/parcels/?view=driver-didnt-come"))
    assert "2 parcels" in words
    assert str(silent) in words
    assert str(found) in words
    assert str(ahead) not in words


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_view_says_what_belongs_in_it(page: Client, view: str) -> None:
    words = text(page.get("/parcels/", {"view": view}))
    assert "No parcels yet" in words if view == "all" else VIEWS[view].empty in words


def test_a_parcel_booked_at_midnight_belongs_to_the_day_that_begins(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    today = local_day(quill)
    order(booked_at=dt.datetime.combine(today, dt.time(), quill.tzinfo))
    for day, words in ((today - dt.timedelta(days=1), "No parcels"), (today, "1 parcel")):
        assert words in text(page.get("/parcels/", {"booked_from": f"{day}", "booked_to": f"{day}"}))


def test_filters_narrow_the_list_and_each_is_a_chip_that_removes_it(
    page: Client, order: Callable[..., Order], quill: Sender, ana: User
) -> None:
    day, size = local_day(quill, 2), factories.size(quill)
    fields: dict[str, Any] = {
        "carrier_pickup_date": day,
        "size": size,
        "printed_at": timezone.now(),
        "printed_by": ana,
        "made_by": ana,
    }
    wanted = order(**fields)
    today = local_day(quill)
    query = {
        "pickup": f"{day}",
        "booked_from": f"{today}",
        "booked_to": f"{today}",
        "service": "STANDARD-PICKUP",
        "size": str(size.uuid),
        "country": "AU",
        "printed": "yes",
        "by": str(ana.pk),
        "status": "waiting",
    }
    for name in ("size", "printed_at", "made_by", "carrier_pickup_date"):
        order(**{key: value for key, value in fields.items() if key != name})
    answer = page.get("/parcels/", query)
    words = text(answer)
    assert "1 parcel" in words
    assert str(wanted) in words
    assert "Size: Mug box" in words
    assert "Made by: Ana" in words
    body = answer.content.decode()
    assert body.count("Remove filter") == len(query)


@pytest.mark.parametrize(
    "query",
    ["pickup=soon", "size=big", "by=9x", "booked_to=9999-12-31", "booked_from=0001-01-01", "view=nowhere", "import=1",
     "country=XX", "printed=maybe", "service=%0A", "after=x", "after=9999-12-31.5&sort=pickup"],
)  # fmt: skip
def test_an_impossible_filter_value_is_ignored(page: Client, order: Callable[..., Order], query: str) -> None:
    order()
    assert "1 parcel" in text(page.get(f"/parcels/?{query}"))


@pytest.mark.parametrize("sort", ["newest", "oldest", "pickup"])
def test_paging_forward_and_back_misses_no_parcel(
    page: Client, order: Callable[..., Order], quill: Sender, sort: str
) -> None:
    for number in range(103):
        day = None if number % 5 == 0 else local_day(quill, number % 3)
        order(carrier_pickup_date=day, customer_reference=f"N{number:03d}")
    address, seen, pages = f"/parcels/?sort={sort}", [], []
    while address:
        answer = page.get(address)
        here = [row["order"].customer_reference for row in answer.context["rows"]]
        pages.append((here, answer.context["back"]))
        seen += here
        address = f"/parcels/{answer.context['on']}" if answer.context["on"] else ""
    assert sorted(seen) == [f"N{number:03d}" for number in range(103)]
    assert [len(here) for here, _ in pages] == [50, 50, 3]
    for (earlier, _), (_, back) in pairwise(pages):
        answer = page.get(f"/parcels/{back}")
        assert [row["order"].customer_reference for row in answer.context["rows"]] == earlier
    assert answer.context["on"]


def test_counting_stops_at_a_thousand(page: Client, order: Callable[..., Order]) -> None:
    last = order()
    Order.objects.bulk_create(factories.copy_of(last, number) for number in range(998))
    assert "999 parcels" in text(page.get("/parcels/"))
    factories.copy_of(last, 998).save()
    assert "1,000 parcels" in text(page.get("/parcels/"))
    factories.copy_of(last, 999).save()
    assert "1,000+ parcels" in text(page.get("/parcels/"))


def test_a_page_of_parcels_reads_few_columns_and_no_more_for_each_row(
    page: Client, order: Callable[..., Order], django_assert_max_num_queries: Any
) -> None:
    for fields in ({}, {"first_mile": "drop-off"}, {"status": "rejected"}, {"progress": "pickup_futile"}):
        order(**fields)
    page.get("/parcels/")
    with django_assert_max_num_queries(12) as asked:
        page.get("/parcels/")
    [rows] = [q["sql"] for q in asked.captured_queries if "LIMIT 51" in q["sql"]]
    assert "receiver_name" in rows
    for unread in ('"breakdown"', '"contents"', '"entered"', '"search"', '"note"'):
        assert unread not in rows


def test_a_search_from_the_top_opens_the_only_parcel_it_finds(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    assert page.get("/parcels/?q=tamsin&open=1")["Location"] == f"/parcels/{made.uuid}/"
    order()
    assert "2 parcels" in text(page.get("/parcels/?q=tamsin&open=1"))


def test_a_view_is_saved_for_yourself_or_for_the_team(
    page: Client, order: Callable[..., Order], ana: User, bob: User, visit: Visit
) -> None:
    order(printed_at=timezone.now(), customer_reference="MINE")
    order(customer_reference="OTHER")
    saved = page.post("/parcels/views/", {"name": "Late", "query": "printed=yes&before=3&x=y"})
    assert saved["Location"] == "/parcels/?view=late-2"  # there is a built-in view of that name
    words = text(page.get("/parcels/?view=late-2"))
    assert "MINE" in words
    assert "OTHER" not in words
    hers = visit(ana)
    assert "OTHER" in text(hers.get("/parcels/?view=late-2"))
    page.post("/parcels/views/", {"name": "Late", "query": "printed=yes", "shared": "yes"})
    assert SavedView.objects.count() == 1
    assert "OTHER" not in text(hers.get("/parcels/?view=late-2"))
    assert hers.post("/parcels/views/late-2/delete/").status_code == 404
    assert visit(bob).post("/parcels/views/late-2/delete/").status_code == 404
    page.post("/parcels/views/late-2/delete/")
    assert not SavedView.objects.exists()


def test_a_saved_view_stays_open_when_it_is_paged_sorted_or_selected(page: Client, order: Callable[..., Order]) -> None:
    for _ in range(51):
        order(printed_at=timezone.now())
    order()
    page.post("/parcels/views/", {"name": "Mine", "query": "printed=yes"})
    first = page.get("/parcels/?view=mine").content.decode()
    for words in ("Older", "Select all 51", "Reference"):
        link = re.search(rf'href="([^"]+)"[^>]*>\s*{words}', first)
        assert link, words
        shown = page.get(f"/parcels/{unescape(link[1])}")
        assert "Delete the view “Mine”" in text(shown), words
        assert (shown.context["count"], shown.context["list_query"].filters) == (51, {"printed": ANY}), words


def test_a_saved_view_stays_open_after_an_action(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    page.post("/parcels/views/", {"name": "Mine", "query": "printed=no"})
    fields = re.findall(r'name="query" value="([^"]*)"', page.get("/parcels/?view=mine").content.decode())
    sent = {"order": made.uuid, "note": "Gift"}
    for address, query in zip(("/parcels/columns/", "/parcels/note/"), fields, strict=True):
        answer = page.post(address, {"query": unescape(query), **sent}, follow=True)
        assert "Delete the view “Mine”" in text(answer), address


def test_a_view_saved_twice_is_stored_once(page: Client, order: Callable[..., Order]) -> None:
    for query in ("printed=no", "printed=yes"):
        page.post("/parcels/views/", {"name": "Mine", "query": query})
    assert [(view.slug, view.query) for view in SavedView.objects.all()] == [("mine", "printed=yes")]


def test_a_shared_view_shows_its_search_only_to_those_who_book(
    page: Client, order: Callable[..., Order], ana: User, bea: User, vic: User, visit: Visit
) -> None:
    order(printed_at=timezone.now())
    searched = {"name": "Hers", "query": "q=noor.tamsin%40example.net&printed=yes", "shared": "yes"}
    page.post("/parcels/views/", searched)
    assert "noor.tamsin@example.net" in text(visit(ana).get("/parcels/?view=hers"))
    for person in (bea, vic):
        shown = visit(person).get("/parcels/?view=hers")
        assert "noor.tamsin" not in shown.content.decode()
        assert "The search of this view is left out" in text(shown)
        assert "Label: Printed" in text(shown)
    own = visit(vic)
    own.post("/parcels/views/", {"name": "Mine", "query": "q=order-7"})
    assert "Search: order-7" in text(own.get("/parcels/?view=mine"))


def test_a_whole_view_can_be_selected_across_pages(page: Client, order: Callable[..., Order]) -> None:
    for _ in range(52):
        order()
    order(progress="delivered")
    first = page.get("/parcels/?view=waiting-for-pickup")
    assert "Select all 52 in this view" in text(first)
    body = page.get("/parcels/?view=waiting-for-pickup&select=all").content.decode()
    assert body.count('name="order"') == 52
    assert body.count(" checked>") == 50


def test_cancelling_many_names_the_parcels_it_skips_and_why(
    parcel_tools: None, page: Client, order: Callable[..., Order]
) -> None:
    fine = order()
    left = {
        order(progress="pickup_missed"): "Another driver is booked",
        order(progress="pickup_futile"): "choose a new day under “Change delivery or pickup”",
        order(progress="in_transit"): "already been picked up",
        order(status="cancelled"): "cancelled already",
        order(status="rejected"): "isn't booked",
    }
    uuids = [made.uuid for made in (fine, *left)]
    words = text(page.post("/parcels/cancel/", {"order": uuids}))
    assert "Cancel 1 parcel?" in words
    assert all(why in words for why in left.values())
    fine.refresh_from_db()
    assert fine.status == "booked"
    page.post("/parcels/cancel/", {"order": uuids, "sure": "yes"})
    fine.refresh_from_db()
    assert fine.status == "cancelling"
    for made in left:
        before = made.status
        made.refresh_from_db()
        assert made.status == before


def test_a_scan_that_comes_while_many_are_cancelled_is_mentioned(
    page: Client, order: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    futile = order(progress="pickup_futile")
    ask = cancels.ask_to_cancel

    def scanned_meanwhile(one: Order, **how: Any) -> None:
        try:
            ask(one, **how)
        finally:
            Order.objects.filter(pk=one.pk).update(progress="collected")

    monkeypatch.setattr(cancels, "ask_to_cancel", scanned_meanwhile)
    answer = page.post("/parcels/cancel/", {"order": str(futile.uuid), "sure": "yes"}, follow=True)
    assert "already been picked up" in text(answer)


def test_other_accounts_parcels_are_not_cancelled_noted_or_exported(
    order: Callable[..., Order], bob: User, visit: Visit
) -> None:
    made = order(note="kept")
    stranger = visit(bob)
    for address in ("/parcels/cancel/", "/parcels/note/", "/parcels/export.csv", "/parcels/again/"):
        answer = stranger.post(address, {"order": [made.uuid], "sure": "yes", "note": "taken"})
        assert answer.status_code == 302, address
        assert str(made.uuid) not in answer["Location"]
    made.refresh_from_db()
    assert (made.status, made.note) == ("booked", "kept")


def test_one_note_is_added_to_all_selected_parcels(page: Client, order: Callable[..., Order]) -> None:
    chosen, other = [order(note="old"), order()], order(note="mine")
    uuids = [made.uuid for made in chosen]
    assert "1 of them has a note already" in text(page.post("/parcels/note/", {"order": uuids}))
    page.post("/parcels/note/", {"order": uuids, "note": "Fragile\nleft shelf"})
    assert set(Order.objects.filter(uuid__in=uuids).values_list("note", flat=True)) == {"Fragile left shelf"}
    other.refresh_from_db()
    assert other.note == "mine"


def test_a_note_of_many_lines_is_kept_to_its_last_letter(page: Client, order: Callable[..., Order]) -> None:
    """The browser lets people write 500 characters. A line end is one of them, and is sent as two."""
    made = order()
    lines = ["a" * 99] * 5
    page.post("/parcels/note/", {"order": made.uuid, "note": "\r\n".join(lines) + "z"})
    made.refresh_from_db()
    assert made.note == " ".join(lines) + "z"


@pytest.mark.parametrize(
    ("count", "note", "said"),
    [
        (1, "Fragile", "Note saved on 1 parcel."),
        (2, "Fragile", "Note saved on 2 parcels."),
        (1, "", "Note removed from 1 parcel."),
        (2, " ", "Note removed from 2 parcels."),
    ],
)
def test_a_note_is_confirmed_with_the_number_of_parcels(
    page: Client, order: Callable[..., Order], count: int, note: str, said: str
) -> None:
    uuids = [order(note="old").uuid for _ in range(count)]
    asked = page.post("/parcels/note/", {"order": uuids}).content.decode()
    assert (">old</textarea>" in asked) is (count == 1)
    assert said in text(page.post("/parcels/note/", {"order": uuids, "note": note}, follow=True))


@pytest.mark.parametrize("name", ["", "   ", "a\x07b"])
def test_a_view_without_a_readable_name_is_not_saved(page: Client, name: str) -> None:
    answer = page.post(reverse("save_view"), {"name": name, "query": "printed=no"}, follow=True)
    assert "Give the view a name. Nothing was saved." in text(answer)
    assert not SavedView.objects.exists()


def test_one_parcel_can_be_sent_again_and_two_cannot(page: Client, order: Callable[..., Order]) -> None:
    one, two = order(), order()
    assert page.post("/parcels/again/", {"order": [one.uuid]})["Location"].endswith(f"?again={one.uuid}")
    assert page.post("/parcels/again/", {"order": [one.uuid, two.uuid]})["Location"] == "/parcels/"


def test_an_export_has_no_formulas_and_lists_what_the_list_shows(page: Client, order: Callable[..., Order]) -> None:
    made = order(receiver_name="=HYPERLINK(1)", note="+1", progress="delivered")
    order()
    answer = page.get("/parcels/export.csv?view=delivered")
    assert answer["Cache-Control"] == "private, no-store"
    [row] = sheet(answer)
    assert (row["Reference"], row["To"], row["Note"]) == (str(made), "'=HYPERLINK(1)", "'+1")
    assert (row["Status"], row["Price"], row["E-mail"]) == ("Delivered", "12.08", "noor.tamsin@example.net")
    assert len(sheet(page.post("/parcels/export.csv", {"order": [made.uuid]}))) == 1


def test_the_byte_order_mark_can_be_left_out(page: Client, order: Callable[..., Order]) -> None:
    order()
    with_it, without = (b"".join(page.get(f"/parcels/export.csv?mark={mark}").streaming_content) for mark in ("", "no"))
    assert with_it == b"\xef\xbb\xbf" + without


@pytest.mark.parametrize(("who", "hidden"), [("bea", ["Noor", "HOBART"]), ("vic", ["@", "0491", "Sample"])])
def test_an_export_shows_each_role_no_more_than_its_list(
    order: Callable[..., Order], visit: Visit, request: pytest.FixtureRequest, who: str, hidden: list[str]
) -> None:
    order(note="a secret note")
    body = b"".join(visit(request.getfixturevalue(who)).get("/parcels/export.csv").streaming_content).decode()
    assert "Tamsin" in body
    assert [word for word in [*hidden, "secret"] if word in body] == []


def tabs_of(page: Client) -> dict[str, str]:
    """Return each tab's text, including those under More."""
    context = page.get("/parcels/").context
    return {tab.slug: tab.words for tab in (*context["tabs"], *context["hidden_tabs"])}


def test_a_tab_counts_what_its_view_lists_and_an_empty_one_is_hidden(
    page: Client, order: Callable[..., Order], quill: Sender, alice: User
) -> None:
    kinds: list[dict[str, Any]] = [
        {"status": "rejected"}, {"status": "draft"}, {"progress": "in_transit"}, {"progress": "delivered"},
        {"progress": "in_transit", "eta_to": local_day(quill, -3)}, {"status": "cancelled"}, {},
    ]  # fmt: skip
    soon = local_day(quill, 3)
    for fields in kinds:
        order(**{"eta_to": soon, **fields})
    factories.stored_label(order(eta_to=soon))
    factories.draft(quill, alice)
    tabs = tabs_of(page)
    assert tabs == {
        "all": "8", "needs-attention": "2", "labels-to-print": "1", "waiting-for-pickup": "2", "on-the-way": "2",
        "late": "1", "delivered": "1", "cancelled": "1", "drafts": "2",
    }  # fmt: skip
    for slug in tabs.keys() - {"drafts", "all"}:
        assert slug in [tab.slug for tab in page.get("/parcels/", {"view": slug}).context["tabs"]], "not folded"
        assert len(page.get("/parcels/", {"view": slug}).context["rows"]) == int(tabs[slug]), slug
    assert "Delivery problem 0" in text(page.get("/parcels/?view=delivery-problem"))


def test_the_tab_of_a_long_list_says_that_there_are_more(page: Client, order: Callable[..., Order]) -> None:
    order(progress="delivered")
    last = order()
    Order.objects.bulk_create(factories.copy_of(last, number) for number in range(1000))
    order(progress="delivered")
    tabs = tabs_of(page)
    assert (tabs["all"], tabs["delivered"], tabs["waiting-for-pickup"]) == ("1,000+", "1+", "1,001")
