"""Pickup days: the carrier's calendar is shown and stored. Today is the date at the pickup address (§2.1, §8)."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import time_machine
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules, bookings, verdict
from orders.booking.limits import NOT_COUNTED
from orders.models import Draft, Order, Quote
from orders.models.statuses import Progress
from orders.quoting import asking, offers
from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Party
from tests import factories
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

MANHATTAN = {"suburb": "NEW YORK", "state": "NY", "postcode": "10001", "phone": "212 555 0142"}
BUFFALO = {**MANHATTAN, "suburb": "BUFFALO", "postcode": "14202", "country": "US"}
# Saturday 4 July 2026 is observed on the Friday: a day off by our calendar, a working day for the fake carrier.
THURSDAY_EVENING = dt.datetime(2026, 7, 3, 1, tzinfo=dt.UTC)  # 21:00 on the 2nd in New York
FRIDAY, MONDAY, TUESDAY, WEDNESDAY = (dt.date(2026, 7, day) for day in (3, 6, 7, 8))


@pytest.fixture
def rain() -> tuple[Sender, User]:
    """A business in New York."""
    business = factories.sender(name="Rain", country="US", zone="America/New_York")
    owner = factories.user("rain@rain.example")
    factories.member(business, owner)
    factories.pickup_address(business, email=owner.email, **MANHATTAN)
    return business, owner


@pytest.fixture
def thursday_evening() -> Iterator[None]:
    with time_machine.travel(THURSDAY_EVENING, tick=False):
        yield


def asked(rain: tuple[Sender, User]) -> Quote:
    business, owner = rain
    parcel = factories.details(business, receiver=factories.receiver(**BUFFALO))
    return asking.ask_for_prices(business, parcel, by=owner, now=timezone.now())


def submit(quote: Quote, day: dt.date | None = None, code: str = "STANDARD-PICKUP") -> Order:
    return bookings.submit(
        quote=quote, code=code, by=quote.made_by, form_token=uuid.uuid4(), pickup_date=day, now=timezone.now()
    )


def work(order: Order) -> Order:
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "booked", order.problem
    return order


def test_the_page_shows_the_day_the_carrier_books(
    thursday_evening: None, carrier: SandboxCarrier, rain: tuple[Sender, User], visit: Callable[[User], Client]
) -> None:
    quote, page = asked(rain), visit(rain[1])
    shown = text(page.get(factories.prices_of(quote)))
    assert "Next business day Fri, Jul 3, expected" in shown
    order = submit(quote)
    assert "Pickup Fri, Jul 3" in text(page.get(f"/parcels/{order.uuid}/"))  # nothing is sent yet
    assert work(order).carrier_pickup_date == FRIDAY


def test_our_days_follow_the_carriers_day_and_each_can_be_booked(
    thursday_evening: None, carrier: SandboxCarrier, rain: tuple[Sender, User]
) -> None:
    quote = asked(rain)
    pickup = Party(**quote.details["pickup"])
    days = booking_rules.pickup_days(rain[0], pickup, timezone.now(), first=FRIDAY)
    assert days == [FRIDAY, MONDAY, TUESDAY, WEDNESDAY]
    for day in days:
        assert work(submit(quote, day)).expected_pickup() == day
    with pytest.raises(booking_rules.PickupDayPassed):
        submit(quote, WEDNESDAY + dt.timedelta(days=1))


def test_a_carrier_that_starts_later_than_our_calendar_decides(
    thursday_evening: None, rain: tuple[Sender, User]
) -> None:
    receiver = factories.receiver(**factories.ADDRESSES["US"], country="US")
    parcel = factories.details(rain[0], receiver=receiver)
    quote = factories.quote(*rain, parcel=parcel, pickup=TUESDAY.isoformat())
    pickup = Party(**quote.details["pickup"])
    assert booking_rules.pickup_days(rain[0], pickup, timezone.now(), first=TUESDAY) == [TUESDAY, WEDNESDAY]
    with pytest.raises(booking_rules.PickupDayPassed):
        submit(quote, MONDAY)


def test_agreeing_later_may_keep_the_carriers_own_day(
    thursday_evening: None, carrier: SandboxCarrier, rain: tuple[Sender, User]
) -> None:
    order = submit(asked(rain), FRIDAY)
    Order.objects.filter(pk=order.pk).update(status="not_booked", due_at=None, **NOT_COUNTED)
    order.refresh_from_db()
    bookings.confirm(order, by=rain[1], now=timezone.now())
    assert work(order).carrier_pickup_date == FRIDAY


@pytest.mark.parametrize("given", [None, "2026-07-01"])
def test_without_a_future_day_from_the_carrier_our_calendar_decides(
    thursday_evening: None, rain: tuple[Sender, User], given: str | None
) -> None:
    first = asking.first_pickup({"pickup": given, "first_mile": "pickup"})
    pickup = Party(**factories.details(rain[0]).to_json()["pickup"])
    assert booking_rules.pickup_days(rain[0], pickup, timezone.now(), first=first) == [MONDAY, TUESDAY, WEDNESDAY]


@pytest.mark.parametrize(("asked_for", "expected"), [(None, FRIDAY), (TUESDAY, TUESDAY)])
def test_without_a_day_in_the_reply_the_requested_or_quoted_day_counts(
    thursday_evening: None, carrier: SandboxCarrier, contract: Callable[[str], None],
    rain: tuple[Sender, User], asked_for: dt.date | None, expected: dt.date,
) -> None:  # fmt: skip
    contract('booked_pickup_date = ""')
    assert work(submit(asked(rain), asked_for)).carrier_pickup_date == expected


def test_a_drop_off_has_no_pickup_day(
    thursday_evening: None, carrier: SandboxCarrier, rain: tuple[Sender, User]
) -> None:
    quote = asked(rain)
    code = next(offer["code"] for offer in quote.products if offer["first_mile"] == "drop-off")
    order = submit(quote, code=code)
    assert order.expected_pickup() is None
    assert work(order).expected_pickup() is None


def test_a_price_checked_again_has_its_own_day(
    carrier: SandboxCarrier, contract: Callable[[str], None], rain: tuple[Sender, User]
) -> None:
    contract('booked_pickup_date = ""')
    with time_machine.travel(THURSDAY_EVENING, tick=False):
        order = submit(asked(rain))
    with time_machine.travel(THURSDAY_EVENING + dt.timedelta(hours=4), tick=False):  # Friday, 1:00
        assert work(order).carrier_pickup_date == MONDAY


def test_services_that_start_on_different_days_each_show_their_own(
    rain: tuple[Sender, User], visit: Callable[[User], Client], thursday_evening: None
) -> None:
    quote = factories.quote(*rain, pickup=FRIDAY.isoformat())
    later = {**quote.products[0], "code": "EXPRESS-PICKUP", "pickup": TUESDAY.isoformat()}
    Quote.objects.filter(pk=quote.pk).update(products=[*quote.products, later])
    shown = text(visit(rain[1]).get(factories.prices_of(quote)))
    assert "Fri, Jul 3, expected" in shown
    assert "Tue, Jul 7, expected" in shown
    assert live(quote, rain).count("Pickup from") == 2


def live(quote: Quote, rain: tuple[Sender, User]) -> str:
    """Return the prices beside the form, where the services share one choice of days."""
    quote.refresh_from_db()
    page = offers.for_page(quote, now=timezone.now())
    context = {"quote": quote, "draft": Draft(), "page": page, "sender": rain[0]}
    return " ".join(render_to_string("orders/_live_prices.html", context).split())


def test_a_day_shared_by_all_services_is_shown_once_next_to_the_form(
    rain: tuple[Sender, User], thursday_evening: None
) -> None:
    shown = live(factories.quote(*rain, pickup=FRIDAY.isoformat()), rain)
    assert "Next business day<small>Fri, Jul 3, expected</small>" in shown
    assert "Pickup from" not in shown
    assert shown.count('name="pickup_date"') == 4


SYDNEY = {"suburb": "SYDNEY", "state": "NSW", "postcode": "2000", "country": "AU"}
PERTH = {"suburb": "PERTH", "state": "WA", "postcode": "6000", "country": "AU"}
# Tuesday 24 November 2026, 22:00 in Perth, is Wednesday 1:00 in Sydney.
LATE = dt.datetime(2026, 11, 24, 14, tzinfo=dt.UTC)
TUE, WED, THU = (dt.date(2026, 11, day) for day in (24, 25, 26))
PAIRS = [
    pytest.param("Australia/Perth", SYDNEY, WED, THU, id="Perth account, Sydney pickup"),
    pytest.param("Australia/Sydney", PERTH, TUE, WED, id="Sydney account, Perth pickup"),
]


@pytest.fixture
def away(quill: Sender, alice: User) -> Callable[..., Order]:
    """`away(zone, pickup)` is booked from a zone other than its sender's."""

    def make(zone: str, place: dict[str, str], **fields: Any) -> Order:
        Sender.objects.filter(pk=quill.pk).update(zone=zone)
        quill.refresh_from_db()
        order = factories.order(quill, alice, **{"status": "booked", "created_at": LATE, **fields})
        order.pickup |= place
        order.save()
        return order

    return make


