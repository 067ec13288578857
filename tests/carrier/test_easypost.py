"""Each operation of the EasyPost class, against documents in the same shape as recorded exchanges.

Each row's id says which recording has that shape: the repository, the file, and the number of the exchange.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.easypost import EasyPost
from shipping_portal.carrier.errors import AccountStopped, NotSent, OperationOff, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Call, Item, LabelLink, Measures, Money, Party, Shipment
from shipping_portal.carrier.values import value_at

from . import easypost_documents as made
from .conftest import ORDER_KEY, SocketCarrier, reply
from .conftest import shipment as a_shipment

PYTHON = "EasyPost/easypost-python tests/cassettes/"
JAVA = "EasyPost/easypost-java src/test/cassettes/"
RUBY = "EasyPost/easypost-ruby spec/cassettes/"
NODE = "EasyPost/easypost-node test/cassettes/"
KARRIO = "karrioapi/karrio modules/connectors/easypost/tests/easypost/"
OF_US = Party(
    name="Ira Quill", email="ira.quill@example.com", phone="217 555 0142", line1="12 Example Lane",
    suburb="Springfield", state="IL", postcode="62701", country="US",
)  # fmt: skip
TO_US = Party(name="Noor Tamsin", line1="4 Sample Street", suburb="Peoria", state="IL", postcode="61602", country="US")
TO_NZ = Party(name="Noor Tamsin", line1="4 Sample Street", suburb="Wellington", postcode="6011", country="NZ")
BODY = b'{"rate":{"id":"rate_00000000000000000000000000000001","shipment_id":"%s"}}' % made.SHIPMENT_ID.encode()
LINK = LabelLink("pdf", "4x6", f"{made.FILES}/postage_label/20260302/0001.pdf")


def row(source: str, *values: Any) -> Any:
    return pytest.param(*values, id=source)


def parcel(**changes: Any) -> Shipment:
    values = {"sender": OF_US, "receiver": TO_US, "product_code": "USPS:GroundAdvantage"}
    return a_shipment(**(values | changes))


@pytest.fixture(autouse=True)
def _on_the_day_of_the_quote(time_machine):
    time_machine.move_to("2026-03-02T01:00:00Z")


@pytest.fixture
def easypost(far_side: SocketCarrier, calls: list[Call]) -> Callable[..., EasyPost]:
    """Make the carrier reply with these documents, in this order, and return a client for it."""

    def make(*documents: Any, status: int = 200) -> EasyPost:
        far_side.answers(*(one if isinstance(one, bytes) else reply(status, one) for one in documents or [b""]))
        return EasyPost(
            base_url=far_side.url,
            account="ours",
            key="EZTK-made-up",
            partner_id="",
            user_agent="ShippingPortal/1.0 (ops@portal.example)",
            contract=Contract(**EasyPost.points),
            on_call=calls.append,
            connect_timeout=5.0,
            deadline=15.0,
        )

    return make


RATES = [
    row(PYTHON + "test_shipment_create.yaml#0", made.shipment(customs_info=made.customs(), reference="123")),
    row(PYTHON + "test_shipment_create_empty_objects.yaml#0", made.shipment(options={})),
    row(PYTHON + "test_shipment_create_tax_identifier.yaml#0", made.shipment(
        tax_identifiers=[{"tax_id_type": "IOSS"}])),
    row(PYTHON + "test_shipment_create_with_ids.yaml#3", made.shipment(from_address={"id": "adr_0001"})),
    row(PYTHON + "test_rate_retrieve.yaml#0", made.shipment()),
    row(PYTHON + "test_batch_add_remove_shipment.yaml#0", made.bought()),
    row(JAVA + "batch/add_remove_shipment_with_list.json#0", made.with_floats(made.bought(insurance="50.00"))),
    row(JAVA + "rate/retrieve.json#0", made.with_floats(made.shipment(messages=[made.RATE_ERROR]))),
    row(JAVA + "claim/cancel.json#0", made.with_floats(made.shipment(customs_info=made.customs()))),
    row(JAVA + "shipment/create_empty_objects.json#0", made.with_floats(
        made.shipment(customs_info=made.customs(customs_items=[], eel_pfc=None)))),
    row(JAVA + "shipment/create_tax_identifiers.json#0", made.with_floats(
        made.shipment(messages=[made.RATE_ERROR], tax_identifiers=[{"entity": "SENDER"}]))),
    row(JAVA + "shipment/buy_luma.json#0", made.with_floats(made.shipment())),
    row(JAVA + "shipment/insure.json#0", made.with_floats(made.bought())),
    row(RUBY + "claim/EasyPost_Services_Claim_cancel_cancels_an_claim.yml#0", made.shipment(
        messages=[made.RATE_ERROR])),
    row(RUBY + "shipment/EasyPost_Services_Shipment_buy_buys_a_shipment.yml#0", made.shipment(
        customs_info=made.customs(), messages=[made.RATE_ERROR] * 2)),
    row(NODE + "Batch-Service_3950244400/adds-and-removes-shipments-from-a-batch_444431701/recording.har#0",
        made.bought(insurance="50.00", parcel=made.parcel(whole=True))),
    row(NODE + "Rate-Service_2756950372/retrieves-a-rate_3801249961/recording.har#0", made.shipment(
        parcel=made.parcel(whole=True))),
    row(NODE + "Claim-Service_1417924316/cancels-a-standalone-claim_1710270578/recording.har#0", made.shipment(
        customs_info=made.customs(), parcel=made.parcel(whole=True))),
    row(NODE + "Shipment-Service_2987889512/buys-a-Shipment-with-Luma_1155760042/recording.har#0", made.shipment(
        messages=[made.RATE_ERROR], parcel=made.parcel(whole=True))),
    row(NODE + "Shipment-Service_2987889512/insures-a-shipment_1091350575/recording.har#0", made.bought(
        parcel=made.parcel(whole=True))),
]  # fmt: skip


@pytest.mark.parametrize("document", RATES)
def test_every_rate_is_read(easypost, document):
    quoted = easypost(document, status=201).quote(parcel())
    assert {product.code: str(product.price.amount) for product in quoted.products} == made.QUOTED
    assert quoted.unreadable == ()


@pytest.mark.parametrize("document", RATES)
def test_every_shipment_can_be_prepared(easypost, document):
    prepared = easypost(document, status=201).prepare(parcel())
    assert (prepared.body, prepared.price) == (BODY, Money(Decimal("6.40"), "USD"))


AUSTRALIAN = made.rate(
    "ParcelPostSignature", "7.80", 4, carrier="AustraliaPost", currency="AUD", list_rate=None, retail_rate=None,
    billing_type="carrier", delivery_date_guaranteed=None,
)  # fmt: skip
UPS = made.rate("SurePostOver1Lb", "7.70", None, carrier="UPSSurePost", currency="USD")


@pytest.mark.parametrize(
    ("rates", "code", "name", "price", "expected"),
    [
        row(KARRIO + "test_shipment.py ShipmentResponseWithFeeJSON", [AUSTRALIAN],
            "AustraliaPost:ParcelPostSignature", "AustraliaPost Parcel Post Signature", "7.80 AUD", "2026-03-06"),
        row("a rate without days, as UPS SurePost has", [UPS],
            "UPSSurePost:SurePostOver1Lb", "UPSSurePost Sure Post Over1Lb", "7.70 USD", "None"),
        row(KARRIO + "test_rate.py RateResponseJSON", [made.rate(delivery_date="2026-03-09T05:40:57Z")],
            "USPS:GroundAdvantage", "USPS Ground Advantage", "6.40 USD", "2026-03-09"),
        row(JAVA + "shipment/buy_with_rate.json#0", [made.rate("First", "5.90", 3.0)],
            "USPS:First", "USPS First", "5.90 USD", "2026-03-05"),
        row("two accounts of one carrier: the cheaper counts", [made.rate(amount="7.00"), made.rate(amount="6.10")],
            "USPS:GroundAdvantage", "USPS Ground Advantage", "6.10 USD", "2026-03-05"),
        row("a service with spaces and slashes", [made.rate("FEDEX 2DAY/AM")],
            "USPS:FEDEX-2DAY-AM", "USPS FEDEX 2DAY/AM", "6.40 USD", "2026-03-05"),
    ],
)  # fmt: skip
def test_a_rates_code_is_its_carrier_and_service_not_its_id(easypost, rates, code, name, price, expected):
    (product,) = easypost(made.shipment(rates=rates)).quote(parcel()).products
    assert (product.code, product.name, str(product.price), str(product.eta_to)) == (code, name, price, expected)
    assert (product.first_mile, product.duties_paid, product.eta_from) == ("drop-off", False, product.eta_to)


@pytest.mark.parametrize(
    "changes", [{"id": None}, {"id": "not/an/id"}, {"rate": "-1.00"}, {"rate": None}, {"currency": ""}, {"service": ""}]
)
def test_a_rate_that_cannot_be_bought_is_left_out_and_counted(easypost, calls, changes):
    quoted = easypost(made.shipment(rates=[made.rate() | changes, *made.RATES[:1]])).quote(parcel())
    assert [product.code for product in quoted.products] == ["USPS:Express"]
    assert (len(quoted.unreadable), calls[0].unreadable) == (1, 1)


def test_if_there_are_no_rates_the_carriers_messages_say_why(easypost):
    document = made.shipment(
        rates=[], messages=[made.RATE_ERROR, made.RATE_ERROR, made.RATE_ERROR | {"message": "Too heavy"}]
    )
    with pytest.raises(Rejected) as refused:
        easypost(document).quote(parcel())
    assert refused.value.messages == {"": ["UPS: Invalid licence", "UPS: Too heavy"]}
    assert easypost(made.shipment(rates=[])).quote(parcel()).products == ()


def test_a_service_no_longer_offered_is_an_error_on_the_service(easypost):
    with pytest.raises(Rejected) as refused:
        easypost(made.shipment(rates=made.RATES[:2])).prepare(parcel())
    assert list(refused.value.messages) == ["product_code"]


BOUGHT = [
    row(PYTHON + "test_shipment_buy.yaml#1", made.bought(customs_info=made.customs(), reference="123")),
    row(PYTHON + "test_shipment_buy_with_end_shipper_id.yaml#2", made.bought()),
    row(PYTHON + "test_shipment_insure.yaml#1", made.bought(**made.INSURED)),
    row(PYTHON + "test_shipment_generate_form.yaml#1", made.bought(
        forms=[{"object": "Form", "form_type": "return_packing_slip", "form_url": f"{made.FILES}/form/0001.pdf"}])),
    row(PYTHON + "test_shipment_convert_label.yaml#2", made.bought(
        postage_label=made.label(label_zpl_url=f"{made.FILES}/postage_label/0001.zpl"))),
    row(PYTHON + "test_refund_create.yaml#1", made.bought(tracker=made.tracker(made.ANNOUNCED))),
    row(PYTHON + "test_shipment_buy_luma.yaml#1", made.bought(luma_info=made.LUMA, is_return=None)),
    row(PYTHON + "test_shipment_create_and_buy_luma.yaml#0", {
        name: value for name, value in made.bought(luma_info=made.LUMA).items()
        if name not in ("status", "rates", "tracker", "batch_id", "batch_status", "batch_message")}),
    row(JAVA + "shipment/buy_with_rate.json#1", made.with_floats(made.bought(
        messages=[made.RATE_ERROR], **made.INSURED))),
    row(JAVA + "claim/create.json#1", made.with_floats(made.bought(
        customs_info=made.customs(), selected_rate=made.rate(delivery_date="2026-03-05T00:00:00Z"), **made.INSURED))),
    row(JAVA + "shipment/convert_label.json#1", made.with_floats(made.bought())),
    row(JAVA + "shipment/buy_luma.json#1", made.with_floats(made.bought(luma_info=made.LUMA, is_return=None))),
    row(RUBY + "claim/EasyPost_Services_Claim_cancel_cancels_an_claim.yml#1", made.bought(
        messages=[made.RATE_ERROR], **made.INSURED)),
    row(RUBY + "shipment/EasyPost_Services_Shipment_label_converts_the_label_format_of_a_shipment.yml#1", made.bought(
        customs_info=made.customs(), messages=[made.RATE_ERROR])),
    row(NODE + "Claim-Service_1417924316/cancels-a-standalone-claim_1710270578/recording.har#1", made.bought(
        customs_info=made.customs(), parcel=made.parcel(whole=True), **made.INSURED)),
    row(NODE + "Shipment-Service_2987889512/buys-a-shipment-with-end_shipper_id_3098977158/recording.har#2",
        made.bought(parcel=made.parcel(whole=True), insurance="50.00")),
    row(NODE + "Shipment-Service_2987889512/generates-a-form-for-a-shipment_1612844164/recording.har#1", made.bought(
        parcel=made.parcel(whole=True), forms=[{"form_type": "slip", "form_url": f"{made.FILES}/form/2.pdf"}])),
    row(KARRIO + "test_shipment.py ShipmentResponseWithFeeJSON", made.bought(
        postage_label=made.label("pdf"), options={"label_format": "PDF", "label_date": "2026-03-02T00:00:00+00:00"})),
    row(KARRIO + "test_shipment.py ShipmentResponseJSON", made.bought(
        postage_label=made.label(label_pdf_url=f"{made.FILES}/1.pdf", label_zpl_url=f"{made.FILES}/1.zpl"))),
]  # fmt: skip


@pytest.mark.parametrize("document", BOUGHT)
def test_a_purchase_reads_the_same_when_bought_found_or_viewed(easypost, document):
    by_buying = easypost(document).book(BODY, key="attempt-1")
    assert (by_buying.order_id, by_buying.reference) == (made.SHIPMENT_ID, made.CODE)
    assert str(by_buying.price) == "6.40 USD"
    assert easypost(document).find(BODY, key="attempt-1") == by_buying
    assert easypost(document, document).view(made.SHIPMENT_ID) == by_buying
    assert b"amazonaws" not in by_buying.body


def test_a_purchase_has_its_fees_and_its_tracking_link(easypost):
    booked = easypost(made.bought(**made.INSURED, reference=ORDER_KEY)).book(BODY, key="attempt-1")
    assert {name: str(money) for name, money in booked.breakdown} == {
        "PostageFee": "6.40000 USD",
        "InsuranceFee": "0.25000 USD",
    }
    assert (booked.tracking_url, booked.order_key) == ("https://track.easypost.com/made-up", ORDER_KEY)


UNBOUGHT = [
    row(PYTHON + "test_shipment_retrieve.yaml#1", made.shipment(customs_info=made.customs())),
    row(JAVA + "shipment/retrieve.json#1", made.with_floats(made.shipment(messages=[made.RATE_ERROR]))),
    row(RUBY + "shipment/EasyPost_Services_Shipment_retrieve_retrieves_a_shipment.yml#1", made.shipment(
        messages=[made.RATE_ERROR])),
    row(NODE + "Shipment-Service_2987889512/retrieves-a-shipment_1463360065/recording.har#1", made.shipment(
        parcel=made.parcel(whole=True))),
]  # fmt: skip


@pytest.mark.parametrize("document", UNBOUGHT)
def test_a_shipment_that_was_not_bought_is_not_a_purchase(easypost, document):
    assert easypost(document).find(BODY, key="attempt-1") is None
    with pytest.raises(OutcomeUnknown):
        easypost(document).book(BODY, key="attempt-1")


def test_a_failed_lookup_does_not_mean_nothing_was_bought(easypost):
    assert easypost(made.error("NOT_FOUND", "Not found."), status=404).find(BODY, key="attempt-1") is None
    with pytest.raises(OutcomeUnknown):
        easypost(b"", status=500).find(BODY, key="attempt-1")


@pytest.mark.parametrize(
    "changes", [{"id": "shp_another"}, {"refund_status": "refunded"}, {"refund_status": "submitted"}]
)
def test_another_shipment_or_a_refunded_one_is_a_conflict(easypost, changes):
    for operation in ("book", "find"):
        with pytest.raises(OutcomeUnknown) as unclear:
            getattr(easypost(made.bought(**changes)), operation)(BODY, key="attempt-1")
        assert unclear.value.conflict


@pytest.mark.parametrize("status", [400, 409, 422])
@pytest.mark.parametrize(
    "code", ["SHIPMENT.PURCHASE.IN_PROGRESS", "SHIPMENT.POSTAGE.TIMED_OUT", "SHIPMENT.POSTAGE.NO_RESPONSE"]
)
def test_a_purchase_that_may_have_gone_through_is_unclear(easypost, code, status):
    with pytest.raises(OutcomeUnknown):
        easypost(made.error(code, "Try again."), status=status).book(BODY, key="attempt-1")


@pytest.mark.parametrize("status", [409, 422])
def test_a_shipment_bought_earlier_is_adopted(easypost, far_side, status):
    exists = reply(status, made.error("SHIPMENT.POSTAGE.EXISTS", "Postage already exists."))
    booked = easypost(exists, made.bought()).book(BODY, key="attempt-1")
    assert booked.reference == made.CODE
    assert [(asked.method, asked.target) for asked in far_side.asked] == [
        ("POST", f"/api/v2/shipments/{made.SHIPMENT_ID}/buy"),
        ("GET", f"/api/v2/shipments/{made.SHIPMENT_ID}"),
    ]


@pytest.mark.parametrize(
    "look", [reply(404, {}), reply(401, {}), reply(429, {}), reply(500), reply(200, made.shipment()), b""]
)
def test_a_shipment_bought_earlier_is_never_reported_as_unsent_or_refused(easypost, look):
    exists = reply(422, made.error("SHIPMENT.POSTAGE.EXISTS", "Postage already exists."))
    with pytest.raises(OutcomeUnknown):
        easypost(exists, look).book(BODY, key="attempt-1")


def test_a_body_without_a_shipment_is_not_sent(easypost, far_side):
    with pytest.raises(OperationOff):
        easypost(made.bought()).book(b'{"rate":{"id":"rate_1"}}', key="attempt-1")
    assert far_side.asked == []


REFUNDS = [
    row("docs.easypost.com/docs/shipments/shipping-refund: rejected", made.bought(refund_status="rejected"), Rejected),
    row("docs.easypost.com/docs/shipments/shipping-refund: not_applicable", made.bought(
        refund_status="not_applicable"), Rejected),
    row("a status nobody has described", made.bought(refund_status="pondering"), OutcomeUnknown),
    row("another shipment", made.bought(id="shp_another", refund_status="refunded"), OutcomeUnknown),
]  # fmt: skip


@pytest.mark.parametrize(("document", "outcome"), REFUNDS)
def test_a_refund_that_was_not_made_is_not_a_cancellation(easypost, document, outcome):
    with pytest.raises(outcome):
        easypost(document).cancel(made.SHIPMENT_ID)


ASKED = [
    row(PYTHON + "test_shipment_refund.yaml#1", made.bought(refund_status="submitted")),
    row(JAVA + "shipment/refund.json#1", made.with_floats(made.bought(refund_status="submitted"))),
    row(NODE + "Shipment-Service_2987889512/refunds-a-shipment_2011747091/recording.har#1", made.bought(
        refund_status="submitted", parcel=made.parcel(whole=True))),
]  # fmt: skip


@pytest.mark.parametrize("document", ASKED)
def test_a_submitted_refund_is_only_a_request(easypost, document):
    answer = easypost(document).cancel(made.SHIPMENT_ID)
    assert (answer.is_asked, answer.state) == (True, Contract(**EasyPost.points).asked_word)


def test_a_completed_refund_is_a_cancellation(easypost):
    refunded = made.bought(refund_status="refunded")
    answer = easypost(refunded).cancel(made.SHIPMENT_ID)
    assert (answer.is_asked, answer.state) == (False, "refunded")
    assert easypost(refunded).view(made.SHIPMENT_ID).state == Contract(**EasyPost.points).cancelled_word


TRACKED = [
    row(PYTHON + "test_tracker_all.yaml#0", [made.tracker()], 2, "pre_transit"),
    row(PYTHON + "test_tracker_get_next_page.yaml#1", [made.tracker(shipment_id=None)], 2, "pre_transit"),
    row(PYTHON + "test_tracker_retrieve_batch.yaml#1", [made.tracker(
        [one | {"est_delivery_date": None} for one in made.DELIVERED], delivery_evidence=[],
        fees=[made.fee("TrackerFee", "0.02000")])], 7, "delivered"),
    row(PYTHON + "test_tracker_create.yaml#0, as a list's row", [made.tracker(finalized=True)], 2, "pre_transit"),
    row(JAVA + "tracker/all_parameter_hand_off.json#0", [], 0, ""),
    row(RUBY + "tracker/EasyPost_Services_Tracker_all_stores_the_params_used_to_retrieve_the_trackers.yml#0",
        [made.tracker(fees=[made.fee("TrackerFee", "0.02000")])], 2, "pre_transit"),
    row(KARRIO + "test_tracking.py TrackingResponseJSON", [made.tracker(
        [one | {"description": None, "carrier_code": None} for one in made.ANNOUNCED])], 2, "pre_transit"),
    row(RUBY + "tracker/EasyPost_Services_Tracker_get_next_page_retrieves_the_next_page_of_a_collection.yml#1",
        [made.tracker([made.detail("error", made.NOW, "Not a test number", None)])], 1, "error"),
]  # fmt: skip


@pytest.mark.parametrize(("trackers", "count", "state"), TRACKED)
def test_every_scan_is_read_and_recognised_the_next_time(easypost, trackers, count, state):
    document = {"trackers": trackers, "has_more": False}
    tracked = easypost(document).track(made.CODE)
    assert (len(tracked.scans), tracked.unreadable, tracked.state) == (count, (), state)
    again = easypost(document).track(made.CODE)
    assert len({scan.event_id for scan in tracked.scans}) == count
    assert [scan.event_id for scan in again.scans] == [scan.event_id for scan in tracked.scans]
    assert {scan.reference for scan in tracked.scans} <= {made.CODE}


def test_the_newest_tracker_counts_when_a_tracking_number_is_reused(easypost, far_side):
    older = made.tracker(made.DELIVERED, created_at="2021-03-02T01:00:00Z")
    document = {"trackers": [older, made.tracker(), made.tracker(made.DELIVERED, tracking_code="9400111")]}
    assert len(easypost(document).track(made.CODE).scans) == 2
    assert [(asked.method, asked.target) for asked in far_side.asked] == [
        ("GET", f"/api/v2/trackers?tracking_code={made.CODE}")
    ]


@pytest.mark.parametrize(
    ("status", "kind", "word", "progress"),
    [
        ("pre_transit", "label_created", "pre_transit", ""),
        ("in_transit", "received_at_origin_facility", "received_at_origin_facility", "collected"),
        ("in_transit", "departed_facility", "in_transit", "in_transit"),
        ("in_transit", None, "in_transit", "in_transit"),
        ("out_for_delivery", "out_for_delivery", "out_for_delivery", "out_for_delivery"),
        ("available_for_pickup", "unknown", "available_for_pickup", "held"),
        ("delivered", "arrived_at_destination", "delivered", "delivered"),
        ("return_to_sender", "return", "return", "returning"),
        ("failure", "damaged", "damaged", "damaged"),
        ("failure", "lost", "lost", "lost"),
        ("failure", "unknown", "failure", "cannot_deliver"),
        ("error", None, "error", ""),
    ],
)
def test_each_easypost_status_has_a_meaning_here(easypost, status, kind, word, progress):
    client = easypost({"trackers": [made.tracker([made.detail(status, made.NOW, "Seen", kind)])]})
    (scan,) = client.track(made.CODE).scans
    assert (scan.event_type, client.contract.progress(scan.event_type)) == (word, progress)


def test_a_scan_with_different_content_is_a_different_scan(easypost):
    def of(**changes: Any) -> str:
        rows = [made.detail("in_transit", made.NOW, "Arrived", city="PEORIA") | changes]
        return easypost({"trackers": [made.tracker(rows)]}).track(made.CODE).scans[0].event_id

    assert of() == of(source="another", carrier_code="AR", est_delivery_date=None)
    elsewhere = {"tracking_location": {"city": "CHICAGO"}}
    others = {of(message="Left"), of(status="delivered"), of(datetime="2026-03-02T02:00:00Z"), of(**elsewhere)}
    assert len({of()} | others) == 5


@pytest.mark.parametrize("document", [{"trackers": None}, {}, [], "no"])
def test_a_reply_without_trackers_is_not_an_empty_history(easypost, document):
    with pytest.raises(OutcomeUnknown):
        easypost(document).track(made.CODE)


MISSING = {"message": "is missing", "suggestion": None}
ERRORS = [
    row(PYTHON + "test_error.yaml#0", made.error("PARAMETER.REQUIRED", "Missing.",
        made.about("shipment", "cannot be blank")), {"shipment": ["cannot be blank"]}),
    row(PYTHON + "test_error_alternative_format.yaml#0", made.error("NOT_FOUND", "Not found.", "No insurance found."),
        {"": ["No insurance found."]}),
    row(PYTHON + "test_address_verify_invalid_address.yaml#1", made.error("ADDRESS.VERIFY.FAILURE", "Unable.",
        {"code": "E.ADDRESS.NOT_FOUND", "field": "address", **MISSING},
        {"code": "E.HOUSE_NUMBER.MISSING", "field": "street1", **MISSING}), {"receiver_line1": ["is missing"] * 2}),
    row(PYTHON + "test_carrier_account_create_with_custom_workflow.yaml#0", made.error("UNPROCESSABLE_ENTITY", "No.",
        made.about("shipping_streets", "must be present"), made.about("shipping_city", "must be present")),
        {"shipping_streets": ["must be present"], "shipping_city": ["must be present"]}),
    row(PYTHON + "test_beta_referral_customer_add_payment_method.yaml#0",
        made.error("BILLING.INVALID", "Invalid."), {}),
    row(JAVA + "address/error_address_creation.json#0", made.error("PARAMETER.REQUIRED", "Missing.",
        made.about("address", "cannot be blank")), {"receiver_line1": ["cannot be blank"]}),
    row(JAVA + "hook/http_error.json#0", made.error("NOT_FOUND", "No.", made.about("par_123", "not found")),
        {"par_123": ["not found"]}),
    row("EasyPost/easypost-python tests/test_error.py: a message that is a list", made.error("X", ["One", "Two"]), {}),
    row("EasyPost/easypost-python tests/test_error.py: a message that is an object", made.error("X", {
        "errors": ["One", "Two"]}), {}),
    row(KARRIO + "test_rate.py ErrorResponseJSON", made.error("SHIPMENT.INVALID_PARAMS", "Invalid.",
        {"to_address": "Required and missing."}, {"from_address": "Required and missing."}),
        {"receiver_line1": ["Required and missing."], "sender_line1": ["Required and missing."]}),
    row("a side, a leaf", made.error("X", "No.", made.about("shipment.to_address.zip", "is wrong")),
        {"receiver_postcode": ["is wrong"]}),
    row("the sender's", made.error("X", "No.", made.about("from_address[street1]", "is wrong")),
        {"sender_line1": ["is wrong"]}),
    row("the parcel", made.error("X", "No.", made.about("parcel.weight", "is too heavy")),
        {"weight": ["is too heavy"]}),
    row("insurance", made.error("X", "No.", made.about("insurance", "is too much")), {"cover": ["is too much"]}),
    row("an item", made.error("X", "No.", made.about("customs_info.customs_items.1.hs_tariff_number", "is wrong")),
        {"item_2_hs_code": ["is wrong"]}),
    row("items", made.error("X", "No.", made.about("customs_info.customs_items", "are needed")),
        {"contents": ["are needed"]}),
    row("an object of fields", {"error": {"code": "X", "message": "No.", "errors": {
        "zip": ["is short", "is odd"], "weight": "is too heavy"}}},
        {"receiver_postcode": ["is short", "is odd"], "weight": ["is too heavy"]}),
    row("words without a code", {"error": "No such shipment."}, {"": ["No such shipment."]}),
    row("words in a list", made.error("X", "No.", made.about("zip", ["is short", "is odd"])),
        {"receiver_postcode": ["is short", "is odd"]}),
]  # fmt: skip


@pytest.mark.parametrize(("document", "messages"), ERRORS)
@pytest.mark.parametrize("operation", ["quote", "prepare", "book", "view", "cancel", "track"])
def test_an_error_is_reported_on_our_own_field(easypost, document, messages, operation):
    client = easypost(document, status=422)
    call: dict[str, Callable[[], object]] = {
        "quote": lambda: client.quote(parcel()),
        "prepare": lambda: client.prepare(parcel()),
        "book": lambda: client.book(BODY, key="attempt-1"),
        "view": lambda: client.view(made.SHIPMENT_ID),
        "cancel": lambda: client.cancel(made.SHIPMENT_ID),
        "track": lambda: client.track(made.CODE),
    }
    with pytest.raises(Rejected) as refused:
        call[operation]()
    assert refused.value.messages == messages
    assert refused.value.text or messages


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, AccountStopped),
        (402, AccountStopped),
        (403, AccountStopped),
        (500, OutcomeUnknown),
        (503, OutcomeUnknown),
        (302, OutcomeUnknown),
    ],
)
@pytest.mark.parametrize("operation", ["prepare", "book"])
def test_the_status_of_an_error_decides_its_outcome(easypost, status, outcome, operation):
    client = easypost(made.error("PAYMENT_REQUIRED", "Insufficient funds."), status=status)
    with pytest.raises(outcome):
        client.prepare(parcel()) if operation == "prepare" else client.book(BODY, key="attempt-1")


@pytest.mark.parametrize(("operation", "outcome"), [("prepare", NotSent), ("book", OutcomeUnknown)])
def test_only_a_purchase_may_have_been_made_before_a_429(easypost, operation, outcome):
    client = easypost(made.error("RATE_LIMITED", "Slow down."), status=429)
    with pytest.raises(outcome) as slowed:
        client.prepare(parcel()) if operation == "prepare" else client.book(BODY, key="attempt-1")
    assert slowed.value.status == 429


REFUSED = reply(402, made.error("PAYMENT_REQUIRED", "Insufficient funds."))


def test_a_shipment_bought_before_the_wallet_was_empty_is_booked(easypost):
    assert easypost(REFUSED, made.bought()).book(BODY, key="attempt-1").reference


@pytest.mark.parametrize(
    ("look", "outcome"),
    [
        (reply(200, made.shipment()), AccountStopped),
        (reply(401, {}), AccountStopped),
        (reply(404, {}), OutcomeUnknown),
        (reply(429, {}), OutcomeUnknown),
        (reply(500), OutcomeUnknown),
        (b"", OutcomeUnknown),
    ],
)
def test_a_refused_account_stops_bookings_only_if_nothing_may_have_been_bought(easypost, look, outcome):
    with pytest.raises(outcome):
        easypost(REFUSED, look).book(BODY, key="attempt-1")


def test_names_are_sent_with_a_booking_but_not_with_a_quote(easypost, far_side):
    client = easypost(made.shipment())
    client.quote(parcel(customer_reference="PORTAL-7"))
    client.prepare(parcel(customer_reference="PORTAL-7"))
    quoted, prepared = (asked.json["shipment"] for asked in far_side.asked)
    place = {"street1": "12 Example Lane", "city": "Springfield", "state": "IL", "zip": "62701", "country": "US"}
    assert quoted["from_address"] == place
    assert {"reference", "customs_info"} & quoted.keys() == set()
    person = {"name": "Ira Quill", "email": "ira.quill@example.com", "phone": "217 555 0142"}
    assert prepared["from_address"] == place | person
    assert (prepared["reference"], prepared["options"]["print_custom_1"]) == (ORDER_KEY, "PORTAL-7")
    assert {quoted["options"]["label_format"], prepared["options"]["label_format"]} == {"PDF"}


@pytest.mark.parametrize(
    ("measures", "written"),
    [
        (("2.4", "kg", "32", "24", "11", "cm"), {"weight": 84.7, "length": 12.6, "width": 9.45, "height": 4.34}),
        (("1", "lb", "10", "8", "4", "in"), {"weight": 16.0, "length": 10.0, "width": 8.0, "height": 4.0}),
        (("15.4", "oz", "25.4", "5.08", "2.54", "cm"), {"weight": 15.4, "length": 10.0, "width": 2.0, "height": 1.0}),
        (("1", "g", "0.1", "0.1", "0.1", "cm"), {"weight": 0.1, "length": 0.04, "width": 0.04, "height": 0.04}),
    ],
)
def test_ounces_and_inches_are_never_rounded_down(easypost, far_side, measures, written):
    weight, heavy, *sides, long = measures
    easypost(made.shipment()).quote(parcel(measures=Measures(Decimal(weight), heavy, *map(Decimal, sides), long)))
    assert far_side.asked[0].json["shipment"]["parcel"] == written


SHIRTS = Item("Cotton t-shirt", Decimal("28.00"), 2, "BD", "6109.10.0012")
MUG = Item("Ceramic mug", Decimal("9.50"), 1)


def test_customs_have_each_items_value_and_weight_and_a_signer(easypost, far_side):
    abroad = parcel(receiver=TO_NZ, contents=(SHIRTS, MUG), contents_type="Returned Goods")
    client = easypost(made.shipment())
    client.quote(abroad)
    client.prepare(abroad)
    quoted, customs = (asked.json["shipment"]["customs_info"] for asked in far_side.asked)
    assert customs["customs_items"] == [
        {"description": "Cotton t-shirt", "quantity": 2, "value": 56.0, "currency": "USD", "weight": 56.466,
         "origin_country": "BD", "hs_tariff_number": "6109.10.0012"},
        {"description": "Ceramic mug", "quantity": 1, "value": 9.5, "currency": "USD", "weight": 28.233},
    ]  # fmt: skip
    assert (customs["customs_signer"], customs["customs_certify"]) == ("Ira Quill", True)
    assert (customs["contents_type"], customs["contents_explanation"]) == ("returned_goods", "Boxed ceramic mugs")
    assert {"customs_signer", "customs_certify"} & quoted.keys() == set()
    assert quoted["customs_items"] == customs["customs_items"]


@pytest.mark.parametrize(
    ("start", "end", "is_declared"),
    [
        *(("OR", state, True) for state in ("AA", "AE", "AP", "AS", "GU", "MP")),
        ("GU", "OR", True),
        ("GU", "MP", True),
        ("AE", "AE", True),
        *(("OR", state, False) for state in ("OR", "HI", "AK", "PR", "VI")),
        ("PR", "OR", False),
        ("GU", "GU", False),
    ],
)
def test_customs_are_told_within_the_usa_where_the_post_office_asks(easypost, far_side, start, end, is_declared):
    """At military posts and in the Pacific territories, but not in Puerto Rico or the US Virgin Islands."""
    sender, receiver = replace(OF_US, state=start), replace(TO_US, state=end)
    assert EasyPost.needs_customs(sender, receiver) is is_declared
    assert not Carrier.needs_customs(sender, receiver)
    client, there = easypost(made.shipment()), parcel(sender=sender, receiver=receiver, contents=(MUG,))
    client.quote(there)
    client.prepare(there)
    for asked in far_side.asked:
        assert ("customs_info" in asked.json["shipment"]) is is_declared


def test_a_state_of_another_country_is_no_military_post(easypost):
    here, there = replace(OF_US, country="AU", state="SA"), replace(TO_US, country="AU", state="AP")
    assert not EasyPost.needs_customs(here, there)


@pytest.mark.parametrize(
    ("sender", "receiver", "value", "exemption"),
    [
        ("US", "NZ", "1250.00", "NOEEI 30.37(a)"),
        ("US", "NZ", "1250.01", None),
        ("US", "CA", "9000.00", "NOEEI 30.36"),
        ("AU", "NZ", "10.00", None),
    ],
)
def test_an_export_exemption_is_claimed_only_where_it_applies(easypost, far_side, sender, receiver, value, exemption):
    a, b = (Party(line1="1 Example Lane", suburb="Here", postcode="1000", country=code) for code in (sender, receiver))
    item = Item("Camera", Decimal(value), 2)
    easypost(made.shipment()).quote(parcel(sender=a, receiver=b, contents=(item,)))
    assert far_side.asked[0].json["shipment"]["customs_info"].get("eel_pfc") == exemption


def test_cover_is_bought_with_the_label_and_the_prepared_bytes_are_sent_unchanged(easypost, far_side):
    client = easypost(made.shipment(), made.bought())
    prepared = client.prepare(parcel(cover=Decimal(300)))
    assert json.loads(prepared.body)["insurance"] == "300.00"
    client.book(prepared.body, key="attempt-1")
    assert far_side.asked[1].body == prepared.body


def test_the_key_is_the_username_and_the_password_is_blank(easypost, far_side, calls):
    client = easypost({"trackers": []})
    client.ping()
    pair = base64.b64encode(b"EZTK-made-up:").decode()
    assert far_side.asked[0].headers["authorization"] == f"Basic {pair}"
    assert "EZTK" not in f"{client!r} {calls}"
    with pytest.raises(ValueError, match="carrier key"):
        EasyPost(base_url=far_side.url, account="ours", key=" ", partner_id="", user_agent="X/1",
                 contract=Contract(**EasyPost.points))  # fmt: skip


def test_each_call_is_logged_under_its_own_name(easypost, calls):
    client = easypost(made.shipment(), made.shipment(), made.bought())
    client.quote(parcel())
    client.prepare(parcel())
    client.book(BODY, key="attempt-1")
    client.find(BODY, key="attempt-1")
    assert [call.operation for call in calls] == ["quote", "prepare", "book", "find"]


PDF = b"%PDF-1.4\n1 0 obj\nendobj\n%%EOF\n"


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (made.label("pdf"), True),
        (made.label("pdf", label_pdf_url=None), True),
        (made.label(), False),
        (made.label(label_pdf_url=f"{made.FILES}/1.pdf"), True),
    ],
)
def test_only_a_pdf_is_a_label(easypost, kind, link):
    booked = easypost(made.bought(postage_label=kind)).book(BODY, key="attempt-1")
    assert [(one.format, one.size) for one in booked.labels] == [("pdf", "any")] * link


@pytest.mark.parametrize("size", ["4x6", "4X6.75", "7x3", "8.5x11", "A4", "A6", "", None, 46])
def test_one_label_is_used_for_every_paper_size(easypost, size):
    (link,) = easypost(made.bought(postage_label=made.label("pdf", label_size=size))).view(made.SHIPMENT_ID).labels
    contract = Contract(**EasyPost.points)
    assert link.size in contract.full_page_sizes
    assert link.size in contract.cropped_sizes


def test_a_label_in_another_format_is_converted_when_the_order_is_viewed(easypost, far_side):
    converted = made.bought(postage_label=made.label(label_pdf_url=f"{made.FILES}/1.pdf"))
    assert easypost(made.bought(), converted).view(made.SHIPMENT_ID).labels[0].url == f"{made.FILES}/1.pdf"
    assert far_side.asked[1].target == f"/api/v2/shipments/{made.SHIPMENT_ID}/label?file_format=PDF"
    viewed = easypost(made.bought(), reply(422, made.error("X", "No."))).view(made.SHIPMENT_ID)
    assert (viewed.reference, viewed.labels) == (made.CODE, ())


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (reply(200, PDF, Content_Type="application/pdf"), None),
        (reply(200, b"\x89PNG\r\n\x1a\n", Content_Type="image/png"), OutcomeUnknown),
        (reply(200, b"\x89PNG\r\n\x1a\n", Content_Type="application/pdf"), OutcomeUnknown),
        (reply(403, b"<Error/>", Content_Type="application/xml"), OutcomeUnknown),
        (reply(302, b"", Location="https://elsewhere.example/1.pdf"), OutcomeUnknown),
    ],
)
def test_a_file_that_is_not_a_pdf_is_refused_without_stopping_the_account(easypost, far_side, answer, outcome):
    client, link = easypost(answer), LabelLink("pdf", "4x6", f"{far_side.url}/files/1.pdf")
    if outcome is None:
        assert client.label(link).content == PDF
    else:
        with pytest.raises(outcome):
            client.label(link)
    assert [asked.headers.get("authorization") for asked in far_side.asked] == [None]


def test_a_label_is_fetched_only_from_easyposts_file_host(easypost, far_side):
    with pytest.raises(Rejected) as refused:
        easypost(PDF).label(LabelLink("pdf", "4x6", "https://elsewhere.example/1.pdf"))
    assert (refused.value.code, far_side.asked) == ("unsafe_link", [])


def test_no_tracker_is_created_since_it_costs_money(easypost, far_side):
    with pytest.raises(OperationOff):
        easypost({}).subscribe(made.CODE)
    assert far_side.asked == []


EVENT = json.dumps({"description": "tracker.updated", "result": made.tracker(made.DELIVERED)}).encode()


def signed(body: bytes, secret: str) -> str:
    return "hmac-sha256-hex=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("body", "signature", "secret", "is_valid"),
    [
        (EVENT, signed(EVENT, "s3cret"), "s3cret", True),
        (EVENT, signed(EVENT, "se\u0301cret"), "s\u00e9cret", True),
        (EVENT, signed(EVENT, "other"), "s3cret", False),
        (EVENT + b" ", signed(EVENT, "s3cret"), "s3cret", False),
        (EVENT, signed(EVENT, "s3cret").removeprefix("hmac-sha256-hex="), "s3cret", False),
        (EVENT, signed(EVENT, "s3cret")[:-1], "s3cret", False),
        (EVENT, signed(EVENT, "s3cret").upper(), "s3cret", False),
        (EVENT, "", "s3cret", False),
        (EVENT, "hmac-sha256-hex=\u20ac\udc80", "s3cret", False),
        (EVENT, signed(EVENT, ""), "", False),
    ],
)
def test_a_forged_signature_is_not_valid(body, signature, secret, is_valid):
    headers = {"X-Hmac-Signature": signature}
    assert EasyPost.has_valid_signature(body, headers, secret, now=timezone.now()) is is_valid


def test_a_contract_file_can_change_single_points_of_the_class(tmp_path):
    plain = Contract.load(None, EasyPost.points)
    assert (plain, plain.track) == (Contract(**EasyPost.points), "GET /v2/trackers?tracking_code={reference}")
    file = tmp_path / "contract.toml"
    file.write_text('cover_limit = 500\n[words]\n"out_for_delivery" = "in_transit"\n')
    changed = Contract.load(file, EasyPost.points)
    assert (changed.cover_limit, changed.reference) == (500.0, "tracking_code")
    assert (changed.progress("out_for_delivery"), changed.progress("failure")) == ("in_transit", "cannot_deliver")


def test_each_contract_point_names_a_member_of_the_documents():
    contract = Contract(**EasyPost.points)
    rate, booked = made.rate(), made.bought(tracker=made.tracker())
    of_rate = (
        "quoted_code",
        "quoted_name",
        "quoted_service",
        "quoted_price",
        "quoted_currency",
        "eta_dates",
        "eta_days",
    )
    assert {getattr(contract, point) for point in of_rate} <= rate.keys()
    of_shipment = ("order_id", "order_key", "reference", "state", "labels", "booked_price", "tracking_url")
    assert {getattr(contract, point).partition(".")[0] for point in of_shipment} <= booked.keys()
    event = json.loads(EVENT)
    assert value_at(event, contract.event_reference) == made.CODE
    of_scan = ("event_type", "scan_time", "event_description", "location")
    assert {getattr(contract, point) for point in of_scan} <= event["result"]["tracking_details"][0].keys()
