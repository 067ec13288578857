"""Today: its counts match the list's, it says what happens next, and it takes the same queries on any day."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Draft, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import week_of
from shipping_portal.reports.models import DayFigures
from tests import factories
from tests.pages.typed import text
from tests.queries import sql_of

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **{"status": "booked", **fields})


def day(quill: Sender, days: int = 0) -> dt.date:
    return timezone.now().astimezone(quill.tzinfo).date() + dt.timedelta(days=days)


def test_the_labels_to_print_add_up_and_name_drop_offs(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    for fields in (
        {"first_mile": "drop-off"},
        {"carrier_pickup_date": day(quill)},
        {"carrier_pickup_date": day(quill)},
    ):
        factories.stored_label(order(**fields))
    order(carrier_pickup_date=day(quill), printed_at=timezone.now())
    said = text(page.get("/today/"))
    assert "Labels to print 3 2 for pickup, 1 to drop off" in said
    assert "To drop off: 1 label to print Print 3 labels" in said


def one_of_everything(order: Callable[..., Order], quill: Sender) -> None:
    factories.stored_label(order())
    missed: dict[str, Any] = {
        "booked_at": timezone.now() - dt.timedelta(days=20),
        "carrier_pickup_date": day(quill, -9),
    }
    for fields in (
        {"status": "rejected", "problem": {"text": "The postcode is not on the route."}},
        {"status": "draft"},
        {"progress": "pickup_futile"},
        {"progress": "damaged"},
        {"status": "unconfirmed"},
        {"status": "cancelled", "used_after_cancel_at": timezone.now()},
        {"progress": "in_transit", "eta_to": day(quill, -2)},
        {"progress": "in_transit", "eta_to": day(quill)},
        {"progress": "delivered", "progress_at": timezone.now()},
        {"carrier_pickup_date": day(quill), "printed_at": timezone.now()},
        {"carrier_pickup_date": day(quill, 30)},
        {"progress": "pickup_missed"},
        missed,
    ):
        order(**fields)


def count_of(answer: Any) -> int:
    found = re.search(r"([\d,]+) parcels?\b", text(answer)[text(answer).index("Filter and sort") :])
    assert found
    return int(found[1])


def test_every_count_matches_the_list_it_links_to(page: Client, order: Callable[..., Order], quill: Sender) -> None:
    """R15."""
    for _ in range(7):
        one_of_everything(order, quill)
    answer = page.get("/today/")
    context = answer.context
    shown = {slug: count for slug, _, _, count in context["lanes"]}
    for line in [*context["needs"], *context["handled"]]:
        shown[line.slug] = shown.get(line.slug, 0) + line.count
    for slug in ("labels-to-print", "on-the-way", "due-today", "late", "delivered-lately"):
        shown[slug] = context["counts"][slug.replace("-", "_")]
    assert shown == {slug: page.get("/parcels/", {"view": slug}).context["count"] for slug in shown}
    assert len(shown) == 15
    assert {slug for slug, count in shown.items() if count < 7} <= {"not-cancelled", "picked-up", "out-for-delivery"}
    body = answer.content.decode()
    linked = set(re.findall(r"\?view=([a-z-]+)", body)) | {"labels-to-print"}
    assert set(shown) - {"not-cancelled"} <= linked
    for pickup in context["pickups"]:
        listed = page.get("/parcels/", {"status": "waiting", "pickup": pickup["day"].isoformat()})
        assert listed.context["count"] == pickup["count"] == 7
    assert [pickup["printed"] for pickup in context["pickups"]] == [7, 0]


def test_a_line_counts_every_parcel_with_its_reason_even_behind_many_newer_ones(
    page: Client, order: Callable[..., Order]
) -> None:
    order(status="booked", progress="lost")
    for _ in range(61):
        order(status="booked", progress="held")
    lines = [line for line in page.get("/today/").context["needs"] if line.slug == "delivery-problem"]
    assert [(line.rows[0]["order"].progress, line.count) for line in lines] == [("held", 61), ("lost", 1)]


def test_returns_have_their_own_lines(page: Client, order: Callable[..., Order]) -> None:
    sent = [order(progress="returning") for _ in range(2)]
    order(progress="returning", returns=sent[0])
    lines = [line for line in page.get("/today/").context["needs"] if line.slug == "delivery-problem"]
    assert sorted((line.words, line.count, len(line.rows)) for line in lines) == [
        ("Coming back", 2, 2),
        ("Going back to them", 1, 1),
    ]


def test_each_reason_shows_once_with_its_count_and_the_rest_is_counted(
    page: Client, order: Callable[..., Order]
) -> None:
    for number in range(12):
        order(status="rejected", problem={"text": "The phone is a digit short."}, receiver_name=f"Rosa {number}")
    for number in range(6):
        order(status="rejected", problem={"text": f"Reason number {number}."})
    answer = page.get("/today/")
    said = text(answer)
    assert said.count("The phone is a digit short.") == 1
    assert "Not booked: 12 The phone is a digit short. Rosa 11" in said
    assert "and 9 more" in said
    assert [line.count for line in answer.context["needs"]] == [12, 1, 1, 1, 1, 2]
    assert "Booking failed: 2 more" in said


def test_a_draft_needs_attention(page: Client, quill: Sender, alice: User, bea: User, visit: Visit) -> None:
    """U21."""
    draft = Draft.objects.create(
        sender=quill, made_by=alice, values={"receiver_name": "Priya Nair"}, updated_at=timezone.now()
    )
    answer = page.get("/today/")
    assert "1 thing needs you." in text(answer)
    assert "Priya Nair" in text(answer)
    assert f'href="/parcels/drafts/{draft.uuid}/"' in answer.content.decode()
    assert "Priya" not in text(visit(bea).get("/today/"))


def test_due_and_late_parcels_show_their_days_and_their_step(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    order(progress="out_for_delivery", eta_to=day(quill), receiver_name="Amara Osei")
    order(progress="collected", eta_to=day(quill, -2), receiver_name="Josie Calloway")
    order(progress="in_transit", eta_to=day(quill, 1), receiver_name="Not Yet")
    answer = page.get("/today/")
    due = [(row["receiver"].name, row["late"], row["step"], row["initials"]) for row in answer.context["due"]]
    assert due == [("Josie Calloway", 2, 2, "JC"), ("Amara Osei", 0, 4, "AO")]
    assert "2 days late" in text(answer)


def test_no_tile_or_card_is_empty(page: Client, order: Callable[..., Order]) -> None:
    order(progress="delivered", progress_at=timezone.now())
    body = page.get("/today/").content.decode()
    assert body.count('class="tile"') == 1
    for card in ("needs-title", "handled-title", "pickup-title", "due-title"):
        assert card not in body


def test_spend_is_the_newest_weeks_and_only_for_those_who_see_money(
    page: Client, order: Callable[..., Order], quill: Sender, ana: User, visit: Visit
) -> None:
    week = week_of(day(quill)) - dt.timedelta(days=7)
    factories.charge(order(), week=week, amount="12.60")
    answer = page.get("/today/")
    assert "Spent $12.60" in text(answer)
    assert page.get(f"/billing/{answer.context['spent']['name']}/").status_code == 200
    assert "Spent" not in text(visit(ana).get("/today/"))


def test_spend_is_compared_with_earlier_weeks_in_its_currency(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    monday = week_of(day(quill))
    for weeks, amount in ((1, "12.60"), (2, "20.00"), (3, "5.00"), (9, "99.00")):
        factories.charge(order(), week=monday - dt.timedelta(weeks=weeks), amount=amount)
    factories.charge(order(), week=monday - dt.timedelta(weeks=2), amount="1.00", currency="USD")
    answer = page.get("/today/")
    assert "$7.40 less than before" in text(answer)
    assert answer.context["spent"]["tile"].values == [5, 20, Decimal("12.60")]


def test_a_week_long_ago_is_not_shown_as_spend(page: Client, order: Callable[..., Order], quill: Sender) -> None:
    factories.charge(order(), week=week_of(day(quill)) - dt.timedelta(weeks=2), amount="12.60")
    assert page.get("/today/").context["spent"] is None


def test_deliveries_have_a_chart_of_days_and_an_on_time_share(
    page: Client, order: Callable[..., Order], quill: Sender, bob: User
) -> None:
    order(progress="delivered", progress_at=timezone.now())
    for ago, outcomes in ((0, {"Late": 50}), (1, {"On time": 3, "Late": 1}), (7, {"Early": 1}), (8, {"Late": 9})):
        DayFigures.objects.create(sender=quill, day=day(quill, -ago), figures={"promises": outcomes}, late=[])
    theirs = Sender.objects.get(memberships__user=bob)
    DayFigures.objects.create(sender=theirs, day=day(quill, -1), figures={"promises": {"Late": 70}}, late=[])
    answer = page.get("/today/")
    assert "in the last 7 days, 80% on time" in text(answer)
    assert answer.context["deliveries"].values == [0] * 6 + [9, 1] + [0] * 5 + [4]


def test_today_says_what_happens_next(
    parcel_tools: None, page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    one_of_everything(order, quill)
    answer = page.get("/today/")
    words, body = text(answer), answer.content.decode()
    for said in (
        "The postcode is not on the route.",
        "Print 1 label",
        "Have it ready, then choose a new day under “Change delivery or pickup”. Don't cancel.",
        "The label stays on. Don't cancel.",
        "another driver is booked for the next business day",
        "Missed twice, so this may qualify for a refund; we've passed it to support",
        "Don't book again",
        "labels printed 1 of 1",
        "The driver comes today for 1 parcel.",
    ):
        assert said in words
    futile = Order.objects.get(progress="pickup_futile")
    assert f'href="/orders/{futile.uuid}/tracking-page/"' in body
    assert words.index("Needs you") < words.index("Being handled") < words.index("Where your parcels are")


def test_no_driver_comes_for_a_parcel_that_todays_driver_couldnt_collect(
    alice: User, visit: Visit, order: Callable[..., Order], quill: Sender, time_machine: Any
) -> None:
    """Another comes only once its sender has chosen another day."""
    time_machine.move_to(dt.datetime(2026, 12, 2, 15, 0, tzinfo=quill.tzinfo))
    page, now, today = visit(alice), timezone.now(), day(quill)
    futile = {"progress": "pickup_futile", "printed_at": now}
    order(**futile, carrier_pickup_date=today, progress_at=now - dt.timedelta(hours=1))
    again = order(**futile, carrier_pickup_date=today, progress_at=now - dt.timedelta(days=1))
    later = order(**futile, carrier_pickup_date=day(quill, 1), progress_at=now)
    answer = page.get("/today/")
    assert [(pickup["day"], pickup["count"]) for pickup in answer.context["pickups"]] == [
        (today, 1), (day(quill, 1), 1)
    ]  # fmt: skip
    for when, expected in ((today, again), (day(quill, 1), later)):
        [row] = page.get("/parcels/print/handover/", {"day": f"{when}"}).context["rows"]
        assert row["order"] == expected
        assert page.get("/parcels/", {"status": "waiting", "pickup": f"{when}"}).context["count"] == 1


def test_a_quiet_day_and_a_first_day_say_different_things(
    page: Client, order: Callable[..., Order], vic: User, visit: Visit
) -> None:
    first = text(page.get("/today/"))
    assert "Your first one takes about a minute." in first
    assert "Check a price" in first
    assert "Check a price" not in text(visit(vic).get("/today/"))
    order(progress="delivered", progress_at=timezone.now())
    quiet = text(page.get("/today/"))
    assert "Nothing needs you right now." in quiet
    assert "Your first one" not in quiet
    assert "1 Delivered in 7 days" in quiet


def test_a_bookkeeper_sees_initials_and_cannot_book(
    order: Callable[..., Order], quill: Sender, bea: User, visit: Visit
) -> None:
    one_of_everything(order, quill)
    words = text(visit(bea).get("/today/"))
    assert "N. Tamsin" in words
    for hidden in ("Noor", "Change delivery", "Print 1", "Fix and book", "The postcode is not"):
        assert hidden not in words


@pytest.mark.parametrize(("who", "prints"), [("ana", True), ("bea", False), ("vic", False)])
def test_only_those_who_may_book_see_a_way_to_print(
    order: Callable[..., Order], request: pytest.FixtureRequest, visit: Visit, who: str, prints: bool
) -> None:
    factories.stored_label(order())
    answer = visit(request.getfixturevalue(who)).get("/today/")
    assert "Labels to print" in text(answer)
    assert ("Print 1 label" in text(answer)) == prints
    assert ('href="/parcels/print/"' in answer.content.decode()) == prints


def test_other_accounts_parcels_do_not_count(
    order: Callable[..., Order], quill: Sender, bob: User, visit: Visit
) -> None:
    one_of_everything(order, quill)
    assert "Your first one takes about a minute." in text(visit(bob).get("/today/"))


def test_today_takes_the_same_number_of_queries_on_a_full_day(
    page: Client, order: Callable[..., Order], quill: Sender
) -> None:
    page.get("/today/")
    with CaptureQueriesContext(connection) as queries:
        page.get("/today/")
    assert len(queries) <= 10  # there is no parcel yet
    found = []
    for rounds in (1, 1, 21):
        for _ in range(rounds):
            one_of_everything(order, quill)
        with CaptureQueriesContext(connection) as queries:
            page.get("/today/")
        found.append(len(queries))
    assert Order.objects.count() > 300
    assert found[0] == found[1] == found[2] <= 10, [query["sql"][:90] for query in queries]


@pytest.mark.postgres
@pytest.mark.skipif(
    "sqlite" in settings.DATABASES["default"]["ENGINE"], reason="its plans know no partial index by value"
)
def test_due_parcels_are_looked_up_by_day(page: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page.get("/today/")
    (due,) = [sql for sql in sql_of(queries) if '."eta_to" ASC' in sql]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # the table is empty
        cursor.execute(f"EXPLAIN {due}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert re.search(r"orders_due.*\n *Index Cond: .*eta_to <= ", plan), plan


def test_the_check_for_news_says_only_whether_anything_changed(page: Client, order: Callable[..., Order]) -> None:
    seen = re.search(r'data-ask="(/today/\?seen=[\d-]+)"', page.get("/today/").content.decode())
    assert seen
    assert page.get(seen[1]).status_code == 204
    order(status="rejected", problem={"text": "The postcode is not on the route."})
    answer = page.get(seen[1])
    assert (answer.status_code, answer.content) == (200, b"")
