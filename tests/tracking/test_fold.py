"""The fold: any permutation, any duplication, any lateness gives the same projection."""

import datetime as dt
import random

from hypothesis import given
from hypothesis import strategies as st

from orders.models.statuses import Progress
from orders.progress import RANK, Projection, Step, fold

NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
steps = st.lists(
    st.builds(
        Step,
        scan_time=st.datetimes(dt.datetime(2026, 11, 1), dt.datetime(2026, 12, 1), timezones=st.just(dt.UTC)),  # noqa: DTZ001
        tie=st.text("0123456789abcdef", min_size=4, max_size=4),
        progress=st.sampled_from(["", *Progress.values]),
    ),
    max_size=12,
)


def at(hour: int, progress: str) -> Step:
    return Step(dt.datetime(2026, 11, 19, hour, tzinfo=dt.UTC), f"{hour:04}", progress)


@given(steps, st.randoms(use_true_random=False))
def test_order_and_duplicates_do_not_matter(scans: list[Step], luck: random.Random) -> None:
    shuffled = scans + [luck.choice(scans) for _ in range(luck.randint(0, 5)) if scans]
    luck.shuffle(shuffled)
    assert fold(shuffled, now=NOW) == fold(scans, now=NOW)


@given(steps)
def test_a_late_older_scan_never_overtakes_a_newer_one(scans: list[Step]) -> None:
    newest = Step(NOW, "zzzz", Progress.DELIVERED)
    usable = [step for step in scans if step.scan_time < NOW]
    assert fold([*usable, newest], now=NOW).progress == Progress.DELIVERED


def test_info_never_changes_where_the_parcel_is() -> None:
    result = fold([at(1, "collected"), at(2, "")], now=NOW)
    assert (result.progress, result.last_scan_at) == ("collected", at(2, "").scan_time)


def test_a_futile_pickup_is_over_once_the_parcel_is_collected() -> None:
    assert fold([at(1, "pickup_futile")], now=NOW).progress == "pickup_futile"
    assert fold([at(1, "pickup_futile"), at(5, "collected")], now=NOW).progress == "collected"


def test_delivered_then_an_older_scan_stays_delivered() -> None:
    assert fold([at(9, "delivered"), at(3, "in_transit")], now=NOW).progress == "delivered"


def test_scans_of_one_instant_are_read_in_the_order_a_parcel_travels() -> None:
    same = [Step(NOW, "b", "out_for_delivery"), Step(NOW, "a", "delivered"), Step(NOW, "c", "collected")]
    assert fold(same, now=NOW).progress == "delivered"


def test_every_progress_has_its_place_in_the_journey() -> None:
    assert set(RANK) == set(Progress.values)


def test_a_scan_more_than_a_day_ahead_is_left_out() -> None:
    assert fold([Step(NOW + dt.timedelta(hours=25), "a", "delivered")], now=NOW) == Projection()
