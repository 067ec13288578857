"""Rows that look wrong are booked only once their sender has confirmed them."""

from dataclasses import replace
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.drafting.parcel_details import ParcelDetails, density_of, describe_doubt
from orders.models import Order, Quote
from orders.quoting import choosing, offers
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Measures
from shipping_portal.importing import checking, outliers, submitting
from shipping_portal.importing.models import Import
from tests import factories
from tests.orders.ledger import in_the_ledger
from tests.orders.outliers import ready
from tests.orders.test_importing import GOOD, checked, states, work_off
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
LIGHT, HEAVY = "Very light for their size", "Very heavy for their size"
SMALL = ("0.35,30,20,15", "2.4,32,24,11", "1.1,25,18,12")
TEN_TIMES = ("0.35,300,200,150", "2.4,320,240,110", "1.1,250,180,120")


def rows(*measures: str, first: int = 1001) -> list[str]:
    return [
        GOOD.replace("2.4,32,24,11,1001", f"{typed},{number}") for number, typed in enumerate(measures, start=first)
    ]


def press(file: Import, rule: str = "cheapest") -> submitting.Press:
    return submitting.Press(rule, file.made_by, timezone.now())


def look(file: Import, rule: str = "cheapest") -> list[outliers.Doubt]:
    return outliers.find_outliers(file, choosing.choices_by_rule(submitting.ready(file), rule, ""))


def reasons(file: Import) -> dict[str, int]:
    return {doubt.reason: len(doubt.choices) for doubt in look(file)}


def say_right(file: Import, tokens: list[str] | None = None) -> int:
    """Confirm every doubt, or those with these tokens. Return the number of rows."""
    doubts = look(file)
    return sum(outliers.confirm_outliers(file, doubts, token) for token in tokens or [doubt.token for doubt in doubts])


@pytest.fixture(params=[0, 20], ids=["a fresh account", "an account with twenty parcels"])
def before(
    request: pytest.FixtureRequest, carrier: SandboxCarrier, localities: None, quill: Sender, alice: User
) -> int:
    if request.param:
        history(quill, alice, *["9.80"] * request.param)
    return int(request.param)


def test_a_file_with_sizes_ten_times_too_big_is_booked_only_once_confirmed(
    before: int, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, *rows(*TEN_TIMES))
    assert submitting.begin(file, press(file)) == 0
    assert say_right(file, ["yes"]) == 0
    assert submitting.begin(file, press(file)) == 0
    work_off(file)
    assert (carrier.ledger("booked"), Order.objects.count()) == ([], before)
    assert say_right(file) == 3
    assert submitting.begin(file, press(file)) == 3
    work_off(file)
    assert len(carrier.ledger("booked")) == 3


def test_the_other_rows_are_booked_and_the_one_that_looks_wrong_is_not(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, *rows(*SMALL, TEN_TIMES[0]))
    assert submitting.begin(file, press(file)) == 3
    work_off(file)
    assert (len(shop.ledger("booked")), states(file)[-1]) == (3, "warning")


def test_booking_after_the_doubts_have_changed_books_nothing(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, *rows(*SMALL, TEN_TIMES[0]))
    newest = max(row.quote_id or 0 for row in file.rows.all())
    for shown in ("", "others"):
        seen = submitting.Seen(rows=3, newest=newest, doubts=shown)
        with pytest.raises(submitting.MoreIsReady):
            submitting.begin(file, replace(press(file), seen=seen))
    seen = submitting.Seen(rows=3, newest=newest, doubts=outliers.doubts_token(look(file)))
    assert submitting.begin(file, replace(press(file), seen=seen)) == 3


def test_a_file_of_plausible_parcels_is_booked_at_once(
    before: int, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, *rows(*SMALL))
    assert submitting.begin(file, press(file)) == 3


@pytest.fixture
def shop(carrier: SandboxCarrier, localities: None) -> SandboxCarrier:
    return carrier


def history(sender: Sender, by: User, *prices: str, status: str = "booked", currency: str = "AUD") -> None:
    """Booked parcels at these prices, the newest last."""
    first = factories.order(sender, by, status=status)
    copies = [factories.copy_of(first, 1000 * first.pk + number) for number in range(len(prices))]
    for order, price in zip(copies, prices, strict=True):
        order.price, order.currency = Decimal(price), currency
    Order.objects.bulk_create(copies)
    Order.objects.filter(pk=first.pk).delete()


