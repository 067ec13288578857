"""Reports: five charts with the same figures as their table and file, for one's own parcels and money only."""

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import week_of
from shipping_portal.reports import figures
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
SLUGS = ("spend", "delivery", "on-time", "pickups", "size-charges")
Figures = set[tuple[str, str, str, str]]  # group, row, column, value


@pytest.fixture
def page(quill: Sender, alice: User, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Alice's browser. The job counts the days before each page."""
    client = visit(alice)
    get = client.get

    def counted_first(*args: Any, **more: Any) -> Any:
        factories.count_days(quill)
        return get(*args, **more)

    monkeypatch.setattr(client, "get", counted_first)
    return client


def today(quill: Sender) -> dt.date:
    return timezone.now().astimezone(quill.tzinfo).date()


def delivered(
    sender: Sender, by: User, *, ago: int, took: float, late: int = 0, planned: int = 0, **fields: Any
) -> Order:
    """A parcel delivered this many days ago, after this many days on the way. It was `late` days late, or early if negative."""
    at = timezone.now() - dt.timedelta(days=ago)
    moved = at - dt.timedelta(days=took)
    due = at.astimezone(sender.tzinfo).date() - dt.timedelta(days=late)
    day = moved.astimezone(sender.tzinfo).date() - dt.timedelta(days=planned)
    values: dict[str, Any] = {
        "status": "booked", "progress": "delivered", "progress_at": at, "booked_at": moved, "eta_to": due,
        "eta_from": due - dt.timedelta(days=1), "carrier_pickup_date": day,
    }  # fmt: skip
    made = factories.order(sender, by, **{**values, **fields})
    parcel = factories.parcel(made, last_scan_at=at)
    factories.event(parcel, event_type="Pickup", scan_time=moved)
    factories.event(parcel, event_type="Delivered", scan_time=at)
    return made


def one_of_everything(sender: Sender, by: User) -> None:
    """A busy quarter and the one before it, with every kind of figure."""
    now, monday = timezone.now(), week_of(today(sender))
    box, tube = factories.size(sender, name="Mug box"), factories.size(sender, name="Tube")
    for number in range(6):
        order = delivered(sender, by, ago=number + 1, took=1 + number / 2, late=number - 4, size=box)
        factories.charge(order, amount="12.08")
    factories.charge(order, "under-declared", "4.13")
    for number in range(4):
        delivered(sender, by, ago=number + 1, took=9.9, receiver_state="NSW", size=tube, eta_to=None)
    for number in range(7):
        order = delivered(sender, by, ago=100 + number, took=2, late=1, planned=1, size=box)
        week = week_of(order.progress_at.date())
        factories.charge(order, amount="10.00", week=week, day=week)
    for kind, amount in (
        ("cover", "2.50"), ("oversize", "30.00"), ("delay-refund", "-12.08"), ("credit", "-1.00"),
        ("un-cancellation", "8.00"),
    ):  # fmt: skip
        week = monday - dt.timedelta(weeks=2)
        factories.charge(order, kind, amount, week=week, day=week)
    for word in ("Missed Pickup", "Futile Pickup"):
        order = factories.order(
            sender, by, status="booked", carrier_pickup_date=today(sender) - dt.timedelta(days=3),
            progress="in_transit", progress_at=now,
        )  # fmt: skip
        parcel = factories.parcel(order)
        factories.event(parcel, event_type=word, scan_time=now - dt.timedelta(days=3))
        factories.event(parcel, event_type="In Transit", scan_time=now - dt.timedelta(days=1))


def section(body: str, slug: str) -> str:
    found = re.search(rf'<section class="card report" aria-labelledby="{slug}">(.*?)</section>', body, re.DOTALL)
    assert found
    return found[1]


def drawn(part: str) -> Figures:
    """Return what the charts of a section say: every shape's cell, and the sum for every colour."""
    found: Figures = set()
    for group, figure in re.findall(r'<figure class="chart" data-group="(.*?)">(.*?)</figure>', part, re.DOTALL):
        for key in re.findall(r'<ul class="key"(.*?)</ul>', figure, re.DOTALL):
            for column, value in re.findall(r'data-column="(.*?)"\s+data-value="(.*?)"', key):
                found.add((group, "All these weeks", column, value))
        for row, line in re.findall(r'<(?:li|g) data-row="(.*?)">(.*?)</(?:li|g)>', figure, re.DOTALL):
            for column, value in re.findall(r'data-column="(.*?)"\s+data-value="(.*?)"', line):
                found.add((group, unescape(row), column, value))
    return found


def tabled(part: str) -> list[list[str]]:
    heads = [unescape(head) for head in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', part)]
    rows = re.findall(r"<tr>(<td.*?)</tr>", part, re.DOTALL)
    return [heads, *([unescape(cell) for cell in re.findall(r'data-value="(.*?)"', row)] for row in rows)]


def cells(table: list[list[str]]) -> Figures:
    heads, *rows = table
    found: Figures = set()
    for row in rows:
        group = row[1] if heads[1] == "Currency" else ""
        found |= {(group, row[0], head, value) for head, value in zip(heads, row, strict=True)}
    return found


def filed(client: Client, slug: str, weeks: int) -> list[list[str]]:
    answer = client.get(f"/reports/{slug}.csv", {"weeks": weeks})
    return list(csv.reader(io.StringIO(answer.getvalue().decode("utf-8-sig"))))


@pytest.mark.parametrize("weeks", [4, 13, 52])
def test_r16_every_figure_in_a_chart_is_in_its_table_and_its_file(
    page: Client, quill: Sender, alice: User, weeks: int
) -> None:
    one_of_everything(quill, alice)
    body = page.get("/reports/", {"weeks": weeks}).content.decode()
    for slug in SLUGS:
        part = section(body, slug)
        figures, table = drawn(part), tabled(part)
        assert figures, slug
        assert figures <= cells(table), figures - cells(table)
        assert table == filed(page, slug, weeks)


def test_r16_everything_in_the_table_is_in_the_chart(page: Client, quill: Sender, alice: User) -> None:
    one_of_everything(quill, alice)
    body = page.get("/reports/").content.decode()
    for slug, columns in (
        ("spend", {"Order cost", "Extra Cover", "Size charges", "Refunds and credits"}),
        ("delivery", {"Fast 10%, days", "Typical, days", "Slow 10%, days"}),
        ("on-time", {"These weeks"}),
        ("pickups", {"These weeks"}),
        ("size-charges", {"Rate, %"}),
    ):
        part = section(body, slug)
        seen = {cell for cell in cells(tabled(part)) if cell[2] in columns and cell[3] not in {"", "0", "0.00"}}
        assert {cell for cell in seen if cell[1] != "The weeks before"} <= drawn(part)


def test_r16_fewer_than_five_parcels_show_no_figures(page: Client, quill: Sender, alice: User) -> None:
    one_of_everything(quill, alice)
    part = section(page.get("/reports/").content.decode(), "delivery")
    assert ("", "New South Wales", "Typical, days", "9.9") not in cells(tabled(part))
    assert "9.9" not in part
    assert "Not enough parcels (4)" in part
    delivered(quill, alice, ago=1, took=9.9, receiver_state="NSW")
    part = section(page.get("/reports/").content.decode(), "delivery")
    assert ("", "New South Wales", "Typical, days", "9.9") in drawn(part)
    assert ("", "Tube", "Rate, %", "0") not in drawn(section(page.get("/reports/").content.decode(), "size-charges"))


def test_spend_adds_up_to_the_cent_and_says_how_it_compares(page: Client, quill: Sender, alice: User) -> None:
    one_of_everything(quill, alice)
    answer = page.get("/reports/")
    by_name = {row[0]: row for row in filed(page, "spend", 13)}
    assert by_name["All these weeks"][1:] == ["AUD", "80.48", "2.50", "34.13", "-13.08", "104.03"]
    assert by_name["The weeks before"][1:] == ["AUD", "70.00", "0.00", "0.00", "0.00", "70.00"]
    said = (
        "You spent $104.03 in 13 weeks $117.11 AUD charged, $13.08 AUD given back. "
        "49% more than in the 13 weeks before: $70.00 AUD."
    )
    assert said in text(answer)
    weeks = [row for name, row in by_name.items() if name.startswith("Week of")]
    assert len(weeks) == 3  # the ten before the first charge are left out
    assert sum(Decimal(row[-1]) for row in weeks) == Decimal("104.03")


def test_each_currency_has_its_own_chart(page: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    factories.charge(order, amount="12.08")
    factories.charge(order, amount="7.50", currency="NZD")
    part = section(page.get("/reports/").content.decode(), "spend")
    assert part.count("<figure") == 2
    assert {cell[3] for cell in drawn(part) if cell[0] == "NZD" and cell[2] == "Order cost"} == {"7.50"}
    assert "You spent $12.08 AUD and NZD 7.50 in 13 weeks" in unescape(part)


def test_delivery_times_on_time_share_and_pickups_are_explained(page: Client, quill: Sender, alice: User) -> None:
    one_of_everything(quill, alice)
    words = text(page.get("/reports/"))
    assert "Half arrive within 3.2 days 10 parcels delivered. In the 13 weeks before, half took 2 days or less." in (
        words
    )
    assert "83% came on time or early 5 of 6. In the 13 weeks before: 0%." in words
    assert "83% were picked up on the planned day 10 of 12. In the 13 weeks before: 0%." in words
    assert "“Mug box” gets most size charges 1 of 6 parcels got one. In the 13 weeks before: " in words
    assert {row[0]: row[1:] for row in filed(page, "on-time", 13)[1:]} == {
        "Early": ["3", "0"], "On time": ["2", "0"], "Late": ["1", "7"], "No date named": ["4", "0"],
    }  # fmt: skip
    assert [row[1:] for row in filed(page, "pickups", 13)[1:]] == [["10", "0"], ["0", "7"], ["1", "0"], ["1", "0"]]
    assert filed(page, "size-charges", 13)[1][:4] == ["Mug box", "6", "1", "16.7"]


def test_the_rules_are_printed_and_late_parcels_on_their_way_are_counted(
    page: Client, quill: Sender, alice: User
) -> None:
    one_of_everything(quill, alice)
    Order.objects.update(eta_to=today(quill) + dt.timedelta(days=3))
    factories.order(quill, alice, status="booked", progress="in_transit", eta_to=today(quill) - dt.timedelta(days=1))
    words = text(page.get("/reports/"))
    assert "On time means by the last day the carrier gave when you booked." in words
    assert "1 late and still on the way." in words
    assert "Days are in Australia/Melbourne time." in words


def test_without_parcels_each_part_says_so_and_draws_nothing(page: Client) -> None:
    answer = page.get("/reports/")
    words, body = text(answer), answer.content.decode()
    for said in (
        "No charge was posted in these weeks.",
        "No delivery in these weeks.",
        "No planned pickup in these weeks is over.",
        "No charge was posted yet for what you booked in these weeks.",
    ):
        assert said in words
    assert "<figure" not in body
    assert "<table" not in body
    assert filed(page, "spend", 13) == [
        ["Weeks", "Currency", "Order cost", "Extra Cover", "Size charges", "Refunds and credits", "Total"]
    ]


def test_nobody_sees_another_accounts_figures(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    one_of_everything(quill, alice)
    factories.count_days(quill)
    mine = visit(bob)
    assert "<figure" not in mine.get("/reports/").content.decode()
    assert all(len(filed(mine, slug, 13)) == 1 for slug in SLUGS)


def test_an_empty_period_after_a_busy_one_says_so(quill: Sender, alice: User, visit: Visit) -> None:
    one_of_everything(quill, alice)
    later = timezone.now() + dt.timedelta(weeks=14)
    with time_machine.travel(later, tick=False):
        factories.count_days(quill)
        words = text(visit(alice).get("/reports/"))
    for said in (
        "You spent $0.00 in 13 weeks",
        "No delivery in these 13 weeks.",
        "No parcel with a delivery date was delivered in 13 weeks.",
        "No pickup was planned in these 13 weeks.",
        "Nothing you booked in these 13 weeks was charged yet.",
    ):
        assert said in words


def test_a_size_charge_that_was_taken_back_does_not_count(page: Client, quill: Sender, alice: User) -> None:
    for number in range(5):
        order = delivered(quill, alice, ago=number + 1, took=1, size=quill.sizes.first() or factories.size(quill))
        charge = factories.charge(order, "under-declared", "4.13")
    assert filed(page, "size-charges", 13)[1][:4] == ["Mug box", "5", "5", "100"]
    factories.charge(order, "under-declared", "-4.13", reverses=charge)
    assert filed(page, "size-charges", 13)[1][:4] == ["Mug box", "5", "4", "80"]


def test_scans_set_aside_and_cancelled_parcels_count_nowhere(page: Client, quill: Sender, alice: User) -> None:
    order = delivered(quill, alice, ago=2, took=1)
    long_ago = timezone.now() - dt.timedelta(days=400)
    factories.event(order.parcel, scan_time=long_ago, set_aside="scan time is long before the booking")
    factories.event(order.parcel, event_type="Missed Pickup", scan_time=long_ago, set_aside="-")
    delivered(quill, alice, ago=2, took=1, status="cancelled", cancelled_at=timezone.now())
    counts = [[int(row[1]) for row in filed(page, slug, 13)[1:]] for slug in ("delivery", "on-time", "pickups")]
    assert counts == [[1], [0, 1, 0, 0], [1, 0, 0, 0]]
    for number in range(4):
        delivered(quill, alice, ago=number + 1, took=1)
    assert filed(page, "delivery", 13)[1][2:5] == ["1.0", "1.0", "1.0"]


def test_a_pickup_without_a_day_is_planned_for_the_next_business_day(page: Client, quill: Sender, alice: User) -> None:
    for days in (8, 0):  # over, or planned for tomorrow or later
        booked_at = timezone.now() - dt.timedelta(days=days)
        factories.order(quill, alice, status="booked", booked_at=booked_at, pickup_date=None, carrier_pickup_date=None)
    assert [row[1] for row in filed(page, "pickups", 13)[1:]] == ["0", "0", "1", "0"]


def test_an_american_reads_packages(visit: Visit) -> None:
    business = factories.sender(name="Ohio Parts", country="US")
    owner = factories.user("uma@parts.example")
    factories.member(business, owner)
    assert "A package counts here once it's delivered." in text(visit(owner).get("/reports/"))
    assert "Packages you drop off don't count here." in text(visit(owner).get("/reports/"))


def test_unposted_charges_do_not_count(page: Client, quill: Sender, alice: User) -> None:
    report = factories.billing_report(state="checked")
    factories.charge(factories.order(quill, alice, status="booked"), report=report)
    body = page.get("/reports/").content.decode()
    assert 'data-report="spend"' not in body
    assert 'data-report="size-charges"' not in body


def test_the_more_menu_has_reports_only_for_owners_and_bookkeepers(
    alice: User, ana: User, bea: User, vic: User, visit: Visit
) -> None:
    leads = {
        person.email.split("@")[0]: 'href="/reports/"' in visit(person).get("/more/").content.decode()
        for person in (alice, ana, bea, vic)
    }
    assert leads == {"alice": True, "ana": False, "bea": True, "vic": False}
    assert visit(bea).get("/reports/no-such.csv").status_code == 404


def test_the_reports_take_the_same_number_of_queries_for_any_number_of_lines(
    quill: Sender, alice: User, visit: Visit
) -> None:
    page, found = visit(alice), []
    page.get("/reports/")
    for rounds in (0, 1, 5):
        for _ in range(rounds):
            one_of_everything(quill, alice)
            quill.sizes.all().delete()
        factories.count_days(quill)
        with CaptureQueriesContext(connection) as queries:
            page.get("/reports/?weeks=52")
        found.append(len(queries))
    assert found[1] == found[2] <= 10, [query["sql"][:90] for query in queries]


def test_the_page_says_when_the_last_count_was_or_that_there_was_none(
    page: Client, quill: Sender, alice: User, visit: Visit
) -> None:
    assert "Parcels are being counted. Look again in a few minutes." in text(visit(alice).get("/reports/"))
    with time_machine.travel(dt.datetime(2026, 11, 25, 3, 35, tzinfo=dt.UTC), tick=False):
        assert "Parcels counted Wed 25 Nov, 2:35 pm." in text(page.get("/reports/"))


def test_four_figures_on_top_are_each_compared_with_the_period_before(page: Client, quill: Sender, alice: User) -> None:
    one_of_everything(quill, alice)
    tiles = {tile.label: (tile.value, f"{tile.change}{tile.rest}") for tile in page.get("/reports/").context["tiles"]}
    assert tiles == {
        "Spent": ("$104", "$34.03 more than before"),
        "For each booking": ("$17.34", "$7.34 more than before"),
        "On time or early": ("83%", "5 of 6 delivered"),
        "Size charges": ("$34", "1 in 6 bookings, was 1 in 7"),
    }


def test_an_empty_figure_has_no_tile(page: Client) -> None:
    assert page.get("/reports/").context["tiles"] == []


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 9, "0%"), (1, 1000, "1%"), (999, 1000, "99%"), (9, 9, "100%"), (1, 6, "17%"), (3, 4, "3 of 4"), (2, 9, "22%")],
)
def test_a_share_is_a_whole_percentage_or_a_count_if_there_are_few(part: int, whole: int, shown: str) -> None:
    assert figures.share_in_words(part, whole) == shown
