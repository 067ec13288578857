"""Each operation of the ShipStation class, against documents in the same shape as its clients' examples.

Each row's id says which example has that shape: the repository and the file.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, NotSent, OperationOff, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Call, Item, Measures, Money, Party, Shipment
from shipping_portal.carrier.shipstation import ShipStation

from . import shipstation_documents as made
from .conftest import ORDER_KEY, SocketCarrier, reply
from .conftest import shipment as a_shipment

DOTNET = "ShipEngine/shipengine-dotnet ShipEngine.Tests/HttpResponseMocks/"
JS = "ShipEngine/shipengine-js test/utils/mocks/"
JAVA = "ShipEngine/shipengine-java src/test/java/com/shipengine/resources/"
RUBY = "ShipEngine/shipengine-ruby test/"
RUBY_TOO = "warmlyyours/shipengine_rb test/"
SCHEMA = "ShipEngine/shipengine-openapi openapi.yaml "
OF_US = Party(
    name="Ira Quill", email="ira.quill@example.com", phone="217 555 0142", line1="12 Example Lane",
    suburb="Springfield", state="IL", postcode="62701", country="US",
)  # fmt: skip
TO_US = Party(name="Noor Tamsin", line1="4 Sample Street", suburb="Peoria", state="IL", postcode="61602", country="US",
              instructions="Authority To Leave")  # fmt: skip
TO_NZ = Party(name="Noor Tamsin", line1="4 Sample Street", suburb="Wellington", postcode="6011", country="NZ")
CODE, EXTERNAL_ID = "usps:usps_ground_advantage", f"{ORDER_KEY}.00000001"
BODY = json.dumps({"label_format": "pdf", "custom_field1": EXTERNAL_ID, "custom_field2": made.RATE_ID}).encode()


def row(source: str, *values: Any) -> Any:
    return pytest.param(*values, id=source)


def parcel(**changes: Any) -> Shipment:
    return a_shipment(**({"sender": OF_US, "receiver": TO_US, "product_code": CODE} | changes))


@pytest.fixture(autouse=True)
def _on_the_day_of_the_quote(time_machine):
    time_machine.move_to("2026-03-02T01:00:00Z")


@pytest.fixture
def shipstation(far_side: SocketCarrier, calls: list[Call]) -> Callable[..., ShipStation]:
    """Make the carrier reply with these documents, in this order, and return a client for it."""

    def make(*documents: Any, status: int = 200, key: str = "made-up") -> ShipStation:
        far_side.answers(*(one if isinstance(one, bytes) else reply(status, one) for one in documents or [b""]))
        return ShipStation(
            base_url=far_side.url,
            account="ours",
            key=key,
            partner_id="se-1001, se-1002",
            user_agent="ShippingPortal/1.0 (ops@portal.example)",
            contract=Contract(**ShipStation.points),
            on_call=calls.append,
            connect_timeout=5.0,
            deadline=15.0,
        )

    return make


UPS = made.rate(
    carrier_code="ups", carrier_friendly_name="UPS", service_code="ups_ground", service_type="UPS® Ground",
    shipping_amount=made.money(75.53), other_amount=made.money(21.5), zone=None, package_type=None, delivery_days=None,
)  # fmt: skip
BARE = {"rate_type": "shipment", "carrier_id": "se-123", "service_code": "usps_priority",
        "shipping_amount": made.money(7.5)}  # fmt: skip
RATES = [
    row(DOTNET + "GetRatesWithShipmentDetails200Response.json", UPS, "ups:ups_ground", "97.03 USD", "2026-03-05"),
    row(JS + "mock-get-rates.js", made.rate(), CODE, "6.4 USD", "2026-03-05"),
    row(RUBY_TOO + "rates/rates_extended_test.rb", BARE, "se-123:usps_priority", "7.5 USD", "None"),
    row(SCHEMA + "rate, with all its amounts", made.rate(
        insurance_amount=made.money(1.1), confirmation_amount=made.money(2.2), other_amount=made.money(0.3),
        tax_amount=made.money(9)), CODE, "10.0 USD", "2026-03-05"),
    row(SCHEMA + "rate_estimate, without a day", made.rate(estimated_delivery_date=None), CODE, "6.4 USD",
        "2026-03-05"),
    row(SCHEMA + "rate, of another currency", made.rate(
        **{name: made.money(4, "aud") for name in (
            "shipping_amount", "insurance_amount", "confirmation_amount", "other_amount")}), CODE, "16 AUD",
        "2026-03-05"),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "code", "price", "day"), RATES)
def test_a_rate_reads_the_same_in_an_estimate_and_for_a_shipment(shipstation, rate, code, price, day):
    quoted = shipstation([rate]).quote(parcel())
    assert [(product.code, f"{product.price}", f"{product.eta_to}") for product in quoted.products] == [
        (code, price, day)
    ]
    assert quoted.unreadable == ()
    prepared = shipstation(made.rates({**rate, "rate_id": made.RATE_ID})).prepare(parcel(product_code=code))
    assert f"{prepared.price}" == price


def test_each_prepared_body_has_its_rate_and_its_own_external_id(shipstation, far_side):
    client = shipstation(made.rates(made.rate()))
    bodies = [json.loads(client.prepare(parcel()).body) for _ in range(2)]
    assert {body["custom_field2"] for body in bodies} == {made.RATE_ID}
    sent = [asked.json["shipment"]["external_shipment_id"] for asked in far_side.asked]
    assert [body["custom_field1"] for body in bodies] == sent
    assert len(set(sent)) == 2
    assert all(name.startswith(f"{ORDER_KEY}.") and len(name) <= 50 for name in sent)


@pytest.mark.parametrize(
    "changes",
    [
        {"shipping_amount": None},
        {"service_code": ""},
        {"other_amount": made.money(1, "eur")},
        {"shipping_amount": made.money(-1)},
    ],
)
def test_a_rate_that_cannot_be_read_is_left_out_and_counted(shipstation, calls, changes):
    quoted = shipstation([made.rate() | changes, UPS]).quote(parcel())
    assert [product.code for product in quoted.products] == ["ups:ups_ground"]
    assert (len(quoted.unreadable), calls[0].unreadable) == (1, 1)


def test_flat_rate_boxes_and_refused_rates_are_not_offered(shipstation):
    box = made.rate(package_type="small_flat_rate_box", shipping_amount=made.money(1))
    refused = made.rate(validation_status="invalid", shipping_amount=made.money(0), error_messages=["Too heavy"])
    dearer = made.rate(carrier_id="se-2", shipping_amount=made.money(9))
    quoted = shipstation([box, refused, dearer, made.rate()]).quote(parcel())
    assert [f"{product.price}" for product in quoted.products] == ["6.4 USD"]
    with pytest.raises(Rejected) as error:
        shipstation([refused]).quote(parcel())
    assert error.value.messages == {"": ["Too heavy"]}


NO_RATES = [
    row(DOTNET + "GetRatesWithShipmentDetailsMissingErrorCodeEnum200Response.json", made.rates(
        status="error", errors=[made.error("Authentication failed.", "a_new_code", "business_rules",
                                           carrier_id="se-1", carrier_code="usps", carrier_name="USPS")]),
        Rejected, {"": ["Authentication failed."]}),
    row(SCHEMA + "rates_information, with an invalid rate", made.rates(
        invalid_rates=[made.rate(validation_status="invalid", error_messages=["Too heavy"])]),
        Rejected, {"": ["Too heavy"]}),
    row("the service is gone", made.rates(UPS), Rejected,
        {"product_code": ["is not offered for this parcel any more"]}),
    row(SCHEMA + "rate_response_status working", made.rates(status="working"), OutcomeUnknown, None),
    row("another shipment's", made.rates(made.rate()) | {"external_shipment_id": "another"}, OutcomeUnknown, None),
    row("no answer", {"shipment_id": "se-1"}, OutcomeUnknown, None),
]  # fmt: skip


@pytest.mark.parametrize(("document", "outcome", "messages"), NO_RATES)
def test_nothing_is_prepared_without_a_rate(shipstation, document, outcome, messages):
    with pytest.raises(outcome) as error:
        shipstation(document).prepare(parcel())
    assert getattr(error.value, "messages", None) == messages


LABELS = [
    row(DOTNET + "CreateLabelFromRate200Response.json", made.label(
        packages=[made.package(label_download={"pdf": f"{made.DOWNLOADS}/package.pdf"})]), "6.4 USD"),
    row("ShipEngine/shipengine-dotnet ShipEngineSDK.Test/HttpResponseMocks/"
        "CreateLabelFromShipmentDetails200Response.json", made.label(), "6.4 USD"),
    row(JAVA + "create-label.json", dict(sorted(made.label().items())), "6.4 USD"),
    row(SCHEMA + "label", made.label(
        external_shipment_id=EXTERNAL_ID, insurance_cost=made.money(1.1), alternative_identifiers=[],
        rate_details=[{"rate_detail_type": "shipping", "amount": made.money(6.4)}]), "7.5 USD"),
    row(SCHEMA + "label, with the one address", made.label(
        label_download={"href": f"{made.DOWNLOADS}/label.pdf"}, insurance_cost=None), "6.4 USD"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "price"), LABELS)
def test_a_label_reads_the_same_when_bought_found_or_viewed(shipstation, document, price):
    bought = shipstation(document).book(BODY, key="attempt-1")
    assert (bought.order_id, bought.reference, f"{bought.price}") == (made.LABEL_ID, made.NUMBER, price)
    assert [(link.format, link.size, link.url) for link in bought.labels] == [
        ("pdf", "any", f"{made.DOWNLOADS}/label.pdf")
    ]
    assert shipstation(document).find(BODY, key="attempt-1") == bought
    assert shipstation(document).view(made.LABEL_ID) == bought
    assert b"downloads" not in bought.body


@pytest.mark.parametrize("layout", ["4x6", "letter", "A4", "4x8", "", None, 46])
def test_one_label_is_used_for_every_paper_size(shipstation, layout):
    """A label in a layout that nobody listed counted as none: the parcel had no label to print."""
    (link,) = shipstation(made.label(label_layout=layout)).view(made.LABEL_ID).labels
    contract = Contract(**ShipStation.points)
    assert link.size in contract.full_page_sizes
    assert link.size in contract.cropped_sizes


UNDECIDED = [
    row(JS + "mock-create-label-200.js", made.label(**made.EXAMPLE | {"voided": False})),
    row(SCHEMA + "label_status processing", made.label(status="processing", tracking_number=None)),
]


@pytest.mark.parametrize("document", UNDECIDED)
def test_an_unfinished_label_is_pending(shipstation, document):
    for operation in ("book", "find"):
        with pytest.raises(OutcomeUnknown) as error:
            getattr(shipstation(document), operation)(BODY, key="attempt-1")
        assert error.value.pending


CONFLICTS = [
    row(JS + "mock-create-label-from-rate-200.js", made.label(**made.EXAMPLE)),
    row(RUBY + "labels/create_from_rate_functional_test.rb", made.label(**made.EXAMPLE, packages=[])),
    row(SCHEMA + "label, voided", made.label(status="voided")),
    row("another order's", made.label(external_shipment_id="another")),
]


@pytest.mark.parametrize("document", CONFLICTS)
def test_a_voided_label_or_another_orders_label_is_a_conflict(shipstation, document):
    for operation in ("book", "find"):
        with pytest.raises(OutcomeUnknown) as error:
            getattr(shipstation(document), operation)(BODY, key="attempt-1")
        assert error.value.conflict


def test_a_label_that_could_not_be_made_is_refused(shipstation):
    for operation in ("book", "find"):
        with pytest.raises(Rejected) as error:
            getattr(shipstation(made.label(status="error")), operation)(BODY, key="attempt-1")
        assert error.value.status == 200  # which says that it is about this very order


@pytest.mark.parametrize(
    "document", [row(RUBY_TOO + "labels/labels_extended_test.rb", {"label_id": "se-1", "status": "completed"}), {}, []]
)
def test_a_reply_without_a_tracking_number_is_unclear(shipstation, document):
    with pytest.raises(OutcomeUnknown):
        shipstation(document).book(BODY, key="attempt-1")


@pytest.mark.parametrize("document", [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", made.errors()])
def test_a_failed_lookup_does_not_mean_there_is_no_label(shipstation, document):
    assert shipstation(document, status=404).find(BODY, key="attempt-1") is None
    with pytest.raises(OutcomeUnknown):
        shipstation(b"", status=500).find(BODY, key="attempt-1")


def test_a_body_without_its_rate_and_external_id_is_not_sent(shipstation, far_side):
    for operation in ("book", "find"):
        with pytest.raises(OperationOff):
            getattr(shipstation(made.label()), operation)(b'{"label_format":"pdf"}', key="attempt-1")
    assert far_side.asked == []


def test_the_prepared_bytes_are_sent_unchanged_to_their_rate(shipstation, far_side):
    client = shipstation(made.rates(made.rate()), made.label())
    body = client.prepare(parcel()).body
    client.book(body, key="attempt-1")
    assert (far_side.asked[1].target, far_side.asked[1].body) == (f"/api/labels/rates/{made.RATE_ID}", body)
    assert json.loads(body)["label_format"] == "pdf"
    client.find(body, key="attempt-1")
    external_id = json.loads(body)["custom_field1"]
    assert far_side.asked[2].target == f"/api/labels/external_shipment_id/{external_id}"


@pytest.mark.parametrize(("key", "member", "is_test"), [
    ("TEST_made-up", {}, True), ("made-up", {}, False), ("made-up", {"test_label": True}, True),
    ("made-up", {"test_label": False}, False),
])  # fmt: skip
def test_a_test_keys_label_is_marked_as_a_test(shipstation, key, member, is_test):
    client = shipstation(made.label(**member), key=key)
    assert client.book(BODY, key="attempt-1").is_test is is_test
    assert client.view(made.LABEL_ID).is_test is is_test


VOIDS = [
    row(DOTNET + "VoidLabelWithLabelId200Response.json", {"approved": True, "message": "It is voided."}, None),
    row(RUBY + "labels/void_label_functional_test.rb", {"approved": True, "message": "Refund submitted."}, None),
    row(SCHEMA + "void_label_response_body", {"approved": False, "message": "Too late.",
        "reason_code": "label_not_found_within_void_period"}, Rejected),
    row("it was voided before", {"approved": False, "message": "-", "reason_code": "label_already_voided"}, None),
    row("no answer", {"message": "Thank you."}, OutcomeUnknown),
]  # fmt: skip


@pytest.mark.parametrize(("document", "outcome"), VOIDS)
def test_only_an_approved_void_is_a_cancellation(shipstation, far_side, document, outcome):
    client = shipstation(document)
    if outcome is None:
        assert client.cancel(made.LABEL_ID).state == client.contract.cancelled_word
        assert (far_side.asked[0].method, far_side.asked[0].target) == ("PUT", f"/api/labels/{made.LABEL_ID}/void")
    else:
        with pytest.raises(outcome):
            client.cancel(made.LABEL_ID)
    voided = made.label(voided=True)
    assert shipstation(voided).view(made.LABEL_ID).state == client.contract.cancelled_word


# Delivered, though no scan says so: the delivery is one scan more.
HISTORIES = [
    row(DOTNET + "TrackUsingCarrierCodeAndTrackingNumber200Response.json", made.history(
        made.event(city_locality=None, state_province=None, postal_code=None, country_code=None), status_code="UN"), 1),
    row(JS + "mock-track-by-label-id-200.js", made.history(made.event(), made.event(event_code="OF")), 3),
    row(JS + "mock-track-by-tracking-number-200.js", made.history(made.event(description="Out for Delivery")), 2),
    row(JAVA + "track-package.json", made.history(
        {name: value for name, value in made.event(postal_code=61602, country_code="US").items()
         if name not in ("status_code", "carrier_detail_code")}, carrier_status_code=1), 2),
    row(RUBY + "tracking/track_using_label_id_functional_test.rb", made.history(
        made.event(latitude=-90, longitude=-180)), 2),
    row(SCHEMA + "track_event", made.history(made.event(
        status_code="IT", status_detail_code="IN_TRANSIT", proof_of_delivery_url="https://example.com/photo.png")), 1),
    row("none yet", made.history(status_code="UN"), 0),
]  # fmt: skip
LISTED = {"labels": [made.label()], "total": 1}


@pytest.mark.parametrize(("document", "count"), HISTORIES)
def test_every_scan_is_read_and_recognised_the_next_time(shipstation, document, count):
    tracked, again = (shipstation(LISTED, document).track(made.NUMBER) for _ in range(2))
    assert (len(tracked.scans), tracked.unreadable, tracked.state) == (count, (), document["status_code"])
    assert len({scan.event_id for scan in tracked.scans}) == count
    assert [scan.event_id for scan in again.scans] == [scan.event_id for scan in tracked.scans]
    assert {(scan.reference, scan.remark) for scan in tracked.scans} <= {(made.NUMBER, "")}
    assert b"photo" not in tracked.body


def test_the_newest_label_with_the_number_is_followed(shipstation, far_side):
    rows = [made.label(label_id="se-1", created_at="2021-03-02T01:00:00Z"), made.label(),
            made.label(label_id="se-3", tracking_number="9400111", created_at="2027-01-01T00:00:00Z")]  # fmt: skip
    shipstation({"labels": rows}, made.history()).track(made.NUMBER)
    assert [asked.target for asked in far_side.asked] == [
        f"/api/labels?tracking_number={made.NUMBER}",
        f"/api/labels/{made.LABEL_ID}/track",
    ]
    assert shipstation({"labels": []}).track(made.NUMBER).scans == ()


@pytest.mark.parametrize(
    ("status", "detail", "progress"),
    [
        ("IT", None, "in_transit"),
        ("IT", "OUT_FOR_DELIVERY", "out_for_delivery"),
        ("IT", "HUB_SCAN_IN", "in_transit"),
        ("AC", "DROPPED_OFF", "dropped_off"),
        ("AC", None, ""),
        ("AT", None, "delivery_attempted"),
        ("SP", None, "held"),
        ("EX", "PARCEL_LOST", "lost"),
        ("EX", "PARCEL_DISPOSED", "cannot_deliver"),
        ("EX", "CUSTOMER_MOVED", "cannot_deliver"),
        ("EX", "NOT_DELIVERED_ADDRESSEE_DECEASED", "cannot_deliver"),
        ("EX", "NO_ACCESS_TO_RECIPIENTS_ADDRESS", "delivery_attempted"),
        ("EX", "HELD_BY_CUSTOMS", ""),
        ("EX", None, ""),
        ("EX", "DELIVERED_DAMAGED", "delivered"),
        ("EX", "RECD_BY_CARRIER_NO_ELEC_ADVICE", "in_transit"),
        ("EX", "PARCEL_REDIRECTED_BY_CARRIER", "in_transit"),
        ("EX", "DUTY_NOT_PAID", ""),
        ("UN", "DELIVERED_TO_PICKUP_POINT", "held"),
        ("DE", "DELIVERED", "delivered"),
        ("SP", "DELIVERED_TO_ALTERNATIVE_DELIVERY_LOCATION", "held"),
        ("", None, ""),
        # Version 2 documents these words as statuses.
        ("COLLECTION_MADE", None, "collected"),
        ("COLLECTION_FAILED", None, "pickup_futile"),
        ("DESPATCHED", None, "dropped_off"),
        ("HUB_SCAN_OUT", None, "in_transit"),
        ("OUT_FOR_DELIVERY", None, "out_for_delivery"),
        ("ATTEMPTED_DELIVERY_2ND", None, "delivery_attempted"),
        ("DELIVERED_TO_LOCKER_COLLECTION_POINT", None, "held"),
        ("DELIVERED", None, "delivered"),
        ("DELIVERED_TO_NEIGHBOUR", None, "delivered"),
        ("PARCEL_LOST", None, "lost"),
        ("HELD_BY_IMPORT_CUSTOMS", None, ""),
        (None, "DELIVERED", "delivered"),
        # The schema's newer details.
        ("SHIPMENT_CREATED", None, ""),
        ("AWAITING_PICKUP_DROP_OFF", None, ""),
        ("PARCEL_UPDATE_NOTIFICATION", None, ""),
        ("DELIVERY_SCHEDULED", None, "in_transit"),
        ("DELIVERY_RESCHEDULED", None, "in_transit"),
        ("PARCEL_REDIRECTED", None, "in_transit"),
    ],
)
def test_each_shipstation_status_has_a_meaning_here(shipstation, status, detail, progress):
    events = made.history(made.event(status_code=status, status_detail_code=detail), status_code="UN")
    client = shipstation(LISTED, events)
    (scan,) = client.track(made.NUMBER).scans
    assert client.contract.progress(scan.event_type) == progress


def test_a_status_that_nobody_knows_is_kept_for_the_operator_to_map(shipstation):
    client = shipstation(LISTED, made.history(made.event(status_code="ZZ"), status_code="ZZ"))
    (scan,) = client.track(made.NUMBER).scans
    assert (scan.event_type, client.contract.progress(scan.event_type)) == ("zz", None)


ARRIVED = "2026-03-05T22:10:00Z"
OF_UPS = made.event(status_code=None, occurred_at=ARRIVED, description="DELIVERED", event_code="D")


@pytest.mark.parametrize(
    ("events", "status", "delivered_at"),
    [
        ([OF_UPS], "DE", [ARRIVED]),
        ([made.event(status_code="", description="Front Door"), made.event(status_code="")], "DE", [made.LATER]),
        ([made.event(status_code="DE", occurred_at=ARRIVED), made.event()], "DE", [ARRIVED]),
        ([made.event(status_code="DELIVERED_TO_PO_BOX", occurred_at=ARRIVED)], "DELIVERED_TO_PO_BOX", [ARRIVED]),
        ([], "DELIVERED", [made.LATER]),
        ([made.event(status_code=None, description="Delivered to agent")], "IT", []),
        ([made.event(status_code="DE", status_detail_code="RETURN_TO_SENDER")], "DE", []),
    ],
)
def test_a_parcel_is_delivered_though_its_scans_have_no_status(shipstation, events, status, delivered_at):
    document = made.history(*events, status_code=status, actual_delivery_date=made.LATER)
    client = shipstation(LISTED, document)
    tracked, again = client.track(made.NUMBER), shipstation(LISTED, document).track(made.NUMBER)
    delivered = [scan for scan in tracked.scans if client.contract.progress(scan.event_type) == "delivered"]
    assert [f"{scan.scan_time:%Y-%m-%dT%H:%M:%SZ}" for scan in delivered] == delivered_at
    assert (tracked.unreadable, again.scans) == ((), tracked.scans)


def test_a_delivery_without_a_day_is_dated_by_the_newest_scan(shipstation):
    events = [made.event(), made.event(occurred_at=ARRIVED, description="Front Door")]
    scans = shipstation(LISTED, made.history(*events, actual_delivery_date=None)).track(made.NUMBER).scans
    assert [(scan.event_type, f"{scan.scan_time:%d %H:%M}") for scan in scans] == [
        ("un", "02 01:00"), ("un", "05 22:10"), ("de", "05 22:10"),
    ]  # fmt: skip
    assert shipstation(LISTED, made.history(actual_delivery_date=None)).track(made.NUMBER).scans == ()


@pytest.mark.parametrize("documents", [({},), ([],), (LISTED, {}), (LISTED, made.history(events=None))])
def test_a_reply_without_a_history_is_not_an_empty_history(shipstation, documents):
    with pytest.raises(OutcomeUnknown):
        shipstation(*documents).track(made.NUMBER)


FIELDS = [
    ("shipment.ship_to.phone_number", "receiver_phone"),
    ("shipment.ship_from.postal_code", "sender_postcode"),
    ("ship_to.state_province", "receiver_state"),
    ("from_postal_code", "sender_postcode"),
    ("to_city_locality", "receiver_suburb"),
    ("shipment.packages[0].weight.value", "weight"),
    ("packages.0.dimensions.height", "height"),
    ("shipment.packages[0].products[1].harmonized_tariff_code", "item_2_hs_code"),
    ("shipment.customs.customs_items", "contents"),
    ("shipment.customs.contents", "contents_type"),
    ("shipment.ship_to", "receiver_line1"),
    ("rate_options.carrier_ids", "rate_options.carrier_ids"),
    ("", ""),
]


@pytest.mark.parametrize(("field", "ours"), FIELDS)
def test_an_error_is_reported_on_our_own_field(shipstation, field, ours):
    for member in ("field_name", "field"):
        document = made.errors(made.error("is wrong", **{member: field}))
        with pytest.raises(Rejected) as error:
            shipstation(document, status=400).prepare(parcel())
        assert (error.value.messages, error.value.code) == ({ours: ["is wrong"]}, "invalid_field_value")


@pytest.mark.parametrize(
    ("status", "document", "text"),
    [
        (400, {"message": "The address is too long."}, "The address is too long."),
        (400, {"errors": ["The address is too long."]}, "The address is too long."),
        (401, {"message": "Unauthorized"}, "Unauthorized"),
        (
            401,
            made.errors(made.error("The key has ended.", "unauthorized", field_name="API-Key")),
            "The key has ended.",
        ),
        (400, made.errors(made.error("Add money.", kind="wallet", field_name="funds")), "Add money."),
    ],
)
def test_what_an_error_says_is_never_lost(shipstation, status, document, text):
    with pytest.raises((Rejected, AccountStopped)) as error:
        shipstation(document, status=status).prepare(parcel())
    assert error.value.text == text


def test_an_account_asks_at_most_200_times_a_minute():
    contract = Contract(**ShipStation.points)
    assert 150 < 60 * (contract.requests_per_second + contract.tracking_per_second) <= 200


NO_MONEY = made.error("Add money.", "insufficient_funds", "account_status")
STATUSES = [
    row(DOTNET + "RateLimited429Response.json", 429, made.errors(
        made.error("Too many.", "rate_limit_exceeded", "system")), NotSent),
    row(SCHEMA + "error_source carrier", 429, made.errors(
        made.error("Slow down.", "rate_limit_exceeded", "integrations", error_source="carrier")), OutcomeUnknown),
    row("the same as a refusal", 400, made.errors(
        made.error("Slow down.", "rate_limit_exceeded", "business_rules", error_source="carrier")), OutcomeUnknown),
    row(DOTNET + "BadRequest400Response.json", 400, made.errors(
        made.error("It is empty.", "request_body_required")), Rejected),
    row(RUBY + "labels/void_label_functional_test.rb: 401", 401, made.errors(
        made.error("The key is invalid.", "unauthorized", "security")), AccountStopped),
    row(JS + "mock-track-by-label-id-200.js: 404", 404, made.errors(
        made.error("GET", "not_found", "security", method="/v1/labels", path="GET is not valid")), Rejected),
    row(JS + "mock-track-by-label-id-200.js: 500", 500, {"error": {"message": "Bad"}}, OutcomeUnknown),
    row("402", 402, made.errors(NO_MONEY), AccountStopped),
    row(SCHEMA + "error_type account_status", 400, made.errors(
        made.error("It has ended.", "trial_expired", "account_status")), AccountStopped),
    row(SCHEMA + "error_code insufficient_funds", 400, made.errors(
        made.error("Add money.", "insufficient_funds", "business_rules")), AccountStopped),
    row(SCHEMA + "error_type wallet", 400, made.errors(
        made.error("Add money.", "unspecified", "wallet")), AccountStopped),
    row(SCHEMA + "error_type funding_sources", 400, made.errors(
        made.error("The card has expired.", "unspecified", "funding_sources")), AccountStopped),
    row(SCHEMA + "error_code subscription_inactive", 400, made.errors(
        made.error("Renew it.", "subscription_inactive", "business_rules")), AccountStopped),
    row(SCHEMA + "error_code invalid_status", 400, made.errors(made.error("-", "invalid_status")), OutcomeUnknown),
    row("the same without words", 400, made.errors(made.error("", "invalid_status")), OutcomeUnknown),
    row(SCHEMA + "error_code identifier_conflict", 409, made.errors(made.error("-", "identifier_conflict")),
        OutcomeUnknown),
    row(SCHEMA + "error_type integrations", 400, made.errors(
        made.error("The carrier did not answer.", "unspecified", "integrations")), OutcomeUnknown),
    row("503", 503, made.errors(NO_MONEY), OutcomeUnknown),
]  # fmt: skip


@pytest.mark.parametrize(("status", "document", "outcome"), STATUSES)
@pytest.mark.parametrize("operation", ["quote", "prepare", "book", "view", "cancel", "track"])
def test_the_status_and_code_of_an_error_decide_its_outcome(shipstation, status, document, outcome, operation):
    client = shipstation(document, status=status)
    call: dict[str, Callable[[], object]] = {
        "quote": lambda: client.quote(parcel()),
        "prepare": lambda: client.prepare(parcel()),
        "book": lambda: client.book(BODY, key="attempt-1"),
        "view": lambda: client.view(made.LABEL_ID),
        "cancel": lambda: client.cancel(made.LABEL_ID),
        "track": lambda: client.track(made.NUMBER),
    }
    with pytest.raises(outcome):
        call[operation]()


def test_names_are_sent_with_a_booking_but_not_with_a_quote(shipstation, far_side):
    shipstation([made.rate()]).quote(parcel(customer_reference="PORTAL-7"))
    shipstation(made.rates(made.rate())).prepare(parcel(customer_reference="PORTAL-7"))
    estimate, asked = (one.json for one in far_side.asked)
    assert (estimate["from_postal_code"], estimate["to_city_locality"]) == ("62701", "Peoria")
    assert not {"Quill", "Tamsin", "Example Lane", "555"} & set(json.dumps(estimate).split())
    assert "Quill" not in json.dumps(estimate)
    shipment = asked["shipment"]
    assert (shipment["ship_from"]["phone"], shipment["ship_to"]["name"]) == ("217 555 0142", "Noor Tamsin")
    assert shipment["ship_to"]["instructions"] == "Authority To Leave"
    assert shipment["packages"][0]["label_messages"] == {"reference1": "PORTAL-7"}
    assert estimate["carrier_ids"] == asked["rate_options"]["carrier_ids"] == ["se-1001", "se-1002"]


def test_measures_keep_the_units_they_were_entered_in(shipstation, far_side):
    measures = Measures(Decimal("2.4"), "kg", Decimal(32), Decimal(24), Decimal("11.5"), "cm")
    shipstation([made.rate()]).quote(parcel(measures=measures))
    assert far_side.asked[0].json["weight"] == {"value": 2.4, "unit": "kilogram"}
    dimensions = {"unit": "centimeter", "length": 32.0, "width": 24.0, "height": 11.5}
    assert far_side.asked[0].json["dimensions"] == dimensions


def test_customs_have_the_value_of_one_piece_and_cover_is_insured(shipstation, far_side):
    shirts = Item("Cotton t-shirt", Decimal("28.00"), 2, "BD", "6109.10.0012")
    abroad = parcel(receiver=TO_NZ, contents=(shirts,), contents_type="Returned Goods", cover=Decimal(300))
    shipstation(made.rates(made.rate())).prepare(abroad)
    shipment = far_side.asked[0].json["shipment"]
    assert (shipment["customs"]["contents"], shipment["insurance_provider"]) == ("returned_goods", "shipsurance")
    (package,) = shipment["packages"]
    assert package["insured_value"] == made.money(300.0)
    assert package["products"] == [
        {"description": "Cotton t-shirt", "quantity": 2, "value": made.money(28.0), "country_of_origin": "BD",
         "harmonized_tariff_code": "6109.10.0012"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "is_declared"), [("IL", "AE", True), ("AP", "IL", True), ("IL", "GU", True), ("IL", "PR", False)]
)
def test_a_parcel_to_a_military_post_is_declared(shipstation, far_side, start, end, is_declared):
    sender, receiver = replace(OF_US, state=start), replace(TO_US, state=end)
    assert ShipStation.needs_customs(sender, receiver) is is_declared
    mug = Item("Ceramic mug", Decimal("9.50"), 2, "US", "")
    shipstation(made.rates(made.rate())).prepare(parcel(sender=sender, receiver=receiver, contents=(mug,)))
    assert ("customs" in far_side.asked[0].json["shipment"]) is is_declared


def test_the_key_is_in_its_header_and_a_carrier_id_is_needed(shipstation, far_side, calls):
    client = shipstation({"carriers": []})
    client.ping()
    assert far_side.asked[0].headers["api-key"] == "made-up"
    assert "made-up" not in f"{client!r} {calls}"
    settings = {"base_url": far_side.url, "account": "ours", "user_agent": "X/1"}
    with pytest.raises(ValueError, match="lists no carrier"):
        ShipStation(key="k", partner_id="none", contract=Contract(**ShipStation.points), **settings)


def test_no_tracker_is_created_for_a_parcel_booked_elsewhere(shipstation, far_side):
    with pytest.raises(OperationOff):
        shipstation({}).subscribe(made.NUMBER)
    assert far_side.asked == []


def test_a_price_is_the_sum_of_its_amounts(shipstation):
    assert shipstation(made.rates(UPS)).prepare(parcel(product_code="ups:ups_ground")).price == Money(
        Decimal("97.03"), "USD"
    )


NOW = datetime(2026, 3, 2, 1, tzinfo=UTC)
SIGNED_AT = "2026-03-02T01:00:00Z"
EVENT = b'{"resource_type": "API_TRACK", "data": {"tracking_number": "9400999990000000000017"}}'


@pytest.fixture(scope="module")
def private_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


def jwks(key: RSAPrivateKey, **changes: Any) -> str:
    def text(number: int) -> str:
        raw = number.to_bytes((number.bit_length() + 7) // 8)
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    numbers = key.public_key().public_numbers()
    row = {"kty": "RSA", "kid": "k-1", "n": text(numbers.n), "e": text(numbers.e), **changes}
    return json.dumps({"keys": [row]})


def signed(key: RSAPrivateKey, body: bytes = EVENT, at: str = SIGNED_AT) -> dict[str, str]:
    proof = key.sign(f"{at}.".encode() + body, PKCS1v15(), SHA256())
    return {
        "x-shipengine-timestamp": at,
        "x-shipengine-rsa-sha256-key-id": "k-1",
        "x-shipengine-rsa-sha256-signature": base64.b64encode(proof).decode(),
    }


def test_a_signature_by_a_known_key_is_valid_for_five_minutes(private_key):
    headers, keys = signed(private_key), jwks(private_key)
    for minutes, is_valid in ((-6, False), (-4, True), (0, True), (4, True), (6, False)):
        now = NOW + timedelta(minutes=minutes)
        assert ShipStation.has_valid_signature(EVENT, headers, keys, now=now) is is_valid


@pytest.mark.parametrize(
    "changes",
    [
        {"x-shipengine-timestamp": "2026-03-02T01:00:01Z"},
        {"x-shipengine-timestamp": "yesterday"},
        {"x-shipengine-rsa-sha256-key-id": ""},
        {"x-shipengine-rsa-sha256-key-id": "k-2"},
        {"x-shipengine-rsa-sha256-signature": ""},
        {"x-shipengine-rsa-sha256-signature": "€"},
        {"x-shipengine-rsa-sha256-signature": "AAAA"},
    ],
)
def test_a_forged_signature_is_not_valid(private_key, changes):
    assert not ShipStation.has_valid_signature(EVENT, signed(private_key) | changes, jwks(private_key), now=NOW)


def test_a_changed_body_or_an_unusable_key_is_not_valid(private_key):
    headers = signed(private_key)
    assert not ShipStation.has_valid_signature(EVENT + b" ", headers, jwks(private_key), now=NOW)
    odd = [{"kty": "oct"}, {"n": None}, {"e": "Ag"}]
    others = ["", "{", "[]", '{"keys": 1}', '{"keys": [1]}', *(jwks(private_key, **changes) for changes in odd)]
    for keys in others:
        assert not ShipStation.has_valid_signature(EVENT, headers, keys, now=NOW)
    short = generate_private_key(65537, 1024)  # noqa: S505  (which is the point)
    assert not ShipStation.has_valid_signature(EVENT, signed(short), jwks(short), now=NOW)