@pytest.mark.parametrize(
    ("read", "units", "reason", "question"),
    [
        ("0.35,300,200,150", {}, LIGHT, "Are the measures in mm?"),
        ("0.35,3,2,1", {"size_unit": "mm"}, HEAVY, "Are the measures in cm, or the weights in g or oz?"),
        ("24,3.2,2.4,1.1", {}, HEAVY, "Are the weights in g?"),
        ("6,12,8,6", {}, HEAVY, "Are the measures in inches, or the weights in g or lb or oz?"),
        ("0.001,32,24,11", {"weight_unit": "g"}, LIGHT, "Are the measures in mm, or the weights in kg or lb?"),
        ("0.001,900,900,900", {}, LIGHT, "Check their weights and measures."),
    ],
)  # fmt: skip
def test_an_implausible_density_asks_about_the_likely_unit(
    quill: Sender, alice: User, read: str, units: dict[str, str], reason: str, question: str
) -> None:
    file = factories.import_file(quill, alice, constants=units)
    ready(file, "2.4,32,24,11")
    ready(file, read)
    doubts = look(file)
    assert [(doubt.reason, len(doubt.choices), doubt.question) for doubt in doubts] == [(reason, 1, question)]
    assert ("mm" in question) == (("size_unit", "mm") in doubts[0].units)
    assert submitting.begin(file, press(file)) == 1


@pytest.mark.parametrize(
    ("prices", "before", "found"),
    [
        (("10", "10", "50"), (), {}),
        (("10", "10", "50.01"), (), {"More than 5 times the middle price of this file, $10.00": 1}),
        (("60", "60", "60"), ("10",) * 19, {}),
        (("60", "60", "60"), ("10",) * 20, {"More than 5 times the middle price of your last 20 parcels, $10.00": 3}),
        (("50", "50", "50"), ("10",) * 20, {}),
        (("60", "60", "60"), ("10",) * 101 + ("60",) * 100, {}),
    ],
)  # fmt: skip
def test_a_price_far_above_the_median_of_the_file_or_the_account_stops_the_file(
    quill: Sender, alice: User, prices: tuple[str, ...], before: tuple[str, ...], found: dict[str, int]
) -> None:
    file = factories.import_file(quill, alice)
    for price in prices:
        ready(file, "2.4,32,24,11", price)
    if before:
        history(quill, alice, *before)
    assert reasons(file) == found


def test_other_accounts_parcels_and_cancelled_ones_do_not_count_as_history(
    quill: Sender, alice: User, bob: User
) -> None:
    file = factories.import_file(quill, alice)
    ready(file, "2.4,32,24,11", "60")
    history(bob.membership.sender, bob, *["10"] * 20)
    history(quill, alice, *["10"] * 20, status="cancelled")
    assert reasons(file) == {}


