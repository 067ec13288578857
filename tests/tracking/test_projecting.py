"""The projection of scans: any order, any duplicates and any delay give the same result."""

import datetime as dt
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.models.statuses import Progress
from orders.status.progress import RANK, Projection, Step, project_steps

NOW = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
steps = st.lists(
    st.builds(
        Step,
        scan_time=st.datetimes(dt.datetime(2026, 11, 1), dt.datetime(2026, 12, 1), timezones=st.just(dt.UTC)),  # noqa: DTZ001
        tie=st.text("0123456789abcdef", min_size=4, max_size=4),
        progress=st.sampled_from(["", *Progress.values]),
        received_at=st.datetimes(dt.datetime(2026, 11, 1), dt.datetime(2026, 12, 1), timezones=st.just(dt.UTC)),  # noqa: DTZ001
    ),
    max_size=12,
)


def at(hour: int, progress: str) -> Step:
    return Step(dt.datetime(2026, 11, 19, hour, tzinfo=dt.UTC), f"{hour:04}", progress, NOW)


@given(steps, st.randoms(use_true_random=False))
def test_order_and_duplicates_do_not_matter(scans: list[Step], luck: random.Random) -> None:
    shuffled = scans + [luck.choice(scans) for _ in range(luck.randint(0, 5)) if scans]
    luck.shuffle(shuffled)
    assert project_steps(shuffled) == project_steps(scans)


@given(steps)
def test_a_late_older_scan_never_overtakes_a_newer_one(scans: list[Step]) -> None:
    newest = Step(NOW, "zzzz", Progress.DELIVERED, NOW)
    usable = [step for step in scans if step.scan_time < NOW and not step.is_ahead]
    assert project_steps([*usable, newest]).progress == Progress.DELIVERED


def test_an_info_scan_never_changes_the_progress() -> None:
    result = project_steps([at(1, "collected"), at(2, "")])
    assert (result.progress, result.last_scan_at) == ("collected", at(2, "").scan_time)


def test_a_futile_pickup_is_over_once_the_parcel_is_collected() -> None:
    assert project_steps([at(1, "pickup_futile")]).progress == "pickup_futile"
    assert project_steps([at(1, "pickup_futile"), at(5, "collected")]).progress == "collected"


def test_an_older_scan_does_not_change_a_delivered_parcel() -> None:
    assert project_steps([at(9, "delivered"), at(3, "in_transit")]).progress == "delivered"


def test_scans_at_the_same_time_are_read_in_journey_order() -> None:
    same = [
        Step(NOW, tie, word, NOW)
        for tie, word in zip("bac", ("out_for_delivery", "delivered", "collected"), strict=True)
    ]
    assert project_steps(same).progress == "delivered"


def test_every_progress_has_a_rank() -> None:
    assert set(RANK) == set(Progress.values)


# -- Clocks that are ahead --------------------------------------------------------------------------

HOUR, MINUTE, SECOND = dt.timedelta(hours=1), dt.timedelta(minutes=1), dt.timedelta(seconds=1)


def ahead(word: str, *, received: float, by: float = 10.5, tie: str = "a") -> Step:
    """A scan received this many hours after NOW, from a clock this many hours ahead."""
    at = NOW + received * HOUR
    return Step(at + by * HOUR, tie, word, at)


@pytest.mark.parametrize(("lead", "stated"), [(15 * MINUTE, 15 * MINUTE), (15 * MINUTE + SECOND, 0 * SECOND)])
def test_a_scan_over_a_quarter_of_an_hour_ahead_counts_from_its_receipt(
    lead: dt.timedelta, stated: dt.timedelta
) -> None:
    assert project_steps([Step(NOW + lead, "a", "delivered", NOW)]) == Projection(
        "delivered", NOW + stated, NOW + stated
    )


@pytest.mark.parametrize("by", [1, 9, 14, 24.1, 24 * 365 * 900])
def test_a_scan_is_dated_by_its_receipt_however_far_ahead_the_clock_is(by: float) -> None:
    assert project_steps([ahead("delivered", received=0, by=by)]) == Projection("delivered", NOW, NOW)


@pytest.mark.parametrize(
    ("sound", "later", "stands"),
    [
        ("delivered", "in_transit", "delivered"),
        ("delivered", "", "delivered"),
        ("out_for_delivery", "collected", "out_for_delivery"),
        ("in_transit", "in_transit", "in_transit"),
        ("in_transit", "delivered", "delivered"),
        ("cannot_deliver", "returning", "returning"),
        ("expired", "collected", "collected"),
    ],
)
def test_a_clock_that_is_ahead_never_moves_a_parcel_back(sound: str, later: str, stands: str) -> None:
    """Another scan of the same kind counts, like a driver's second try, and the state starts then."""
    second = ahead(later, received=0.001)
    since = second.received_at if later == stands else NOW
    found = project_steps([Step(NOW, "s", sound, NOW), second])
    assert (found.progress, found.progress_at) == (stands, since)


def test_a_correct_clock_can_still_move_a_parcel_back() -> None:
    assert (
        project_steps([ahead("delivered", received=0), Step(NOW + HOUR, "s", "returning", NOW + HOUR)]).progress
        == "returning"
    )


def test_scans_from_a_clock_that_is_ahead_keep_their_order_however_late_they_arrive() -> None:
    """The delivery was pushed at once; the scan before it only arrived at the third try."""
    delivered, before = ahead("delivered", received=0), ahead("in_transit", received=1, by=8.5)
    assert project_steps([delivered, before]) == Projection("delivered", NOW, NOW + HOUR)
    polled = [ahead(word, received=0, by=by) for word, by in (("delivered", 10), ("returning", 10.1), ("held", 9))]
    assert project_steps(polled).progress == "returning"


@given(steps)
def test_no_progress_is_dated_after_its_scan_was_received(scans: list[Step]) -> None:
    found = project_steps(scans)
    latest = max((step.received_at for step in scans), default=None)
    for at in (found.progress_at, found.last_scan_at):
        assert at is None or (latest is not None and at <= latest + 15 * MINUTE)
