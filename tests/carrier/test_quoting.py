"""Asking for prices, and reading them."""

from datetime import date
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import pytest

from shipping_portal.carrier.errors import OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Money, Party
from shipping_portal.carrier.values import weekdays_after
from tests.carrier.products import product

from .conftest import SHIRTS, reply, shipment


@pytest.fixture(autouse=True)
def _on_the_day_of_the_quote(time_machine):
    time_machine.move_to("2026-03-02T01:00:00Z")


def quoted(client, far_side, *rows, points=None, **changes):
    far_side.answers(reply(200, list(rows)))
    return client(points).quote(shipment(**changes))


def ask(client, far_side, *rows, points=None, **changes):
    return quoted(client, far_side, *rows, points=points, **changes).products


def named(**changes):
    return product(product={"code": "STANDARD-PICKUP", **changes})


def test_a_domestic_quote_is_a_get_with_our_partner_id(client, far_side):
    ask(client, far_side)
    (asked,) = far_side.asked
    assert (asked.method, urlsplit(asked.target).path, asked.body) == ("GET", "/api/products", b"")
    assert dict(parse_qsl(urlsplit(asked.target).query)) == {
        "sender_suburb": "Fitzroy",
        "sender_postcode": "3065",
        "sender_country": "AU",
        "sender_address_line1": "12 Example Lane",
        "receiver_suburb": "Hobart",
        "receiver_postcode": "7000",
        "receiver_country": "AU",
        "receiver_address_line1": "4 Sample Street",
        "weight_value": "2.4",
        "weight_units": "kg",
        "length_value": "32.0",
        "width_value": "24.0",
        "height_value": "11.0",
        "dimension_units": "cm",
        "packaging_type": "box",
        "partner_id": "PRT-0001",
    }


ABROAD = Party(name="Avery Lund", suburb="Portland", postcode="97205", state="OR", country="US")


@pytest.mark.parametrize("changes", [{"receiver": ABROAD}, {"contents": (SHIRTS,)}, {"cover": Decimal(300)}])
def test_a_quote_abroad_or_with_contents_or_cover_is_a_post(client, far_side, changes):
    ask(client, far_side, **changes)
    (asked,) = far_side.asked
    assert (asked.method, asked.target) == ("POST", "/api/products")


def test_a_posted_quote_has_no_names_and_no_partner_id(client, far_side):
    ask(client, far_side, receiver=ABROAD, contents=(SHIRTS,), contents_type="Merchandise")
    body = far_side.asked[0].json
    assert body["receiver"] == {
        "address": {"suburb": "Portland", "postcode": "97205", "state_name": "OR", "country": "US"}
    }
    assert set(body) == {
        "sender",
        "receiver",
        "weight",
        "dimensions",
        "packaging_type",
        "parcel_contents",
        "contents_type",
    }
    assert b"PRT-0001" not in far_side.asked[0].body


def test_a_product_is_read(client, far_side):
    (read,) = ask(client, far_side, product())
    assert (read.code, read.name, read.first_mile, read.service) == (
        "STANDARD-PICKUP",
        "Standard Pickup",
        "pickup",
        "standard",
    )
    assert read.price == Money(Decimal("12.08"), "AUD")
    assert read.breakdown == (
        ("base", Money(Decimal("11.2"), "AUD")),
        ("discount", Money(Decimal("-1.2"), "AUD")),
        ("service", Money(Decimal("0.2"), "AUD")),
        ("something_new", Money(Decimal(1), "AUD")),
    )
    assert read.taxes == (("gst", Money(Decimal("1.08"), "AUD")),)
    assert (read.eta_from, read.eta_to, read.send_date) == (date(2026, 3, 5), date(2026, 3, 10), date(2026, 3, 3))
    assert (read.plan, read.duties_paid, read.cover_price) == ("Pro", False, Money(Decimal("0.0"), "AUD"))
    assert read.raw["plan"] == "Pro"


@pytest.mark.parametrize(
    ("said", "code", "first_mile"),
    [
        ("drop off", "X-PICKUP", "drop-off"),
        ("Drop-Off", "X", "drop-off"),
        ("pickup", "X-DROPOFF", "pickup"),
        (None, "STANDARD-DROPOFF", "drop-off"),
        (None, "SAVER-PICKUP", "pickup"),
        (None, "SAVER", "unknown"),
        ("locker", "SAVER-PICKUP", "unknown"),
    ],
)
def test_a_first_mile_in_the_quote_overrides_the_code(client, far_side, said, code, first_mile):
    (read,) = ask(client, far_side, named(code=code, first_mile_option=said))
    assert read.first_mile == first_mile


def test_duties_are_paid_if_the_code_says_so(client, far_side):
    (read,) = ask(client, far_side, named(code="STANDARD-DDP-PICKUP"))
    assert read.duties_paid


def test_days_without_dates_are_counted_in_weekdays(client, far_side):
    (read,) = ask(client, far_side, product(eta={"days_range": [2, 5], "for_send_date": "2026-03-03"}))
    assert (read.eta_from, read.eta_to) == (date(2026, 3, 5), date(2026, 3, 10))


