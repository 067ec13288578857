"""EasyPost's class and the sandbox EasyPost agree, though they share no code."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.easypost import EasyPost
from shipping_portal.carrier.errors import AccountStopped, CarrierError, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Booked, Prepared
from shipping_portal.carrier.reading import read_cancel_state
from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start
from shipping_portal.sandbox.server import Running
from tests.sandbox.client import Client

from .test_easypost import SHIRTS, TO_NZ, TO_US, parcel


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Client]:
    running: Running[Any] = start(Config(state=tmp_path / "state"))
    yield Client(running.url)
    running.stop()


@pytest.fixture
def easypost(sandbox: Client) -> EasyPost:
    return open_account(sandbox)


def open_account(sandbox: Client, key: str = Config.key, **settings: Any) -> EasyPost:
    return EasyPost(
        base_url=sandbox.url,
        account="ours",
        key=key,
        partner_id="",
        user_agent="ShippingPortal/1.0 (ops@portal.example)",
        contract=Contract(**EasyPost.points),
        **({"deadline": 15.0} | settings),
    )


def buy(easypost: EasyPost, **changes: Any) -> Booked:
    return easypost.book(easypost.prepare(parcel(**changes)).body, key="attempt-1")


def bought(sandbox: Client) -> int:
    return len(sandbox.effects("bought"))


def test_a_parcel_goes_from_a_quote_to_its_delivery(easypost, sandbox):
    easypost.ping()
    quoted = easypost.quote(parcel())
    assert {product.code for product in quoted.products} == {"USPS:GroundAdvantage", "USPS:Priority", "USPS:Express"}
    agreed = next(product.price for product in quoted.products if product.code == parcel().product_code)
    prepared = easypost.prepare(parcel(customer_reference="PORTAL-7"))
    assert (prepared.price, easypost.find(prepared.body, key="attempt-1")) == (agreed, None)
    booked = easypost.book(prepared.body, key="attempt-1")
    assert (booked.price, booked.order_key) == (agreed, parcel().order_key)
    assert easypost.find(prepared.body, key="attempt-1").reference == booked.reference
    assert easypost.label(booked.labels[0]).content.startswith(b"%PDF-")
    for status, kind in (("in_transit", "received_at_origin_facility"), ("delivered", "arrived_at_destination")):
        sandbox.control("scan", reference=booked.reference, status=status, status_detail=kind, city="PEORIA")
    scans = easypost.track(booked.reference).scans
    assert [easypost.contract.progress(scan.event_type) for scan in scans] == ["collected", "delivered"]
    assert {scan.suburb for scan in scans} == {"PEORIA"}
    assert sandbox.effects("tracker fee") == []


def test_a_parcel_abroad_and_a_covered_one_can_be_bought(easypost):
    booked = buy(easypost, receiver=TO_NZ, contents=(SHIRTS,), product_code="USPS:PriorityMailInternational")
    assert booked.price.currency == "USD"
    covered = buy(easypost, cover=Decimal(300))
    assert dict(covered.breakdown)["InsuranceFee"].amount == 3


def test_a_price_increase_is_known_before_anything_is_bought(easypost, sandbox):
    agreed = next(p.price for p in easypost.quote(parcel()).products if p.code == parcel().product_code)
    sandbox.control("settings", price_change=5.0)
    assert easypost.prepare(parcel()).price.amount == agreed.amount + 5
    assert bought(sandbox) == 0


def test_a_product_keeps_its_code_although_every_id_is_new(easypost):
    first, second = easypost.prepare(parcel()), easypost.prepare(parcel())
    assert first.body != second.body
    assert [product.code for product in easypost.quote(parcel()).products] == [
        product.code for product in easypost.quote(parcel()).products
    ]


@pytest.mark.parametrize("verb", ["commit-close", "commit-rst", "truncate", "garbage", "html200", "empty201", "502", "429",
                                  "in-progress", "timed-out", "no-response"])  # fmt: skip
def test_after_a_lost_reply_the_purchase_is_found_and_not_repeated(easypost, sandbox, verb):
    prepared = easypost.prepare(parcel())
    sandbox.control("trouble", operation="book", verb=verb, commit=True)
    with pytest.raises(OutcomeUnknown):
        easypost.book(prepared.body, key="attempt-1")
    found = easypost.find(prepared.body, key="attempt-1")
    assert found is not None
    assert easypost.book(prepared.body, key="attempt-1").reference == found.reference
    assert bought(sandbox) == 1


@pytest.mark.parametrize("verb", ["accept-close", "in-progress", "timed-out", "503", "429"])
def test_a_request_that_never_arrived_can_be_sent_again(easypost, sandbox, verb):
    prepared = easypost.prepare(parcel())
    sandbox.control("trouble", operation="book", verb=verb, commit=False)
    with pytest.raises(OutcomeUnknown):
        easypost.book(prepared.body, key="attempt-1")
    assert (easypost.find(prepared.body, key="attempt-1"), bought(sandbox)) == (None, 0)
    assert easypost.book(prepared.body, key="attempt-1").reference
    assert bought(sandbox) == 1


def test_ten_simultaneous_purchases_buy_one_label(easypost, sandbox):
    prepared = easypost.prepare(parcel())
    sandbox.control("trouble", operation="book", verb="sleep-commit", arg=0.2)

    def once(_: int) -> str:
        try:
            return easypost.book(prepared.body, key="attempt-1").reference
        except OutcomeUnknown:
            return "unknown"

    with ThreadPoolExecutor(10) as pool:
        answers = set(pool.map(once, range(10)))
    assert (bought(sandbox), len(answers - {"unknown"})) == (1, 1)


def test_nothing_is_sent_after_the_lease_ends(easypost, sandbox):
    prepared = easypost.prepare(parcel())
    with pytest.raises(NotSent):
        easypost.book(prepared.body, key="attempt-1", not_after=0.0)
    with pytest.raises(NotSent):
        easypost.cancel("shp_0", not_after=0.0)
    assert [asked["operation"] for asked in sandbox.read("requests")] == ["quote"]


def test_a_slow_purchase_ends_at_the_deadline(easypost, sandbox):
    prepared = easypost.prepare(parcel())
    sandbox.control("trouble", operation="book", verb="commit-hang", arg=30)
    with pytest.raises(OutcomeUnknown):
        open_account(sandbox, deadline=1.0).book(prepared.body, key="attempt-1")
    ends = time.monotonic() + 10
    while easypost.find(prepared.body, key="attempt-1") is None:
        assert time.monotonic() < ends


def test_an_empty_wallet_stops_the_account(easypost, sandbox):
    sandbox.control("wallet", amount="0.00")
    prepared = easypost.prepare(parcel())
    with pytest.raises(AccountStopped) as stopped:
        easypost.book(prepared.body, key="attempt-1")
    assert (stopped.value.status, bought(sandbox)) == (402, 0)
    sandbox.control("wallet", amount="100.00")
    assert easypost.book(prepared.body, key="attempt-1").reference


def test_a_wrong_key_stops_the_account(sandbox):
    with pytest.raises(AccountStopped):
        open_account(sandbox, "EZAK-unknown").ping()


def test_a_test_keys_purchase_is_visible_only_to_that_key(sandbox, easypost):
    booked = buy(open_account(sandbox, Config.test_key))
    assert b'"mode":"test"' in booked.body
    assert (booked.is_test, buy(easypost).is_test) == (True, False)
    with pytest.raises(Rejected):
        easypost.view(booked.order_id)


def test_a_refused_address_is_an_error_on_its_field(easypost, sandbox):
    with pytest.raises(Rejected) as refused:
        easypost.prepare(parcel(receiver=replace(TO_US, line1="Sample Street")))
    assert refused.value.messages == {"receiver_line1": ["Address not found", "House number is missing"]}
    with pytest.raises(Rejected) as unnamed:
        buy(easypost, receiver=replace(TO_US, name=""))
    assert list(unnamed.value.messages) == ["receiver_name"]
    assert bought(sandbox) == 0


def test_too_many_requests_are_unsent(easypost, sandbox):
    sandbox.control("settings", requests_per_second=1)
    easypost.ping()
    with pytest.raises(NotSent) as crowded:
        easypost.ping()
    assert crowded.value.status == 429


@pytest.mark.parametrize("end", ["refunded", "rejected"])
def test_a_cancellation_is_requested_and_decided_days_later(easypost, sandbox, end):
    sandbox.control("settings", refund_end=end)
    booked = buy(easypost)
    assert easypost.cancel(booked.order_id).is_asked
    assert read_cancel_state(easypost.view(booked.order_id).state, easypost.contract) == "asked"
    sandbox.control("advance", days=15)
    meaning = read_cancel_state(easypost.view(booked.order_id).state, easypost.contract)
    assert meaning == ("cancelled" if end == "refunded" else "refused")
    if end == "refunded":
        assert easypost.cancel(booked.order_id).state == easypost.contract.cancelled_word


def test_a_parcel_in_transit_is_not_refunded(easypost, sandbox):
    booked = buy(easypost)
    sandbox.control("scan", reference=booked.reference, status="in_transit")
    with pytest.raises(Rejected):
        easypost.cancel(booked.order_id)


@pytest.mark.parametrize("made_as", ["image/png", "application/zpl"])
def test_a_label_that_is_not_a_pdf_is_converted_before_it_is_fetched(easypost, sandbox, made_as):
    sandbox.control("settings", label_type=made_as)
    booked = buy(easypost)
    assert booked.labels == ()
    (link,) = easypost.view(booked.order_id).labels
    assert easypost.label(link).content.startswith(b"%PDF-")


def test_the_sandboxs_signatures_pass_the_classs_check(sandbox, tmp_path):
    running = start(Config(state=tmp_path / "other", webhook_secret="sécret"))
    try:
        signature = running.app.events.signature(b'{"result":{}}')
    finally:
        running.stop()
    body, headers, now = b'{"result":{}}', {"X-Hmac-Signature": signature}, timezone.now()
    assert EasyPost.has_valid_signature(body, headers, "sécret", now=now)
    assert not EasyPost.has_valid_signature(body, headers, "s3cret", now=now)


def test_a_storm_of_lost_replies_buys_each_order_once(sandbox, tmp_path):
    """Only the prepared bytes survive a lost reply; each order is looked up, then sent again."""
    dice, orders = random.Random(46), [f"order-{number}" for number in range(30)]  # noqa: S311
    easypost = open_account(sandbox)
    for operation, verb, share in (("book", "commit-close", 0.2), ("book", "timed-out", 0.15), ("book", "500", 0.15),
                                   ("book", "429", 0.1), ("quote", "429", 0.1), ("view", "502", 0.2)):  # fmt: skip
        sandbox.control("trouble", operation=operation, verb=verb, count=0, probability=share)
    booked = {order: book_in_trouble(easypost, order, dice) for order in orders}
    lines = [line["order_key"] for line in sandbox.effects("bought")]
    assert sorted(lines) == sorted(orders)
    assert len({one.reference for one in booked.values()}) == len(orders)


def book_in_trouble(easypost: EasyPost, order: str, dice: random.Random) -> Booked:
    prepared = ask_until_answered(lambda: easypost.prepare(parcel(order_key=order)))
    while True:
        try:
            return easypost.book(prepared.body, key=order)
        except CarrierError:
            if dice.random() < 0.5 and (found := ask_until_answered(lambda: easypost.find(prepared.body, key=order))):
                return found


def ask_until_answered(call: Callable[[], Any]) -> Any:
    """Repeat a call that costs nothing until it is answered."""
    while True:
        try:
            answer: Prepared | Booked | None = call()
        except (NotSent, OutcomeUnknown):
            continue
        return answer
