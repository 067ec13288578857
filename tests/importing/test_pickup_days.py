"""A row's own pickup day is used if it is on offer; otherwise the row waits."""

import datetime as dt

import pytest
from django.utils import timezone

from orders.booking import booking_rules
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import answering, listing, pickup_days, submitting
from shipping_portal.importing.models import Import
from tests import factories
from tests.orders.test_importing import GOOD, HEADER, work_off
from tests.sandbox_carrier import SandboxCarrier

DAY = dt.date(2026, 12, 2)


@pytest.mark.parametrize(
    ("text", "country", "days"),
    [
        ("2026-12-02", "AU", {DAY}),
        ("2026-12-02T00:00:00", "US", {DAY}),
        ("2026-12-02 00:00:00", "CA", {DAY}),
        ("2/12/2026", "AU", {DAY}),
        ("12/2/2026", "US", {DAY}),
        ("2/12/2026", "US", {dt.date(2026, 2, 12)}),  # which is not on offer, so that it waits
        ("2/12/2026", "CA", {DAY, dt.date(2026, 2, 12)}),
        ("02.12.26", "AU", {DAY}),
        ("25/12/2026", "CA", {dt.date(2026, 12, 25)}),
        ("25/12/2026", "US", set()),
        ("46358", "AU", {DAY}),
        ("46358.0", "US", {DAY}),
        ("2 Dec 2026", "US", {DAY}),
        ("Wed, 2 December 2026", "AU", {DAY}),
        ("December 2, 2026", "AU", {DAY}),
        ("tomorrow", "AU", set()),
        ("31/02/2026", "AU", set()),
        ("0", "AU", set()),
        ("", "AU", set()),
    ],
)
def test_a_day_is_read_the_way_spreadsheets_and_people_in_the_country_write_it(
    text: str, country: str, days: set[dt.date]
) -> None:
    assert set(pickup_days.readings(text, country)) == days


@pytest.fixture
def on_offer(quill: Sender, alice: User) -> list[dt.date]:
    address = quill.pickup_address()
    assert address is not None
    return booking_rules.pickup_days(quill, address.party(), timezone.now())


def taken(quill: Sender, alice: User, *days: str) -> Import:
    rows = [f"{GOOD.replace('1001', str(1001 + at))},{day}" for at, day in enumerate(days)]
    file = factories.taken("\n".join([f"{HEADER},Pickup date", *rows]).encode(), quill, alice)
    work_off(file)
    return file


def test_a_rows_own_day_is_booked_instead_of_the_one_for_all(
    quill: Sender, alice: User, localities: None, carrier: SandboxCarrier, on_offer: list[dt.date]
) -> None:
    file = taken(quill, alice, on_offer[1].isoformat(), "n/a")
    press = submitting.Press("cheapest_pickup", alice, timezone.now(), on_offer[2])
    choices = submitting.choosing.choices_by_rule(submitting.ready(file), press.rule, "")
    is_picked_up = [bool(one.offer and one.offer["first_mile"] == "pickup") for one in choices]
    assert submitting.begin(file, press) == 2
    days = list(file.rows.order_by("number").values_list("pickup_date", flat=True))
    wanted = [on_offer[1], on_offer[2]]
    assert days == [day if picked_up else None for day, picked_up in zip(wanted, is_picked_up, strict=True)]
    assert any(is_picked_up)


def test_a_row_with_a_day_not_on_offer_waits_until_its_sender_ignores_the_day(
    quill: Sender, alice: User, localities: None, carrier: SandboxCarrier, on_offer: list[dt.date]
) -> None:
    before, after = on_offer[0] - dt.timedelta(days=7), on_offer[-1] + dt.timedelta(days=1)
    file = taken(quill, alice, before.isoformat(), after.isoformat(), on_offer[-1].isoformat(), "soon")
    assert list(file.rows.values_list("state", flat=True)) == ["fix", "fix", "ready", "fix"]
    assert answering.ignore_columns(file, [11], timezone.now()) == 3
    work_off(file)
    assert set(file.rows.values_list("state", "pickup_date")) == {("ready", None), ("ready", on_offer[-1])}


@pytest.mark.parametrize(("rule", "is_picked_up"), [("cheapest", False), ("cheapest_pickup", True)])
def test_a_drop_off_row_is_listed_without_a_pickup_day(
    rule: str,
    is_picked_up: bool,
    quill: Sender,
    alice: User,
    localities: None,
    carrier: SandboxCarrier,
    on_offer: list[dt.date],
) -> None:
    file = taken(quill, alice, on_offer[1].isoformat())
    [line] = listing.page(file.rows.all(), rule, "", dearest_of=None, number=1).lines
    assert (line.row.pickup_date, line.is_picked_up) == (on_offer[1], is_picked_up)
    choice = submitting.choosing.choices_by_rule(submitting.ready(file), rule, "")[0]
    assert choice.offer
    assert (choice.offer["first_mile"] == "pickup") == is_picked_up
