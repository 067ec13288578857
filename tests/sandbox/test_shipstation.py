"""The sandbox ShipStation follows the documented rules, and the ShipStation class agrees with it."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.errors import AccountStopped, NotSent, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import Item, Party, Shipment
from shipping_portal.carrier.shipstation import ShipStation
from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.server import start
from tests.carrier.conftest import shipment
from tests.sandbox.client import Answer, Client, until
from tests.servers import stop

HOME = {"line1": "12 Example Lane", "suburb": "Springfield", "state": "IL", "postcode": "62701", "country": "US"}
TO_NZ = Party(name="Noor Tamsin", line1="4 Sample Street", suburb="Wellington", postcode="6011", country="NZ")
ROOT = Path(__file__).resolve().parents[2]
CODE = "usps:usps_ground_advantage"


def parcel(**changes: Any) -> Shipment:
    sides = {"sender": Party(name="Ira Quill", **HOME), "receiver": Party(name="Noor Tamsin", **HOME)}
    return shipment(**(sides | {"product_code": CODE} | changes))


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Client]:
    running = start(Config(state=tmp_path / "state"))
    yield Client(running.url)
    running.stop()


@pytest.fixture
def open_account(sandbox: Client) -> Callable[..., ShipStation]:
    def make(key: str = Config.key) -> ShipStation:
        return ShipStation(
            base_url=f"{sandbox.url}/v1",
            account="ours",
            key=key,
            partner_id="se-1001 se-1002 se-1003",
            user_agent="ShippingPortal/1.0 (ops@portal.example)",
            contract=Contract(**ShipStation.points),
            deadline=15.0,
        )

    return make


@pytest.fixture
def shipstation(open_account: Callable[..., ShipStation]) -> ShipStation:
    return open_account()


def bought(sandbox: Client) -> int:
    return len(sandbox.effects("bought"))


def ask(sandbox: Client, method: str, path: str, body: Any = None) -> Answer:
    return sandbox.call(method, path, body, {"API-Key": Config.key})


def test_a_parcel_goes_from_a_quote_to_its_delivery_and_cannot_be_voided(shipstation, sandbox):
    shipstation.ping()
    products = {product.code: product.price for product in shipstation.quote(parcel()).products}
    assert products.keys() == {CODE, "usps:usps_priority_mail", "ups:ups_ground"}
    prepared = shipstation.prepare(parcel())
    assert (prepared.price, shipstation.find(prepared.body, key="k")) == (products[CODE], None)
    booked = shipstation.book(prepared.body, key="k")
    assert (booked.price, booked.order_key, booked.is_test) == (products[CODE], parcel().order_key, False)
    assert shipstation.find(prepared.body, key="k") == booked
    assert shipstation.label(booked.labels[0]).content.startswith(b"%PDF-")
    for code in ("IT", "DE"):
        sandbox.control("scan", reference=booked.reference, status_code=code, city_locality="PEORIA")
    scans = shipstation.track(booked.reference).scans
    assert {(shipstation.contract.progress(scan.event_type), scan.suburb) for scan in scans} == {
        ("in_transit", "PEORIA"),
        ("delivered", "PEORIA"),
    }
    with pytest.raises(Rejected):
        shipstation.cancel(booked.order_id)


def test_a_void_is_visible_and_happens_once_however_often_requested(shipstation, sandbox):
    booked = shipstation.book(shipstation.prepare(parcel()).body, key="k")
    assert shipstation.cancel(booked.order_id).state == "voided"
    assert shipstation.view(booked.order_id).state == "voided"
    assert shipstation.cancel(booked.order_id).state == "voided"
    assert len(sandbox.effects("voided")) == 1


def test_a_parcel_abroad_needs_contents(shipstation):
    code = "usps:usps_priority_abroad"
    with pytest.raises(Rejected):
        shipstation.prepare(parcel(receiver=TO_NZ, product_code=code))
    shirt = Item("Cotton t-shirt", parcel().measures.weight, 1)
    assert shipstation.prepare(parcel(receiver=TO_NZ, product_code=code, contents=(shirt,))).price


def test_buying_one_rate_twice_makes_two_labels(sandbox, shipstation):
    body = shipstation.prepare(parcel()).body
    for _ in range(2):
        shipstation.book(body, key="k")
    assert bought(sandbox) == 2


def test_an_external_id_is_accepted_once_and_preparing_again_uses_another(sandbox, shipstation):
    first, second = shipstation.prepare(parcel()), shipstation.prepare(parcel())
    assert first.body != second.body
    names = [line["order_key"] for line in sandbox.effects("created")]
    assert len(set(names)) == 2
    side = {"name": "X", "address_line1": "1 Lane", "country_code": "US", "postal_code": "62701"}
    package = {"weight": {"value": 1, "unit": "pound"}}
    one = {"external_shipment_id": names[0], "ship_from": side, "ship_to": side, "packages": [package]}
    answer = ask(sandbox, "POST", "/v1/rates", {"shipment": one, "rate_options": {"carrier_ids": ["se-1001"]}})
    assert (answer.status, answer.json["errors"][0]["error_code"]) == (400, "identifier_conflict")


@pytest.mark.parametrize(
    "verb", ["commit-close", "commit-rst", "truncate", "garbage", "html200", "empty201", "502", "no-ref"]
)
def test_after_a_lost_reply_the_label_is_found(shipstation, sandbox, verb):
    prepared = shipstation.prepare(parcel())
    sandbox.control("trouble", operation="book", verb=verb, commit=True)
    with pytest.raises(OutcomeUnknown):
        shipstation.book(prepared.body, key="k")
    assert shipstation.find(prepared.body, key="k").reference
    assert bought(sandbox) == 1


@pytest.mark.parametrize("verb", ["accept-close", "503"])
def test_a_purchase_that_never_arrived_is_not_found(shipstation, sandbox, verb):
    prepared = shipstation.prepare(parcel())
    sandbox.control("trouble", operation="book", verb=verb, commit=False)
    with pytest.raises(OutcomeUnknown):
        shipstation.book(prepared.body, key="k")
    assert (shipstation.find(prepared.body, key="k"), bought(sandbox)) == (None, 0)


@pytest.mark.parametrize(
    ("verb", "outcome"),
    [("401", AccountStopped), ("402", AccountStopped), ("429", NotSent), ("409", OutcomeUnknown), ("422", Rejected)],
)
def test_a_refused_purchase_buys_nothing(shipstation, sandbox, verb, outcome):
    body = shipstation.prepare(parcel()).body
    sandbox.control("trouble", operation="book", verb=verb)
    with pytest.raises(outcome):
        shipstation.book(body, key="k")
    assert bought(sandbox) == 0


def test_an_empty_wallet_buys_nothing_but_a_test_key_needs_no_money(open_account, sandbox):
    sandbox.control("funds", amount="1.00")
    live, test = open_account(), open_account(Config.test_key)
    with pytest.raises(AccountStopped):
        live.book(live.prepare(parcel()).body, key="k")
    booked = test.book(test.prepare(parcel()).body, key="k")
    assert (booked.is_test, bought(sandbox)) == (True, 1)
    with pytest.raises(Rejected):
        live.view(booked.order_id)


def test_too_many_requests_in_a_second_are_not_sent(shipstation, sandbox):
    sandbox.control("settings", requests_per_second=1)
    shipstation.ping()
    with pytest.raises(NotSent) as refused:
        shipstation.ping()
    assert refused.value.retry_after == 1


def test_a_slow_label_is_found_later(shipstation, sandbox):
    body = shipstation.prepare(parcel()).body
    sandbox.control("settings", label_status="processing")
    with pytest.raises(OutcomeUnknown) as unclear:
        shipstation.book(body, key="k")
    assert unclear.value.pending
    sandbox.control("settings", label_status="completed")
    assert shipstation.find(body, key="k").labels


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"receiver": Party(**HOME)}, "receiver_name"),
        ({"sender": Party(name="Ira Quill", **HOME | {"line1": "Example Lane"})}, "sender_line1"),
    ],
)
def test_an_error_names_its_field(shipstation, changes, field):
    with pytest.raises(Rejected) as refused:
        shipstation.prepare(parcel(**changes))
    assert list(refused.value.messages) == [field]


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("settings", {"another": 1}),
        ("trouble", {"operation": "view", "verb": "unheard-of"}),
        ("funds", {"amount": "much"}),
    ],
)
def test_an_impossible_control_is_refused(sandbox, name, members):
    assert sandbox.call("POST", f"/_sandbox/{name}", members).status == 400


@pytest.fixture
def listener() -> Iterator[tuple[str, list[tuple[bytes, dict[str, str]]]]]:
    """Yield an address and the events posted to it. The first event is refused."""
    taken: list[tuple[bytes, dict[str, str]]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((body, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(200 if len(taken) > 1 else 500)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/events", taken
    stop(server)


def test_each_scan_is_signed_and_sent_until_it_is_accepted(sandbox, shipstation, listener):
    url, taken = listener
    sandbox.control("settings", webhook_retry_seconds=0.02)
    sandbox.control("listener", url=url)
    booked = shipstation.book(shipstation.prepare(parcel()).body, key="k")
    sandbox.control("scan", reference=booked.reference, status_code="IT")
    until(lambda: len(taken) == 2)
    (first, _), (body, headers) = taken
    keys, now = json.dumps(sandbox.read("jwks")), datetime.now(UTC)
    assert first == body
    assert ShipStation.has_valid_signature(body, headers, keys, now=now)
    assert not ShipStation.has_valid_signature(body + b" ", headers, keys, now=now)
    event = json.loads(body)
    assert (event["resource_type"], event["data"]["tracking_number"]) == ("API_TRACK", booked.reference)
    assert [scan["status_code"] for scan in event["data"]["events"]] == ["IT"]


def test_a_parcel_is_scanned_until_it_is_delivered_if_a_speed_is_set(sandbox, shipstation):
    sandbox.control("settings", speed=1000.0)
    booked = shipstation.book(shipstation.prepare(parcel()).body, key="k")
    until(lambda: shipstation.track(booked.reference).state == "DE")
    scans = sorted(shipstation.track(booked.reference).scans, key=lambda scan: scan.event_id)
    words = {shipstation.contract.progress(scan.event_type) for scan in scans}
    assert words == {"", "collected", "in_transit", "out_for_delivery", "delivered"}


def test_a_parcel_nobody_collects_does_not_move_and_can_be_voided(sandbox, shipstation):
    sandbox.control("settings", speed=1000.0)
    still = shipstation.book(shipstation.prepare(parcel(customer_reference="SIM-NONE-7")).body, key="k")
    moving = shipstation.book(shipstation.prepare(parcel()).body, key="k")
    until(lambda: shipstation.track(moving.reference).state == "DE")
    assert shipstation.track(still.reference).scans == ()
    assert shipstation.cancel(still.order_id).state == "voided"


def test_a_label_that_was_only_announced_can_be_voided(sandbox, shipstation):
    booked = shipstation.book(shipstation.prepare(parcel()).body, key="k")
    sandbox.control("scan", reference=booked.reference, status_code="AC")
    assert shipstation.cancel(booked.order_id).state == "voided"


def test_purchases_survive_a_restart(tmp_path, open_account):
    running = start(Config(state=tmp_path / "kept"))
    client = Client(running.url)
    account = ShipStation(
        base_url=f"{running.url}/v1", account="ours", key=Config.key, partner_id="se-1001", user_agent="ShippingPortal/1",
        contract=Contract(**ShipStation.points), deadline=15.0,
    )  # fmt: skip
    body = account.prepare(parcel()).body
    booked = account.book(body, key="k")
    client.control("scan", reference=booked.reference, status_code="IT")
    lines, keys, port = client.read("ledger"), client.read("jwks"), int(running.url.rpartition(":")[2])
    running.stop()
    running = start(Config(state=tmp_path / "kept", port=port))
    try:
        assert account.find(body, key="k").reference == booked.reference
        assert len(account.track(booked.reference).scans) == 1
        account.book(body, key="k")  # its rate is known, too
        assert (client.read("ledger")[: len(lines)], client.read("jwks")) == (lines, keys)
    finally:
        running.stop()


def test_it_runs_as_its_own_process(tmp_path):
    arguments = ["--port=0", f"--state={tmp_path}", "--speed=0", f"--parent={os.getpid()}", "--trouble=ping:503=1.0"]
    command = [sys.executable, "-m", "shipping_portal.sandbox.shipstation", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        answer = Client(url).call("GET", "/v1/carriers", headers={"API-Key": Config.key})
        assert answer.status == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