@pytest.mark.parametrize(
    ("eta", "arrives"),
    [
        ({"date_range": ["2026-03-05", "2026-03-05"]}, date(2026, 3, 5)),
        ({"date_range": ["2026-03-05"]}, date(2026, 3, 5)),
        ({"date_range": ["2026-03-05", "2026-03-05"], "for_send_date": "2026-03-05"}, date(2026, 3, 5)),
        ({"days_range": [2, 2], "for_send_date": "2026-03-03"}, date(2026, 3, 5)),
        ({"date_range": ["2026-03-02", "2026-03-02"]}, date(2026, 3, 2)),
        ({"date_range": ["2026-03-01", "2026-03-01"]}, date(2026, 3, 1)),  # the same day west of Greenwich
    ],
)
def test_a_product_expected_on_a_single_day_is_kept(client, far_side, eta, arrives):
    (read,) = ask(client, far_side, product(eta=eta))
    assert (read.eta_from, read.eta_to) == (arrives, arrives)


def test_a_product_without_an_expected_day_is_kept(client, far_side):
    (read,) = ask(client, far_side, product(eta=None))
    assert (read.eta_from, read.eta_to) == (None, None)


def costing(amount, currency="AUD"):
    return product(quote={"gross": {"amount": amount, "currency": currency}})


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (costing(-1), "price -1"),
        (costing(None), "price missing"),
        (costing("1,012.08"), "price '1,012.08'"),
        (costing({"value": 5}), "price {'value': 5}"),
        (costing(5, "dollars"), "currency 'dollars'"),
        (costing(5, "A$"), "currency 'A$'"),
        (costing(5, ["AUD"]), "currency ['AUD']"),
        (costing(5, None), "currency missing"),
        (costing(5, "\u202ex" * 100), "currency '" + "\\u202ex" * 5 + "\\u20"),
        (product(quote={}), "price missing"),
        (named(code="../x"), "code '../x'"),
        (named(code="Standard Pickup"), "code 'Standard Pickup'"),
        (named(code=7), "code 7"),
        (named(code=None), "code missing"),
        (product(eta={"days_range": [-2, 5]}), "days that cannot be"),
        (product(eta={"date_range": ["2026-03-10", "2026-03-05"]}), "days that cannot be"),
        (product(eta={"date_range": ["2026-02-20", "2026-02-28"]}), "days that cannot be"),
        (
            product(eta={"date_range": ["2026-03-05", "2026-03-10"], "for_send_date": "2026-03-11"}),
            "days that cannot be",
        ),
        (None, "code missing"),
        ("STANDARD", "code missing"),
    ],
)
def test_a_row_that_cannot_be_booked_is_left_out_with_a_reason(client, far_side, row, why):
    found = quoted(client, far_side, row, product())
    assert [read.code for read in found.products] == ["STANDARD-PICKUP"]
    assert found.unreadable == (why,)


def test_the_log_counts_the_rows_that_were_left_out(client, far_side, calls):
    quoted(client, far_side, None, product(), costing(5, "A$"))
    quoted(client, far_side, product())
    assert [(call.outcome, call.unreadable) for call in calls] == [("ok", 2), ("ok", 0)]


def test_at_most_a_hundred_unreadable_rows_are_named(client, far_side):
    found = quoted(client, far_side, *[None] * 1000, product())
    assert (len(found.unreadable), len(found.products)) == (100, 1)


def test_a_quote_without_services_is_empty(client, far_side):
    assert ask(client, far_side) == ()


def test_at_most_fifty_products_are_kept(client, far_side):
    assert len(ask(client, far_side, *[named(code=f"P-{n}") for n in range(1000)])) == 50


def test_the_contract_says_where_the_list_of_products_is(client, far_side):
    far_side.answers(reply(200, {"data": {"rows": [product()]}}))
    assert len(client({"products": "data.rows"}).quote(shipment()).products) == 1


def test_a_quote_that_is_not_a_list_is_unusable(client, far_side):
    far_side.answers(reply(200, {"products": []}))
    with pytest.raises(OutcomeUnknown):
        client().quote(shipment())


def test_a_refused_quote_has_errors_on_our_fields(client, far_side):
    said = {"sender_suburb": ["can't be blank"], "weight_value": ["is not a number"]}
    far_side.answers(reply(422, {"error": "unprocessable_entity", "messages": said}))
    with pytest.raises(Rejected) as raised:
        client().quote(shipment())
    assert raised.value.messages == {"sender_suburb": ["can't be blank"], "weight": ["is not a number"]}


@pytest.mark.parametrize(
    ("start", "days", "day"),
    [
        ("2026-11-19", 1, "2026-11-20"), ("2026-11-20", 1, "2026-11-23"), ("2026-11-21", 1, "2026-11-23"),
        ("2026-11-22", 1, "2026-11-23"), ("2026-11-21", 0, "2026-11-21"), ("2026-11-19", 7, "2026-11-30"),
    ],
    ids=["Thursday", "Friday", "Saturday", "Sunday", "no day", "over two weekends"],
)  # fmt: skip
def test_saturdays_and_sundays_are_not_weekdays(start, days, day):
    assert weekdays_after(date.fromisoformat(start), days) == date.fromisoformat(day)
