"""Pickup days of rows: the carrier's own days are taken row by row, and any other day makes its row wait."""

import datetime as dt

import pytest
from django.utils import timezone

from orders import booking_rules
from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import answering, checking, pickup_days, submitting
from shipping_portal.importing.models import Import
from tests import factories
from tests.orders.test_importing import GOOD, HEADER, shop, states, work_off  # noqa: F401  (a fixture)
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
PICKED_UP = "cheapest_pickup"


def on_offer(sender: Sender) -> list[dt.date]:
    address = sender.pickup_address()
    assert address
    return booking_rules.pickup_days(sender, address.party(), timezone.now())


def checked(sender: Sender, by: User, *days: str, name: str = "Pickup date") -> Import:
    rows = [f"{GOOD[:-4]}{1000 + number},{day}" for number, day in enumerate(days)]
    file = factories.taken("\r\n".join([f"{HEADER},{name}", *rows]).encode(), sender, by)
    work_off(file)
    return file


def booked_days(file: Import, day: dt.date | None) -> dict[str, dt.date | None]:
    submitting.begin(file, submitting.Press(PICKED_UP, file.made_by, timezone.now(), pickup_date=day))
    work_off(file)
    return dict(Order.objects.values_list("customer_reference", "pickup_date"))


def test_each_row_is_booked_for_its_own_day_and_the_others_for_the_files(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    second, third = on_offer(quill)[1:3]
    file = checked(quill, alice, second.isoformat(), "", third.strftime("%d/%m/%Y"), third.strftime("%d %B %Y"), "n/a")
    assert states(file) == ["ready"] * 5
    wanted = {"1000": second, "1001": None, "1002": third, "1003": third, "1004": None}
    assert dict(file.rows.values_list("reference", "pickup_date")) == wanted
    assert booked_days(file, second) == wanted | {"1001": second, "1004": second}


def test_a_parcel_that_is_dropped_off_has_no_pickup_day(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, on_offer(quill)[1].isoformat())
    submitting.begin(file, submitting.Press("cheapest", alice, timezone.now()))
    work_off(file)
    order = Order.objects.get()
    assert (order.first_mile, order.pickup_date) == ("drop-off", None)


def test_a_day_that_is_not_on_offer_waits_until_one_press_says_that_it_does_not_matter(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    days = on_offer(quill)
    today = timezone.now().astimezone(quill.tzinfo).date()
    beyond = days[-1] + dt.timedelta(days=1)
    file = checked(quill, alice, today.isoformat(), beyond.isoformat(), "soon", days[-1].isoformat())
    assert states(file) == ["fix", "fix", "fix", "ready"]
    assert [list(row.problems) for row in file.rows.all()[:3]] == [["unread:11"]] * 3
    first = file.rows.all()[0]
    assert checking.again(first, checking.let_through(first), timezone.now())
    checking.work(first.pk)
    assert states(file) == ["ready", "fix", "fix", "ready"]
    assert answering.pass_over(file, [11], timezone.now()) == 2
    file.refresh_from_db()
    work_off(file)
    assert set(file.rows.values_list("state", "pickup_date")) == {("ready", None), ("ready", days[-1])}


@pytest.mark.parametrize(
    ("text", "country", "day"),
    [
        ("2026-12-03", "AU", dt.date(2026, 12, 3)),
        ("2026-12-03 00:00:00", "CA", dt.date(2026, 12, 3)),
        ("3/12/2026", "AU", dt.date(2026, 12, 3)),
        ("3/12/2026", "US", dt.date(2026, 3, 12)),
        ("3/12/2026", "CA", None),
        ("3 Dec 2026", "US", dt.date(2026, 12, 3)),
        ("December 3, 2026", "AU", dt.date(2026, 12, 3)),
        ("3-Dec-26", "CA", dt.date(2026, 12, 3)),
        ("31/2/2026", "AU", None),
        ("2026-12-03 14:00", "AU", None),
        ("3" * 5000, "AU", None),
    ],
)
def test_a_day_is_read_as_its_country_writes_it(text: str, country: str, day: dt.date | None) -> None:
    assert pickup_days.read(text, country) == day