@pytest.mark.parametrize(("zone", "place", "today", "first"), PAIRS)
def test_the_first_day_on_offer_is_after_today_at_the_pickup_address(
    away: Callable[..., Order], zone: str, place: dict[str, str], today: dt.date, first: dt.date
) -> None:
    order = away(zone, place)
    assert booking_rules.pickup_days(order.sender, order.details().pickup, LATE)[0] == first


@pytest.mark.parametrize(("zone", "place", "today", "first"), PAIRS)
def test_whether_a_chosen_day_has_come_depends_on_the_pickup_address(
    away: Callable[..., Order], zone: str, place: dict[str, str], today: dt.date, first: dt.date
) -> None:
    pickup = away(zone, place).details().pickup
    assert places.is_day_reached(today, pickup, LATE)
    assert not places.is_day_reached(first, pickup, LATE)
    assert not places.is_day_reached(None, pickup, LATE)


@pytest.mark.parametrize(("zone", "place", "today", "first"), PAIRS)
def test_an_older_price_loses_its_first_day_once_it_is_today(
    away: Callable[..., Order], zone: str, place: dict[str, str], today: dt.date, first: dt.date
) -> None:
    order = away(zone, place)
    ours = booking_rules.pickup_days(order.sender, order.details().pickup, LATE)
    assert booking_rules.pickup_days(order.sender, order.details().pickup, LATE, first=today) == ours
    assert booking_rules.pickup_days(order.sender, order.details().pickup, LATE, first=first)[0] == first


