"""The client and the bundled sandbox carrier agree, though they share no code."""

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from shipping_portal.carrier.client import Carrier
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import LabelLink, Party
from tests.sandbox_carrier import SandboxCarrier

from .conftest import SHIRTS, shipment


@pytest.fixture
def sandbox(tmp_path):
    with SandboxCarrier(tmp_path / "carrier") as running:
        yield running


@pytest.fixture
def carrier(sandbox):
    return Carrier(
        base_url=sandbox.url,
        account="demo-account",
        key="demo-key",
        partner_id="PRT-0001",
        user_agent="ShippingPortal/1.0 (ops@portal.example)",
        contract=Contract(),
        deadline=30.0,  # nobody waits for it; the first price abroad has the sandbox read every ZIP code
    )


def book(carrier, key="attempt-1", **changes):
    return carrier.book(carrier.booking_body(shipment(**changes)), key=key)


def test_the_carrier_replies_to_a_ping(carrier):
    carrier.ping()


def test_a_parcel_goes_from_a_quote_to_a_cancellation(carrier, sandbox):
    codes = [product.code for product in carrier.quote(shipment()).products]
    assert "STANDARD-PICKUP" in codes
    booked = book(carrier)
    assert carrier.view(booked.order_id).reference == booked.reference
    labels = [carrier.label(link) for link in booked.labels if link.format == "pdf"]
    assert labels
    assert all(label.content.startswith(b"%PDF-") for label in labels)
    assert carrier.cancel(booked.order_id).state.casefold() == "cancelled"
    assert len(sandbox.ledger("booked")) == len(sandbox.ledger("cancelled")) == 1


def test_a_parcel_abroad_can_be_sent_with_duties_paid(carrier):
    abroad = {
        "receiver": Party(
            name="Avery Lund",
            email="avery.lund@example.org",
            phone="+1 503 555 0142",
            line1="500 SW Placeholder Ave",
            suburb="Portland",
            state="OR",
            postcode="97205",
            country="US",
        ),
        "contents": (SHIRTS,),
        "contents_type": "Merchandise",
    }
    paid = [product for product in carrier.quote(shipment(**abroad)).products if product.duties_paid]
    assert [product.code for product in paid] == ["STANDARD-DDP-PICKUP"]
    assert book(carrier, **abroad, product_code="STANDARD-DDP-PICKUP").reference


def test_a_scan_can_be_polled(carrier, sandbox):
    booked = book(carrier)
    sandbox.scan(booked.reference, "Pickup", push=False)
    scans = carrier.track(booked.reference).scans
    assert [scan.event_type for scan in scans] == ["Pickup"]


def test_a_parcel_booked_elsewhere_can_be_subscribed_to(carrier, sandbox):
    sandbox.listen_at("http://127.0.0.1:9/hook")
    assert carrier.subscribe("SFOREIGN1").unreadable == ()


def test_a_refusal_has_errors_on_our_fields(carrier):
    with pytest.raises(Rejected) as raised:
        book(carrier, receiver=replace(shipment().receiver, postcode="7999", email=""))
    assert {"receiver_email"} <= set(raised.value.messages)


def test_an_unknown_key_stops_the_account(sandbox):
    wrong = Carrier(
        base_url=sandbox.url,
        account="demo-account",
        key="wrong",
        partner_id="P",
        user_agent="ShippingPortal/1.0",
        contract=Contract(),
    )
    with pytest.raises(AccountStopped):
        wrong.ping()


UNCLEAR_VERBS = (
    *("accept-close", "commit-close", "commit-rst", "partial-headers", "truncate", "garbage", "html200"),
    *("empty201", "no-ref", "bad-ref", "gzip-bomb", "50MB", "202", "204", "302", "307"),
    *("408", "409", "425", "500", "502", "503", "504"),
)


@pytest.mark.parametrize("verb", UNCLEAR_VERBS)
def test_an_unclear_reply_leaves_the_booking_unknown(carrier, sandbox, verb):
    sandbox.trouble("book", verb)
    with pytest.raises(OutcomeUnknown):
        book(carrier)


@pytest.mark.parametrize("verb", ["commit-hang", "sleep-commit", "drip-head", "drip-body"])
def test_a_slow_reply_ends_at_the_deadline(sandbox, carrier, verb):
    carrier._deadline = 0.5
    sandbox.trouble("book", verb, arg=60)
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        book(carrier)
    assert time.monotonic() - started < 60


def test_another_orders_reply_is_a_conflict(carrier, sandbox):
    book(carrier)
    sandbox.trouble("book", "replay-other")
    with pytest.raises(OutcomeUnknown) as raised:
        book(carrier, key="attempt-2", order_key="another-order-of-ours")
    assert raised.value.conflict


CLEAR = {Rejected: ("400", "404", "413", "422"), NotSent: ("429",), AccountStopped: ("401", "402", "403", "412")}


@pytest.mark.parametrize(("verb", "error"), [(verb, error) for error, verbs in CLEAR.items() for verb in verbs])
def test_a_clear_error_status_has_its_own_outcome(carrier, sandbox, verb, error):
    sandbox.trouble("book", verb)
    with pytest.raises(error):
        book(carrier)
    assert sandbox.ledger("booked") == []


def test_a_label_redirect_to_another_host_is_not_followed(carrier, sandbox):
    booked = book(carrier)
    sandbox.trouble("label", "redirect-elsewhere", count=5)
    with pytest.raises(Rejected) as raised:
        carrier.label(booked.labels[0])
    assert raised.value.code == "unsafe_link"


def test_a_page_in_place_of_a_label_is_not_accepted(carrier, sandbox):
    booked = book(carrier)
    sandbox.trouble("label", "html", count=5)
    with pytest.raises(OutcomeUnknown):
        carrier.label(booked.labels[0])


def test_a_booking_with_pending_labels_is_still_a_booking(carrier, sandbox):
    sandbox.trouble("book", "pending")
    assert book(carrier).labels == ()


def test_a_signed_link_points_to_the_tracking_page(sandbox, tmp_path):
    points = {"link": "signed", "link_page": f"{sandbox.url}/t/"}
    signer = Carrier(
        base_url=sandbox.url,
        account="demo-account",
        key="demo-key",
        partner_id="PRT-0001",
        user_agent="ShippingPortal/1.0",
        contract=Contract(**points),
        link_key="k",
    )
    assert signer.tracking_page_link("1", "SQ7K2M", now=datetime.now(UTC)).startswith(
        f"{sandbox.url}/t/?ref=SQ7K2M&token="
    )


def test_a_label_that_never_existed_is_not_found(carrier, sandbox):
    with pytest.raises(Rejected) as raised:
        carrier.label(LabelLink("pdf", "a4", f"{sandbox.url}/orders/none/labels/a4.pdf"))
    assert raised.value.status == 404
