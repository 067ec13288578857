"""What the reports count and how: weeks, percentiles, and the kinds of deliveries and pickups."""

import datetime as dt
import json
import statistics
from collections import Counter
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipping_portal import sheets
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import ChargeKind
from shipping_portal.reports import delivery, pickups, promises, spend
from shipping_portal.reports.day_figures import Figures
from shipping_portal.reports.figures import Cell, counted_rows, parcels_in_words, round_percent, share_in_words
from shipping_portal.reports.shipments import Delivered, Planned, Scans
from shipping_portal.reports.spans import Span, weeks_asked

MELBOURNE = ZoneInfo("Australia/Melbourne")
TODAY = dt.date(2026, 11, 25)  # a Wednesday
SPAN = Span.until(TODAY, 13, MELBOURNE)
DAY = dt.date(2026, 11, 20)


def noon(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(12), MELBOURNE)


def arrived(
    eta_from: dt.date | None = None, eta_to: dt.date | None = None, *, days: float = 2, **changes: str
) -> Delivered:
    where = {"country": "AU", "state": "VIC", **changes}
    at = noon(DAY)
    return Delivered(
        1, at, DAY, eta_from, eta_to, where["country"], where["state"], False, at - dt.timedelta(days=days)
    )


def test_a_period_starts_on_a_monday_and_the_one_before_is_as_long() -> None:
    assert (SPAN.first, SPAN.last) == (dt.date(2026, 8, 31), TODAY)
    assert (SPAN.before.first, SPAN.before.last) == (dt.date(2026, 6, 1), dt.date(2026, 8, 26))
    assert SPAN.first.weekday() == SPAN.before.first.weekday() == 0
    assert SPAN.before.last.weekday() == SPAN.last.weekday()
    assert SPAN.last - SPAN.first == SPAN.before.last - SPAN.before.first


def test_a_period_starts_and_ends_at_the_senders_midnight_even_when_clocks_change() -> None:
    assert SPAN.start == dt.datetime(2026, 8, 30, 14, tzinfo=dt.UTC)  # ten hours ahead in winter
    assert SPAN.end == dt.datetime(2026, 11, 25, 13, tzinfo=dt.UTC)  # eleven in summer
    assert SPAN.day_of(SPAN.end) == dt.date(2026, 11, 26)
    assert SPAN.day_of(SPAN.end - dt.timedelta(seconds=1)) == TODAY


@pytest.mark.parametrize(
    ("text", "weeks"), [("4", 4), ("13", 13), ("52", 52), ("", 13), ("5", 13), ("-4", 13), ("x" * 999, 13)]
)
def test_an_impossible_number_of_weeks_becomes_the_default(text: str, weeks: int) -> None:
    assert weeks_asked(text) == weeks


def test_percentiles_are_linear_between_neighbours() -> None:
    assert spread([10, 20, 30, 40, 50]) == delivery.Spread(Decimal("1.4"), Decimal("3.0"), Decimal("4.6"))
    assert spread([20] * 5) == delivery.Spread(*[Decimal("2.0")] * 3)
    assert spread([5, 90, 10, 20, 15, 30]) == delivery.Spread(Decimal("0.8"), Decimal("1.8"), Decimal("6.0"))


@given(st.lists(st.integers(0, 4000), min_size=5, max_size=200))
def test_percentiles_match_their_definition(tenths: list[int]) -> None:
    """With n sorted values, percentile p is at position (n − 1) · p / 100 from 0, interpolated between two values."""
    exact = statistics.quantiles(tenths, n=10, method="inclusive")
    found = spread(tenths)
    for shown, place in ((found.low, 0), (found.middle, 4), (found.high, 8)):
        assert float(shown) == pytest.approx(exact[place] / 10, abs=0.0501)
    assert found.low <= found.middle <= found.high


def spread(tenths: list[int]) -> delivery.Spread:
    figures = Figures()
    for each in tenths:
        figures.took("Victoria", each)
    return delivery.Spread.of(figures.delivered["Victoria"])


@pytest.mark.parametrize(
    ("first", "last", "outcome"),
    [
        (None, None, promises.NO_DATE),
        (None, DAY, promises.ON_TIME),
        (DAY, DAY, promises.ON_TIME),
        (DAY + dt.timedelta(days=1), DAY + dt.timedelta(days=3), promises.EARLY),
        (None, DAY + dt.timedelta(days=3), promises.ON_TIME),  # without a first day no delivery is early
        (DAY - dt.timedelta(days=3), DAY - dt.timedelta(days=1), promises.LATE),
    ],
)
def test_a_delivery_on_or_before_the_last_expected_day_is_on_time(
    first: dt.date | None, last: dt.date | None, outcome: str
) -> None:
    assert promises.promise_outcome(arrived(first, last)) == outcome


