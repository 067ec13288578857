"""What the reports count and how: weeks, percentiles, and which kind of delivery or pickup one was."""

import datetime as dt
import statistics
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipping_portal import sheets
from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import ChargeKind
from shipping_portal.reports import delivery, pickups, promises, spend
from shipping_portal.reports.figures import Cell, counted, parcels_in_words, percent, share
from shipping_portal.reports.shipments import Delivered, Planned, Scans
from shipping_portal.reports.spans import Span, weeks_asked
from tests.table import table

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
    return Delivered(at, DAY, eta_from, eta_to, where["country"], where["state"], at - dt.timedelta(days=days))


def test_a_span_begins_on_a_monday_and_the_one_before_is_as_long() -> None:
    assert (SPAN.first, SPAN.last) == (dt.date(2026, 8, 31), TODAY)
    assert (SPAN.before.first, SPAN.before.last) == (dt.date(2026, 6, 1), dt.date(2026, 8, 26))
    assert SPAN.first.weekday() == SPAN.before.first.weekday() == 0
    assert SPAN.before.last.weekday() == SPAN.last.weekday()
    assert SPAN.last - SPAN.first == SPAN.before.last - SPAN.before.first


def test_its_first_and_last_instants_are_midnights_of_the_sender_also_over_a_change_of_clocks() -> None:
    assert SPAN.start == dt.datetime(2026, 8, 30, 14, tzinfo=dt.UTC)  # ten hours ahead in winter
    assert SPAN.end == dt.datetime(2026, 11, 25, 13, tzinfo=dt.UTC)  # eleven in summer
    assert SPAN.day_of(SPAN.end) == dt.date(2026, 11, 26)
    assert SPAN.day_of(SPAN.end - dt.timedelta(seconds=1)) == TODAY


@table(("text", "weeks"), [("4", 4), ("13", 13), ("52", 52), ("", 13), ("5", 13), ("-4", 13), ("x" * 999, 13)])
def test_weeks_nobody_could_have_chosen_are_the_usual(text: str, weeks: int) -> None:
    assert weeks_asked(text) == weeks


def test_percentiles_are_linear_between_neighbours() -> None:
    assert delivery.Spread.of([1, 2, 3, 4, 5]) == delivery.Spread(Decimal("1.4"), Decimal("3.0"), Decimal("4.6"))
    assert delivery.Spread.of([2.0] * 5) == delivery.Spread(*[Decimal("2.0")] * 3)
    assert delivery.Spread.of([0.5, 9, 1, 2, 1.5, 3]) == delivery.Spread(Decimal("0.8"), Decimal("1.8"), Decimal("6.0"))


@given(st.lists(st.floats(0, 400), min_size=5, max_size=200))
def test_percentiles_are_those_of_their_definition(days: list[float]) -> None:
    """n values in order; p percent lie at place (n − 1) · p / 100 from 0, and in proportion between two of them."""
    ordered, spread = sorted(days), delivery.Spread.of(days)
    for shown, p in ((spread.low, 10), (spread.middle, 50), (spread.high, 90)):
        whole, rest = divmod((len(days) - 1) * p, 100)
        above = ordered[min(whole + 1, len(days) - 1)]
        exact = ordered[whole] + (above - ordered[whole]) * rest / 100
        assert float(shown) == pytest.approx(exact, abs=0.0501)
    assert float(spread.middle) == pytest.approx(statistics.median(days), abs=0.0501)
    assert spread.low <= spread.middle <= spread.high


@table(
    ("first", "last", "outcome"),
    [
        (None, None, promises.NO_DATE),
        (None, DAY, promises.ON_TIME),
        (DAY, DAY, promises.ON_TIME),
        (DAY + dt.timedelta(days=1), DAY + dt.timedelta(days=3), promises.EARLY),
        (None, DAY + dt.timedelta(days=3), promises.ON_TIME),  # without a first day nothing is early
        (DAY - dt.timedelta(days=3), DAY - dt.timedelta(days=1), promises.LATE),
    ],
)
def test_on_time_is_on_or_before_the_last_day(first: dt.date | None, last: dt.date | None, outcome: str) -> None:
    assert promises.outcome(arrived(first, last)) == outcome


@table(
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
    assert pickups.outcome(Planned(DAY, heard, scans), SPAN) == outcome


def test_a_pickup_planned_for_today_is_not_over() -> None:
    over = Planned(TODAY - dt.timedelta(days=1), None, Scans())
    assert pickups.section([Planned(TODAY, None, Scans())], SPAN).rows == []
    assert [row[1].value for row in pickups.section([over], SPAN).rows] == [0, 0, 1, 0]


def test_a_destination_is_the_state_at_home_and_the_country_abroad() -> None:
    sender = Sender(country="AU", zone="Australia/Melbourne")
    parcels = [arrived(), arrived(state="vic"), arrived(country="US", state="OR"), arrived(state="")]
    parcels += [arrived(country="FR", state="")]
    found = delivery.section(parcels, sender, SPAN)
    names = {row[0].value: row[1].value for row in found.rows}
    assert names == {"Victoria": 2, "United States": 1, "State not known": 1, "FR": 1}


def test_a_parcel_first_scanned_at_its_delivery_has_no_time_on_the_way() -> None:
    sender = Sender(country="AU", zone="Australia/Melbourne")
    assert delivery.section([arrived(days=0)], sender, SPAN).rows == []


def test_too_few_are_counted_without_a_share() -> None:
    assert (share(1, 4), share(4, 5), share(1, 3000)) == ("1 of 4", "80%", "1%")
    assert (percent(1, 3), percent(3, 3)) == (Decimal("33.3"), Decimal(100))


def test_words_are_those_of_the_senders_country() -> None:
    assert parcels_in_words(1, Sender(country="US")) == "1 package"
    assert parcels_in_words(1044, Sender(country="AU")) == "1,044 parcels"


def test_bars_share_one_scale() -> None:
    lines, _ = counted({"Late": (5, 10), "On time": (10, 2)}, {})
    assert [[mark.length for mark in line.marks] for line in lines] == [[50], [100]]


def test_what_is_given_back_hangs_below_zero_and_no_two_parts_overlap() -> None:
    parts = {"Order cost": Decimal(6), "Extra Cover": Decimal(-1), "Size charges": Decimal(2)}
    marks = spend._stack(spend.Sums(parts | {"Refunds and credits": Decimal(-1)}), zero=80.0, scale=10.0)
    assert [(mark.column, mark.start, mark.length) for mark in marks] == [
        ("Order cost", 20, 60), ("Extra Cover", 80, 10), ("Size charges", 0, 20), ("Refunds and credits", 90, 10),
    ]  # fmt: skip


def test_every_kind_of_charge_has_its_part_of_the_spend() -> None:
    assert set(ChargeKind) - set(spend.PART_OF) == {ChargeKind.UNKNOWN}  # never posted


def test_a_negative_amount_stays_a_number_in_a_file_and_a_formula_does_not() -> None:
    assert sheets.cell(Cell.money(Decimal("-6.04"), "AUD").value) == "-6.04"
    assert sheets.cell(-3) == "-3"
    assert sheets.cell("-6.04+cmd") == "'-6.04+cmd"
