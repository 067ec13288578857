import re
from datetime import UTC, date, datetime

import pytest

from tests.sandbox.client import AGENT, CREDENTIALS, an_export, an_order

FRIDAY = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)  # early afternoon in Fitzroy


@pytest.fixture
def carrier(open_carrier):
    return open_carrier(clock=lambda: FRIDAY)


def test_a_booked_order_reads_as_the_interface_shows_it(carrier):
    answer = carrier.book()
    order = answer.json
    assert answer.status == 201
    assert re.fullmatch(r"S[0-9A-Z]{5,}", order["carrier_reference"])
    assert order["sender"]["address"]["country"] == "Australia"
    assert order["metadata"] == {"partner_id": "PRT-0001", "portal_order": "order-1"}
    assert [label["size"] for label in order["labels"]] == ["a4", "cropped"]
    assert order["scheduling"]["is_cancellable"] is True
    assert carrier.call("GET", f"/orders/{order['order_id']}").json["carrier_reference"] == order["carrier_reference"]


def test_the_booked_price_is_the_quoted_price(carrier):
    quoted = {row["product"]["code"]: row["quote"] for row in carrier.quote().json}
    assert carrier.book().json["price"] == quoted["STANDARD-PICKUP"]


def test_a_blank_pickup_date_means_the_next_business_day(carrier):
    assert carrier.book().json["scheduling"]["pickup_date"] == "2026-11-23"


def test_a_drop_off_has_no_pickup_date(carrier):
    assert carrier.book(an_order(product_code="STANDARD-DROPOFF")).json["scheduling"]["pickup_date"] is None


def test_the_day_is_the_senders_local_day(open_carrier):
    late = datetime(2026, 11, 23, 14, 0, tzinfo=UTC)  # already Tuesday in Fitzroy
    booked = open_carrier(clock=lambda: late).book().json
    assert date.fromisoformat(booked["scheduling"]["pickup_date"]) == date(2026, 11, 25)


WRONG = {
    "no dimensions": (an_order(dimensions=None), "dimensions"),
    "no width": (an_order(dimensions__width=None), "width"),
    "no weight": (an_order(weight=None), "weight"),
    "weight of nothing": (an_order(weight__value="0"), "weight"),
    "weight as a number": (an_order(weight__value=2.4), "weight"),
    "no receiver email": (an_order(receiver__contact__email=None), "receiver_email"),
    "bad sender email": (an_order(sender__contact__email="ira"), "sender_email"),
    "generic sender": (an_order(sender__contact__email="Support@example.com"), "sender_email"),
    "line that repeats the suburb": (
        an_order(receiver__address__address_line1="4 Sample Street, HOBART"),
        "receiver_line1",
    ),
    "line that repeats the country": (an_order(sender__address__address_line2="Unit 2; Australia"), "sender_line2"),
    "service number": (an_order(sender__contact__phone="1300 975 707"), "sender_phone"),
    "other suburb": (an_order(receiver__address__suburb="Fitzroy"), "receiver_suburb"),
    "long line": (an_order(sender__address__address_line1="x" * 256), "sender_line1"),
    "Saturday": (an_order(pickup_date="2026-11-21"), "pickup_date"),
    "today": (an_order(pickup_date="2026-11-20"), "pickup_date"),
    "Christmas": (an_order(pickup_date="2026-12-25"), "pickup_date"),
    "date for drop off": (an_order(product_code="STANDARD-DROPOFF", pickup_date="2026-11-23"), "pickup_date"),
    "unknown product": (an_order(product_code="TELEPORT-PICKUP"), "product_code"),
    "no partner": (an_order(metadata__partner_id=None), "partner_id"),
    "too much cover": (an_order(cover__total_cover__amount="1501"), "cover_amount"),
    "too heavy": (an_order(weight__value="26"), "weight"),
    "other script": (an_order(receiver__contact__name="Анна"), "receiver_name"),
    "export without phone": (an_export(receiver__contact__phone=None), "receiver_phone"),
    "export without contents": (an_export(parcel_contents=None), "contents"),
    "duties without type": (an_export(product_code="STANDARD-DDP-PICKUP"), "contents_type"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_order_is_refused_by_field_and_leaves_no_trace(carrier, name):
    order, field = WRONG[name]
    carrier.control("settings", error_shape="flat")
    answer = carrier.book(order)
    assert answer.status == 422
    assert field in answer.json["messages"]
    assert carrier.effects("booked") == []


def test_a_mismatch_lists_the_suburbs_of_the_postcode(carrier):
    messages = carrier.book(an_order(receiver__address__suburb="Perth")).json["messages"]
    assert messages["receiver_suburb"] == [
        "does not match the postcode; choose one of: HOBART, GLEBE, WEST HOBART, NORTH HOBART, MOUNT STUART"
    ]


def test_duties_paid_needs_full_tariff_numbers(carrier):
    order = an_export(product_code="STANDARD-DDP-PICKUP", contents_type="Merchandise")
    assert carrier.book(order).status == 201
    order["parcel_contents"][0]["hs_code"] = "6109.10"
    assert carrier.book(order).json["messages"] == {"item_hs_code": ["must have 10 digits for duties paid"]}


@pytest.mark.parametrize("name", ["Đặng Thị Hằng", "Øyvind Ærø", "Ḥasan Ẓāfir", "Łukasz Żółć"])
def test_a_name_in_latin_letters_with_any_accents_is_booked(carrier, name):
    assert carrier.book(an_order(receiver__contact__name=name)).status == 201


def test_cover_is_sold_only_from_australia(carrier):
    sender = {"address_line1": "1 Main St", "suburb": "Boston", "postcode": "02108", "state_name": "MA",
              "country": "US"}  # fmt: skip
    order = an_export(sender__address=sender, cover__total_cover__amount="200")
    assert "cover_amount" in carrier.book(order).json["messages"]


@pytest.mark.parametrize(
    ("shape", "messages"),
    [
        ("flat", {"receiver_email": ["can't be blank"]}),
        ("nested", {"receiver": [{"contact": [{"email": ["can't be blank"]}]}]}),
        ("mixed", {"receiver": [{"contact": [{"email": ["can't be blank"]}]}]}),
        ("string", "receiver_email can't be blank"),
    ],
)
def test_messages_have_the_configured_shape(carrier, shape, messages):
    carrier.control("settings", error_shape=shape)
    assert carrier.book(an_order(receiver__contact__email=None)).json["messages"] == messages


def test_a_malformed_body_gets_an_empty_page(carrier):
    for body in (b"]", b'{"weight": NaN}', b"\xff"):
        answer = carrier.call("POST", "/orders", body)
        assert (answer.status, answer.body) == (400, b"")
        assert answer.headers["content-type"].startswith("text/html")


def test_unknown_credentials_and_clients_without_a_name_are_refused(carrier):
    wrong = {"Authorization": "Basic ZGVtby1hY2NvdW50Om5v"}
    assert carrier.call("POST", "/orders", an_order(), {**AGENT, **wrong}).status == 401
    assert carrier.call("GET", "/ping", headers={**CREDENTIALS}).status == 403
    assert carrier.call("GET", "/ping", headers={**CREDENTIALS, "User-Agent": "python-requests/2.32"}).status == 403
    assert carrier.call("GET", "/ping").json["ping"] == "pong"


def test_the_request_log_keeps_no_credentials(carrier):
    carrier.book()
    (details,) = carrier.read("requests")
    assert (details["operation"], details["authenticated"], details["status"]) == ("book", True, 201)
    assert "authorization" not in details["headers"]
    assert "Boxed ceramic mugs" in details["body"]