def test_a_row_fixed_after_the_others_were_booked_is_compared_with_them(quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    for _ in range(3):
        order = factories.order(quill, alice, status="booked", price=Decimal(10))
        factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    ready(file, "2.4,32,24,11", "60")
    assert reasons(file) == {"More than 5 times the middle price of this file, $10.00": 1}


MIXED = "More than 5 times the middle price of "


@pytest.mark.parametrize(
    ("rows", "booked", "before", "found"),
    [
        # Expensive among the parcels in its own currency, whatever those in another cost.
        (("10 AUD", "10 AUD", "60 AUD", "100 USD", "100 USD", "100 USD"), "", "",
         {f"{MIXED}this file, $10.00 AUD": 1}),
        (("1 AUD", "1 AUD", "1 AUD", "10 USD", "10 USD"), "", "", {}),
        (("60 AUD",), "10 USD", "", {}),
        (("60 AUD",), "", "10 USD", {}),
        (("60 AUD",), "", "10 AUD", {f"{MIXED}your last 20 parcels, $10.00": 1}),
        (("60 AUD", "60 USD"), "", "10 USD", {f"{MIXED}your last 20 parcels, $10.00 USD": 1}),
    ],
)  # fmt: skip
def test_a_price_is_compared_with_those_in_its_own_currency(
    quill: Sender, alice: User, rows: tuple[str, ...], booked: str, before: str, found: dict[str, int]
) -> None:
    file = factories.import_file(quill, alice)
    for price, currency in map(str.split, rows):
        ready(file, "2.4,32,24,11", price, currency=currency)
    for price, currency in [booked.split()] * 3 if booked else []:
        order = factories.order(quill, alice, status="booked", price=Decimal(price), currency=currency)
        factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    if before:
        price, currency = before.split()
        history(quill, alice, *[price] * 20, currency=currency)
    assert reasons(file) == found


def test_a_confirmation_covers_only_the_rows_that_were_shown(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, *rows(*TEN_TIMES))
    shown = [doubt.token for doubt in look(file)]
    assert checking.schedule_check(file.rows.all()[0], {"weight_kg": "0.36"}, timezone.now())
    work_off(file)
    assert say_right(file, shown) == 0
    assert say_right(file) == 3
    assert checking.schedule_check(file.rows.all()[0], {"length_cm": "310"}, timezone.now())
    work_off(file)
    assert states(file) == ["warning"] * 3
    assert submitting.begin(file, press(file)) == 2


def test_a_confirmation_covers_the_unit_prices_and_service_that_were_shown(
    shop: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = checked(quill, alice, *rows(*TEN_TIMES))
    assert say_right(file) == 3
    assert submitting.begin(file, press(file, rule="fastest")) == 0
    for quote in Quote.objects.all():
        quote.products = [{**offer, "amount": "90.00"} for offer in quote.products]
        quote.save()
    assert submitting.begin(file, press(file)) == 0
    assert say_right(file) == 3
    checking.begin(file, file.columns, {"size_unit": "in"}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    assert submitting.begin(file, press(file)) == 0
    assert Order.objects.count() == 0


def test_the_right_unit_ends_the_question(shop: SandboxCarrier, quill: Sender, alice: User) -> None:
    file = checked(quill, alice, *rows(*TEN_TIMES))
    checking.begin(file, file.columns, {"size_unit": "mm"}, timezone.now())
    file.refresh_from_db()
    work_off(file)
    assert states(file) == ["ready"] * 3
    assert submitting.begin(file, press(file)) == 3
    work_off(file)
    assert in_the_ledger(shop)[0] == ("0.35", "kg", "30", "20", "15", "cm")


def test_finding_doubtful_rows_takes_the_same_queries_for_any_number_of_rows(quill: Sender, alice: User) -> None:
    file, found = factories.import_file(quill, alice), []
    for more in (1, 20):
        for _ in range(more):
            ready(file, "0.35,300,200,150")
        with CaptureQueriesContext(connection) as seen:
            look(file)
        found.append(len(seen.captured_queries))
    assert found == [5, 5]


@pytest.mark.parametrize(
    ("weight", "sides", "unit", "per_cubic_metre"),
    [("0.35", (300, 200, 150), "cm", "0.0389"), ("5", (100, 100, 100), "cm", "5"), ("2", (10, 10, 10), "in", "122.05")],
)
def test_density_is_kilograms_per_cubic_metre(
    weight: str, sides: tuple[int, int, int], unit: str, per_cubic_metre: str
) -> None:
    found = density_of(Measures(Decimal(weight), "kg", *map(Decimal, sides), unit))
    assert round(found, len(per_cubic_metre.partition(".")[2])) == Decimal(per_cubic_metre)


@pytest.mark.parametrize(
    ("weight", "side", "odd"), [("4.999", 100, "light"), ("5", 100, ""), ("5", 10, ""), ("5.001", 10, "heavy")]
)
def test_a_parcel_typed_in_the_form_has_the_same_limits(
    quill: Sender, alice: User, weight: str, side: int, odd: str
) -> None:
    measures = Measures(Decimal(weight), "kg", Decimal(side), Decimal(side), Decimal(side), "cm")
    details: ParcelDetails = factories.details(quill, measures=measures)
    said = [text for text in offers.quote_warnings(details) if "for its size" in text]
    assert said == ([describe_doubt(measures)] if odd else [])
    assert odd in describe_doubt(measures)