@pytest.mark.parametrize(
    ("scans", "heard", "outcome"),
    [
        (Scans(moved_at=noon(DAY)), None, pickups.ON_THE_DAY),
        (Scans(moved_at=noon(DAY - dt.timedelta(days=1))), None, pickups.ON_THE_DAY),
        (Scans(moved_at=noon(DAY + dt.timedelta(days=1))), None, pickups.LATER),
        (Scans(moved_at=noon(DAY), is_missed=True), None, pickups.MISSED),
        (Scans(moved_at=noon(DAY), is_futile=True), None, pickups.FUTILE),
        (Scans(is_missed=True, is_futile=True), None, pickups.FUTILE),
        (Scans(), None, pickups.MISSED),
        (Scans(), noon(DAY), pickups.MISSED),  # the scans of the booking itself show nothing
        (Scans(), noon(DAY + dt.timedelta(days=2)), pickups.LATER),
    ],
)
def test_a_pickup_is_one_of_four_kinds(scans: Scans, heard: dt.datetime | None, outcome: str) -> None:
    assert pickups.pickup_outcome(Planned(DAY, heard, scans), SPAN) == outcome


def test_a_pickup_planned_for_today_is_still_open() -> None:
    today, so_far = Figures(pickups=Counter({pickups.MISSED: 1})), Figures()
    so_far.add(today, is_over=False)
    assert not so_far.pickups
    so_far.add(today)
    assert so_far.pickups == {pickups.MISSED: 1}


@pytest.mark.parametrize(
    ("country", "state", "place"),
    [("AU", "VIC", "Victoria"), ("AU", "vic", "Victoria"), ("US", "OR", "United States"),
     ("AU", "", "State not known"), ("FR", "", "FR")],
)  # fmt: skip
def test_a_destination_is_the_state_at_home_and_the_country_abroad(country: str, state: str, place: str) -> None:
    sender = Sender(country="AU", zone="Australia/Melbourne")
    assert delivery.place_of(arrived(country=country, state=state), sender) == place


@pytest.mark.parametrize(("days", "tenths"), [(2.0, 20), (2.04, 20), (2.06, 21), (0.0, None), (-1.0, None)])
def test_transit_time_is_in_tenths_of_a_day_and_never_below_zero(days: float, tenths: int | None) -> None:
    assert delivery.tenths_of_days(arrived(days=days)) == tenths


def test_figures_are_the_same_after_a_json_round_trip() -> None:
    figures = Figures({}, Counter(Late=2), Counter(Later=1), {"Tube": (3, 1)})
    for tenths in (2, 4, 4):
        figures.took("Victoria", tenths)
    assert Figures.from_json(json.loads(json.dumps(figures.as_json()))) == figures
    assert Figures.from_json({}) == Figures({}, Counter(), Counter(), {})
    figures.add(figures)
    assert figures.delivered == {"Victoria": [0, 0, 2, 0, 4]}
    assert figures.sizes == {"Tube": (6, 2)}


def test_too_few_deliveries_are_counted_without_a_percentage() -> None:
    assert (share_in_words(1, 4), share_in_words(4, 5), share_in_words(1, 3000)) == ("1 of 4", "80%", "1%")
    assert (round_percent(1, 3), round_percent(3, 3)) == (Decimal("33.3"), Decimal(100))


def test_reports_use_the_words_of_the_senders_country() -> None:
    assert parcels_in_words(1, Sender(country="US")) == "1 package"
    assert parcels_in_words(1044, Sender(country="AU")) == "1,044 parcels"


def test_bars_share_one_scale() -> None:
    lines, _ = counted_rows({"Late": (5, 10), "On time": (10, 2)}, {})
    assert [[mark.length for mark in line.marks] for line in lines] == [[50], [100]]


def test_refunds_are_below_zero_and_no_two_parts_overlap() -> None:
    parts = {"Order cost": Decimal(6), "Extra Cover": Decimal(-1), "Size charges": Decimal(2)}
    marks = spend._stack_marks(spend.Sums(parts | {"Refunds and credits": Decimal(-1)}), zero=80.0, scale=10.0)
    assert [(mark.column, mark.start, mark.length) for mark in marks] == [
        ("Order cost", 20, 60), ("Extra Cover", 80, 10), ("Size charges", 0, 20), ("Refunds and credits", 90, 10),
    ]  # fmt: skip


def test_every_kind_of_charge_is_in_the_spend_chart() -> None:
    assert set(ChargeKind) - set(spend.PART_OF) == {ChargeKind.UNKNOWN}  # never posted


def test_a_file_keeps_negative_numbers_but_turns_formulas_into_text() -> None:
    assert sheets.safe_cell(Cell.money(Decimal("-6.04"), "AUD").value) == "-6.04"
    assert sheets.safe_cell(-3) == "-3"
    assert sheets.safe_cell("-6.04+cmd") == "'-6.04+cmd"