@pytest.mark.parametrize(("zone", "place", "today", "first"), PAIRS)
def test_a_price_with_a_day_that_has_come_is_checked_again(
    away: Callable[..., Order], zone: str, place: dict[str, str], today: dt.date, first: dt.date
) -> None:
    assert verdict.is_old(away(zone, place, quoted_at=LATE, quoted_pickup_date=today), LATE)
    assert not verdict.is_old(away(zone, place, quoted_at=LATE, quoted_pickup_date=first), LATE)


@pytest.mark.parametrize(("zone", "place", "today", "first"), PAIRS)
def test_a_pickup_is_missed_when_its_day_is_over_where_the_parcel_is(
    away: Callable[..., Order], zone: str, place: dict[str, str], today: dt.date, first: dt.date,
    visit: Callable[[User], Client], alice: User,
) -> None:  # fmt: skip
    booked_at = LATE - dt.timedelta(days=4)
    missed = away(zone, place, carrier_pickup_date=today - dt.timedelta(days=1), booked_at=booked_at)
    waits = away(zone, place, carrier_pickup_date=today, booked_at=booked_at)
    assert missed.shown_progress(LATE) == Progress.PICKUP_MISSED
    assert waits.shown_progress(LATE) == Progress.NONE
    with time_machine.travel(LATE, tick=False):
        answer = visit(alice).get("/today/")
    [group] = answer.context["handled"]
    assert [row["order"] for row in group.rows] == [missed]
