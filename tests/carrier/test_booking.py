"""What we send to book, and how we read the reply."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from shipping_portal.carrier.errors import OutcomeUnknown
from shipping_portal.carrier.messages import Measures, Money

from .conftest import ORDER_ID, ORDER_KEY, SHIRTS, order, reply, shipment


def book(client, far_side, answer, points=None):
    far_side.answers(reply(201, answer))
    carrier = client(points)
    return carrier.book(carrier.booking_body(shipment()), key="attempt-1")


def written(client, points=None, **changes):
    return json.loads(client(points).booking_body(shipment(**changes)))


class TestRequest:
    def test_the_stored_bytes_are_sent_unchanged(self, client, far_side):
        far_side.answers(reply(201, order()))
        carrier = client()
        body = carrier.booking_body(shipment())
        carrier.book(body, key="attempt-1")
        (asked,) = far_side.asked
        assert (asked.method, asked.target, asked.body) == ("POST", "/api/orders", body)

    def test_the_headers_identify_us(self, client, far_side):
        book(client, far_side, order())
        headers = far_side.asked[0].headers
        assert headers["user-agent"] == "ShippingPortal/1.0 (ops@portal.example)"
        assert headers["authorization"] == "Basic cGFydG5lckFjY291bnQ6czNjcmV0LWtleQ=="
        assert headers["idempotency-key"] == "attempt-1"
        assert headers["accept-encoding"] == "identity"
        assert headers["content-type"] == "application/json"

    @pytest.mark.parametrize(
        ("auth", "name", "value"),
        [
            ("bearer", "authorization", "Bearer s3cret-key"),
            ("header:X-Api-Key", "x-api-key", "s3cret-key"),
            ("none", "authorization", None),
        ],
    )
    def test_the_contract_chooses_how_we_authenticate(self, client, far_side, auth, name, value):
        book(client, far_side, order(), {"auth": auth, "version_header": "Api-Version: 7"})
        assert far_side.asked[0].headers.get(name) == value
        assert far_side.asked[0].headers["api-version"] == "7"

    def test_no_key_header_is_sent_if_the_contract_has_none(self, client, far_side):
        book(client, far_side, order(), {"idempotency_header": ""})
        assert "idempotency-key" not in far_side.asked[0].headers

    def test_a_key_that_would_break_the_header_is_refused(self, client):
        with pytest.raises(ValueError, match="idempotency key"):
            client().book(b"{}", key="a\r\nX-Evil: 1")

    def test_a_domestic_parcel_is_written_in_full(self, client):
        assert written(client) == {
            "sender": {
                "contact": {"name": "Ira Quill", "email": "ira.quill@example.com", "phone": "0491 570 006"},
                "address": {
                    "address_line1": "12 Example Lane",
                    "suburb": "Fitzroy",
                    "postcode": "3065",
                    "state_name": "VIC",
                    "country": "AU",
                },
            },
            "receiver": {
                "contact": {"name": "Noor Tamsin", "email": "noor.tamsin@example.net"},
                "address": {
                    "address_line1": "4 Sample Street",
                    "suburb": "Hobart",
                    "postcode": "7000",
                    "state_name": "TAS",
                    "country": "AU",
                },
                "instructions": "Authority To Leave",
            },
            "description": "Boxed ceramic mugs",
            "weight": {"value": "2.4", "units": "kg"},
            "dimensions": {"length": "32.0", "width": "24.0", "height": "11.0", "units": "cm"},
            "packaging_type": "box",
            "product_code": "STANDARD-PICKUP",
            "metadata": {"partner_id": "PRT-0001", "portal_order": ORDER_KEY},
        }

    def test_contents_cover_and_pickup_date_are_sent_when_given(self, client):
        body = written(
            client,
            contents=(SHIRTS,),
            contents_type="Merchandise",
            cover=Decimal(300),
            pickup_date=date(2026, 3, 3),
            customer_reference="PORTAL-1",
        )
        assert body["parcel_contents"] == [
            {
                "description": "Cotton t-shirt",
                "value": "28.00",
                "quantity": 2,
                "country_of_origin": "BD",
                "hs_code": "6109.10.0012",
            }
        ]
        assert body["cover"] == {"total_cover": {"amount": 300}}
        assert (body["contents_type"], body["pickup_date"]) == ("Merchandise", "2026-03-03")
        assert body["customer_reference"] == "PORTAL-1"

    def test_a_drop_off_sends_no_pickup_date(self, client):
        body = written(client, product_code="STANDARD-DROPOFF", pickup_date=date(2026, 3, 3))
        assert "pickup_date" not in body

    def test_the_same_shipment_gives_the_same_bytes(self, client):
        assert client().booking_body(shipment()) == client().booking_body(replace(shipment()))

    def test_a_carrier_can_be_sent_numbers_and_flat_dimensions(self, client):
        flat = {name: name for name in ("length", "width", "height")}
        body = written(client, {"numbers": "number", **flat, "dimension_units": ""}, contents=(SHIRTS,))
        assert (body["length"], body["width"], body["height"]) == (32, 24, 11)
        assert body["weight"]["value"] == 2.4
        assert body["parcel_contents"][0]["value"] == 28
        assert "dimensions" not in body

    def test_conversion_to_metric_never_makes_a_parcel_smaller(self, client):
        entered = Measures(Decimal("5.3"), "lb", Decimal(10), Decimal("7.5"), Decimal(3), "in")
        body = written(client, {"units": "metric"}, measures=entered)
        assert body["weight"] == {"value": "2.405", "units": "kg"}
        assert body["dimensions"] == {"length": "25.4", "width": "19.1", "height": "7.7", "units": "cm"}

    def test_units_stay_as_entered_by_default(self, client):
        entered = Measures(Decimal("5.3"), "lb", Decimal(10), Decimal("7.5"), Decimal(3), "in")
        body = written(client, measures=entered)
        assert body["weight"] == {"value": "5.3", "units": "lb"}
        assert body["dimensions"]["units"] == "in"

    def test_text_that_cannot_be_encoded_is_still_sent(self, client):
        assert written(client, description="mugs \ud800")["description"] == "mugs \ud800"


class TestReply:
    def test_a_booked_order_is_read(self, client, far_side):
        booked = book(client, far_side, order())
        assert (booked.order_id, booked.reference, booked.state) == (ORDER_ID, "SQ7K2M", "Pickup")
        assert [(label.format, label.size) for label in booked.labels] == [("pdf", "a4")]
        assert booked.labels[0].url.endswith("/labels/a4.pdf")
        assert (booked.pickup_date, booked.price) == (date(2026, 3, 3), Money(Decimal("12.08"), "AUD"))
        assert dict(booked.breakdown)["service"] == Money(Decimal("0.2"), "AUD")
        assert booked.tracking_url == "https://track.carrier.example/tracking?ref=SQ7K2M"
        assert booked.order_key == ORDER_KEY
        assert booked.status == 201

    def test_a_booking_with_pending_labels_is_still_a_booking(self, client, far_side):
        booked = book(client, far_side, order(labels=None, tracking_url=None))
        assert (booked.reference, booked.labels) == ("SQ7K2M", ())

    def test_a_reply_without_our_order_key_is_accepted(self, client, far_side):
        assert book(client, far_side, order(metadata=None)).reference == "SQ7K2M"

    @pytest.mark.parametrize(
        "reference",
        ["../../etc", "S" * 1000, 123456, None, "X12345", "S12", "s3ndle", "S3NDL\u0415", "SQ7K2M\n", ["SQ7K2M"]],
    )
    def test_an_invalid_reference_leaves_the_outcome_unknown(self, client, far_side, reference):
        with pytest.raises(OutcomeUnknown) as raised:
            book(client, far_side, order(carrier_reference=reference))
        assert (raised.value.reference, raised.value.conflict) == ("", False)

    @pytest.mark.parametrize("order_id", ["../../etc", "", None, True, 7.5, "a" * 101])
    def test_an_order_id_we_cannot_use_keeps_the_reference_as_evidence(self, client, far_side, order_id):
        with pytest.raises(OutcomeUnknown) as raised:
            book(client, far_side, order(order_id=order_id))
        assert (raised.value.reference, raised.value.status) == ("SQ7K2M", 201)

    @pytest.mark.parametrize("state", ["Cancelled", "CANCELLED", " cancelled "])
    def test_a_cancelled_order_is_a_conflict(self, client, far_side, state):
        with pytest.raises(OutcomeUnknown, match=r"conflict: .*cancelled") as raised:
            book(client, far_side, order(state=state))
        assert (raised.value.reference, raised.value.conflict) == ("SQ7K2M", True)

    @pytest.mark.parametrize("echo", ["another", 7, {"id": ORDER_KEY}, ORDER_KEY.upper()])
    def test_a_reply_with_another_order_key_is_a_conflict(self, client, far_side, echo):
        with pytest.raises(OutcomeUnknown, match=r"conflict: .*another order") as raised:
            book(client, far_side, order(metadata={"portal_order": echo}))
        assert (raised.value.reference, raised.value.conflict) == ("SQ7K2M", True)

    @pytest.mark.parametrize("amount", ["-1", -1, "free", None, True, {"a": 1}, "1e999999999"])
    def test_an_impossible_price_is_ignored(self, client, far_side, amount):
        booked = book(client, far_side, order(price={"gross": {"amount": amount, "currency": "AUD"}}))
        assert (booked.reference, booked.price) == ("SQ7K2M", None)

    def test_an_order_whose_price_is_not_a_number_is_still_booked(self, client, far_side):
        body = json.dumps(order()).replace("12.08", "NaN")
        assert book(client, far_side, body.encode()).price is None

    @pytest.mark.parametrize(
        "url", ["javascript:alert(1)", "http://track.example/", "https://a@b/", "https://t.example/?token=abc"]
    )
    def test_an_unsafe_tracking_url_is_dropped(self, client, far_side, url):
        assert book(client, far_side, order(tracking_url=url)).tracking_url == ""

    def test_characters_that_cannot_be_stored_are_replaced(self, client, far_side):
        booked = book(client, far_side, order(state="Pick\u0000up\ud800\x1b[31m"))
        assert booked.state == "Pick\ufffdup\ufffd [31m"


class TestView:
    def test_a_cancelled_order_can_be_viewed(self, client, far_side):
        far_side.answers(reply(200, order(state="Cancelled")))
        assert client().view(ORDER_ID).state == "Cancelled"
        assert far_side.asked[0].target == f"/api/orders/{ORDER_ID}"
        assert far_side.asked[0].method == "GET"

    def test_another_order_is_a_conflict(self, client, far_side):
        far_side.answers(reply(200, order(order_id="other")))
        with pytest.raises(OutcomeUnknown, match="conflict"):
            client().view(ORDER_ID)

    def test_an_id_cannot_change_the_rest_of_the_path(self, client, far_side):
        far_side.answers(reply(404, {"error": "not_found"}))
        with pytest.raises(Exception, match="404"):
            client().view("../ping?x=1")
        assert far_side.asked[0].target == "/api/orders/..%2Fping%3Fx%3D1"
