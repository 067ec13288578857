"""The sandbox EasyPost follows EasyPost's documented rules."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start
from shipping_portal.sandbox.server import Running
from tests.sandbox.client import Answer, Client, until
from tests.servers import stop

ROOT = Path(__file__).resolve().parents[2]
HOME = {"street1": "12 Example Lane", "city": "Springfield", "state": "IL", "zip": "62701", "country": "US"}
SHIPMENT: dict[str, Any] = {
    "from_address": {"name": "Ira Quill", **HOME},
    "to_address": {"name": "Noor Tamsin", **HOME, "city": "Peoria"},
    "parcel": {"weight": 20.0, "length": 10, "width": 8, "height": 4},
    "options": {"label_format": "PDF"},
    "reference": "order-1",
}


class EasyPostClient(Client):
    """Calls a sandbox EasyPost with its live key or another one."""

    key = Config.key

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Answer:
        pair = base64.b64encode(f"{self.key if key is None else key}:".encode()).decode()
        return self.call(method, path, body, {"Authorization": f"Basic {pair}"})

    def create(self, **changes: Any) -> Any:
        return self.ask("POST", "/v2/shipments", {"shipment": SHIPMENT | changes}).json

    def buy(self, shipment: Any, service: str = "GroundAdvantage", **more: Any) -> Answer:
        rate = next(rate["id"] for rate in shipment["rates"] if rate["service"] == service)
        return self.ask("POST", f"/v2/shipments/{shipment['id']}/buy", {"rate": {"id": rate}, **more})

    def bought(self, **changes: Any) -> Any:
        answer = self.buy(self.create(**changes))
        assert answer.status == 200, answer.body
        return answer.json

    def refund(self, shipment: Any) -> Any:
        return self.ask("POST", f"/v2/shipments/{shipment['id']}/refund", {}).json["refund_status"]

    def refund_status(self, shipment: Any) -> Any:
        return self.ask("GET", f"/v2/shipments/{shipment['id']}").json["refund_status"]

    @property
    def wallet(self) -> Decimal:
        return Decimal(self.read("wallet")["amount"])


@pytest.fixture
def open_easypost(tmp_path: Path) -> Iterator[Callable[..., EasyPostClient]]:
    started: list[Running[Any]] = []

    def run(**choices: Any) -> EasyPostClient:
        running = start(Config(**({"state": tmp_path / "state"} | choices)))
        started.append(running)
        return EasyPostClient(running.url)

    yield run
    for running in started:
        running.stop()


@pytest.fixture
def easypost(open_easypost: Callable[..., EasyPostClient]) -> EasyPostClient:
    return open_easypost()


def code_of(answer: Answer) -> str:
    return str(answer.json["error"]["code"])


def test_a_shipment_is_free_and_its_rates_have_new_ids_each_time(easypost):
    first, second = easypost.create(), easypost.create()
    assert {rate["service"] for rate in first["rates"]} == {"GroundAdvantage", "Priority", "Express"}
    assert [rate["rate"] for rate in first["rates"]] == [rate["rate"] for rate in second["rates"]]
    assert {rate["id"] for rate in first["rates"]} & {rate["id"] for rate in second["rates"]} == set()
    assert (easypost.wallet, first["postage_label"]) == (Decimal("1000.00"), None)


def test_a_shipment_is_bought_once(easypost):
    shipment = easypost.create()
    bought = easypost.buy(shipment).json
    assert bought["tracking_code"] == bought["tracker"]["tracking_code"]
    again = easypost.buy(shipment, "Express")
    assert (again.status, code_of(again)) == (422, "SHIPMENT.POSTAGE.EXISTS")
    assert (len(easypost.effects("bought")), easypost.wallet) == (1, 1000 - Decimal(bought["selected_rate"]["rate"]))


def test_another_shipments_rate_buys_nothing(easypost):
    shipment, other = easypost.create(), easypost.create()
    answer = easypost.buy({"id": shipment["id"], "rates": other["rates"]})
    assert (answer.status, code_of(answer)) == (422, "SHIPMENT.MISSING_RATE")
    assert easypost.effects("bought") == []


def test_a_second_purchase_is_refused_while_the_first_is_in_progress(easypost, in_thread):
    shipment = easypost.create()
    easypost.control("trouble", operation="book", verb="sleep-commit", arg=1)
    first = in_thread(easypost.buy, shipment)
    until(lambda: [asked["operation"] for asked in easypost.read("requests")] == ["quote", "book"])
    second = easypost.buy(shipment)
    assert (second.status, code_of(second)) == (422, "SHIPMENT.PURCHASE.IN_PROGRESS")
    assert first().status == 200
    assert code_of(easypost.buy(shipment)) == "SHIPMENT.POSTAGE.EXISTS"


@pytest.fixture
def in_thread() -> Iterator[Callable[..., Callable[[], Any]]]:
    with ThreadPoolExecutor(2) as pool:
        yield lambda work, *values: pool.submit(work, *values).result


def test_an_empty_wallet_buys_nothing_but_a_test_key_needs_none(easypost):
    easypost.control("wallet", amount="1.00")
    answer = easypost.buy(easypost.create())
    assert (answer.status, code_of(answer)) == (402, "PAYMENT_REQUIRED")
    easypost.key = Config.test_key
    bought = easypost.bought()
    assert (bought["mode"], easypost.wallet) == ("test", Decimal("1.00"))


def test_a_test_key_sees_nothing_of_the_live_one(easypost):
    shipment = easypost.bought()
    assert easypost.ask("GET", f"/v2/shipments/{shipment['id']}", key=Config.test_key).status == 404
    listed = easypost.ask("GET", f"/v2/trackers?tracking_code={shipment['tracking_code']}", key=Config.test_key)
    assert listed.json["trackers"] == []
    assert easypost.ask("GET", "/v2/trackers", key="EZAK-unknown").status == 401


def test_a_label_billed_by_the_carrier_does_not_use_the_wallet(easypost):
    at_home = HOME | {"country": "AU", "zip": "3065"}
    sides = {"from_address": {"name": "Ira Quill", **at_home}, "to_address": {"name": "Noor Tamsin", **at_home}}
    bought = easypost.buy(easypost.create(**sides), "ParcelPost").json
    assert (bought["selected_rate"]["currency"], easypost.wallet) == ("AUD", Decimal("1000.00"))
    assert easypost.refund(bought) == "not_applicable"


def test_insurance_is_a_percentage_with_a_minimum(easypost):
    for insured, fee in (("50", "1.00000"), ("300", "3.00000")):
        bought = easypost.buy(easypost.create(), insurance=insured).json
        fees = {one["type"]: one["amount"] for one in bought["fees"]}
        assert (bought["insurance"], fees["InsuranceFee"]) == (f"{insured}.00", fee)


def test_there_are_no_rates_abroad_without_customs(easypost):
    abroad = {"name": "Noor Tamsin", **HOME, "country": "NZ"}
    refused = easypost.create(to_address=abroad)
    assert (refused["rates"], len(refused["messages"])) == ([], 1)
    item = {"description": "Mug", "quantity": 1, "value": 9.5, "weight": 20}
    assert easypost.create(to_address=abroad, customs_info={"customs_items": [item]})["rates"] != []


@pytest.mark.parametrize(("state", "is_sold"), [("AE", False), ("GU", False), ("PR", True), ("NY", True)])
def test_a_label_to_a_military_post_or_the_pacific_is_not_sold_without_customs(easypost, state, is_sold):
    there = {"name": "Noor Tamsin", **HOME, "state": state}
    assert (easypost.buy(easypost.create(to_address=there)).status == 200) is is_sold
    item = {"description": "Mug", "quantity": 1, "value": 9.5, "weight": 20}
    declared = easypost.create(to_address=there, customs_info={"customs_items": [item]})
    assert easypost.buy(declared).status == 200


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["shipment"]),
        ({"shipment": {}}, ["shipment"]),
        ({"shipment": SHIPMENT | {"parcel": {"weight": 0}}}, ["parcel.weight"]),
        ({"shipment": SHIPMENT | {"to_address": HOME | {"street1": "Example Lane"}}}, ["address", "street1"]),
    ],
)
def test_an_error_names_its_fields(easypost, body, fields):
    answer = easypost.ask("POST", "/v2/shipments", body)
    assert (answer.status, [one["field"] for one in answer.json["error"]["errors"]]) == (422, fields)


@pytest.mark.parametrize("end", ["refunded", "rejected"])
def test_a_refund_takes_days_and_then_ends(easypost, end):
    easypost.control("settings", refund_end=end)
    shipment = easypost.bought()
    paid = easypost.wallet
    assert easypost.refund(shipment) == "submitted"
    easypost.control("advance", days=14)
    assert (easypost.refund_status(shipment), easypost.wallet) == ("submitted", paid)
    easypost.control("advance", days=1)
    assert easypost.refund_status(shipment) == end
    assert easypost.wallet == (Decimal("1000.00") if end == "refunded" else paid)


def test_a_rejected_refund_can_be_requested_again_but_a_scanned_parcel_gets_none(easypost):
    shipment = easypost.bought()
    easypost.refund(shipment)
    easypost.control("refund", reference=shipment["tracking_code"], status="rejected")
    assert easypost.refund(shipment) == "submitted"
    moving = easypost.bought()
    easypost.control("scan", reference=moving["tracking_code"], status="in_transit")
    assert easypost.refund(moving) == "rejected"
    assert code_of(easypost.ask("POST", f"/v2/shipments/{easypost.create()['id']}/refund", {})) == (
        "SHIPMENT.REFUND.UNAVAILABLE"
    )


def test_a_tracker_has_the_whole_history(easypost):
    shipment = easypost.bought()
    for status in ("pre_transit", "in_transit", "delivered"):
        easypost.control("scan", reference=shipment["tracking_code"], status=status, city="PEORIA")
    listed = easypost.ask("GET", f"/v2/trackers?tracking_code={shipment['tracking_code']}").json["trackers"]
    assert [one["status"] for one in listed[0]["tracking_details"]] == ["pre_transit", "in_transit", "delivered"]
    assert (len(listed), listed[0]["status"], listed[0]["shipment_id"]) == (1, "delivered", shipment["id"])


def test_creating_a_tracker_costs_money(easypost):
    easypost.ask("POST", "/v2/trackers", {"tracker": {"tracking_code": "EZ1000000001"}})
    assert (easypost.wallet, len(easypost.effects("tracker fee"))) == (Decimal("999.98"), 1)


def test_a_label_is_a_pdf_that_anyone_with_its_url_can_fetch(easypost):
    link = easypost.bought()["postage_label"]["label_pdf_url"]
    answer = easypost.call("GET", link, headers={})
    assert (answer.status, answer.headers["content-type"], answer.body[:5]) == (200, "application/pdf", b"%PDF-")
    assert "/v2/" not in link
    assert easypost.call("GET", link, headers={}).body == answer.body
    assert easypost.call("GET", link.replace("shp_", "shp_0"), headers={}).status == 403


def test_a_label_in_another_format_can_be_converted(easypost):
    shipment = easypost.bought(options={})
    assert shipment["postage_label"]["label_file_type"] == "image/png"
    assert shipment["postage_label"]["label_pdf_url"] is None
    converted = easypost.ask("GET", f"/v2/shipments/{shipment['id']}/label?file_format=PDF").json
    assert easypost.call("GET", converted["postage_label"]["label_pdf_url"], headers={}).body[:5] == b"%PDF-"


@pytest.mark.parametrize("verb", ["in-progress", "timed-out", "no-response", "commit-close", "commit-rst", "502"])
@pytest.mark.parametrize("commit", [True, False])
def test_a_purchase_can_have_a_lost_or_unclear_reply(easypost, verb, commit):
    if verb.startswith("commit") and not commit:
        verb = "accept-close"
    shipment = easypost.create()
    easypost.control("trouble", operation="book", verb=verb, commit=commit)
    try:
        answer = easypost.buy(shipment)
    except (ConnectionError, OSError):
        answer = None
    assert answer is None or answer.status >= 400
    assert (easypost.ask("GET", f"/v2/shipments/{shipment['id']}").json["postage_label"] is not None) is commit


def test_too_many_requests_in_a_second_are_refused(easypost):
    easypost.control("settings", requests_per_second=2)
    answers = [easypost.ask("GET", "/v2/trackers") for _ in range(5)]
    assert [answer.status for answer in answers[:2]] == [200, 200]
    assert (answers[-1].status, code_of(answers[-1])) == (429, "RATE_LIMITED")


def test_the_same_seed_causes_trouble_for_the_same_orders(open_easypost, tmp_path):
    easypost = open_easypost(trouble="book:502=0.5", seed=7)
    first = [easypost.buy(easypost.create(reference=f"order-{number}")).status for number in range(12)]
    other = open_easypost(trouble="book:502=0.5", seed=7, state=tmp_path / "other")
    assert [other.buy(other.create(reference=f"order-{number}")).status for number in range(12)] == first
    assert set(first) == {200, 502}


def test_events_are_signed_and_sent_until_they_are_accepted(easypost, events):
    easypost.control("settings", webhook_retry_seconds=0.02)
    easypost.control("listener", url=events.url)
    events.answers = [500, 200]
    shipment = easypost.bought()
    easypost.control("scan", reference=shipment["tracking_code"], status="in_transit")
    first, second = events.wait_for(2)
    assert first == second
    body, headers = second
    expected = hmac.new(Config.webhook_secret.encode(), body, hashlib.sha256).hexdigest()
    assert headers["x-hmac-signature"] == f"hmac-sha256-hex={expected}"
    event = json.loads(body)
    assert (event["description"], event["previous_attributes"]) == ("tracker.updated", {"status": "unknown"})
    assert event["result"]["tracking_code"] == shipment["tracking_code"]


class Listener:
    """An HTTP server that keeps everything posted to it."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.taken: list[tuple[bytes, dict[str, str]]] = []
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(listener.answers.pop(0) if listener.answers else 200)
                self.end_headers()
                listener.taken.append((body, {"x-hmac-signature": headers.get("x-hmac-signature", "")}))

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def wait_for(self, count: int) -> list[tuple[bytes, dict[str, str]]]:
        until(lambda: len(self.taken) >= count)
        return self.taken[:count]


@pytest.fixture
def events() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    stop(listener.server)


def test_a_parcel_moves_by_itself_if_a_speed_is_set(open_easypost):
    easypost = open_easypost(speed=1000.0)
    shipment = easypost.bought()
    until(lambda: easypost.ask("GET", f"/v2/shipments/{shipment['id']}").json["status"] == "delivered")


def test_a_parcel_nobody_collects_does_not_move_and_can_be_refunded(open_easypost):
    easypost = open_easypost(speed=1000.0)
    shipment, moving = easypost.bought(options={"print_custom_1": "SIM-NONE-7"}), easypost.bought()
    until(lambda: easypost.ask("GET", f"/v2/shipments/{moving['id']}").json["status"] == "delivered")
    assert easypost.refund(shipment) == "submitted"


def test_purchases_survive_a_restart(open_easypost, tmp_path):
    first = start(Config(state=tmp_path / "kept"))
    shipment = EasyPostClient(first.url).bought()
    paid = EasyPostClient(first.url).wallet
    first.stop()
    second = start(Config(state=tmp_path / "kept"))
    try:
        client = EasyPostClient(second.url)
        assert code_of(client.buy(shipment)) == "SHIPMENT.POSTAGE.EXISTS"
        assert client.wallet == paid
    finally:
        second.stop()


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("settings", {"refund_end": "lost"}),
        ("settings", {"another": 1}),
        ("scan", {"reference": "9400", "status": "in_transit"}),
        ("trouble", {"operation": "view", "verb": "timed-out"}),
        ("wallet", {"amount": "much"}),
    ],
)
def test_an_impossible_control_is_refused(easypost, name, members):
    assert easypost.call("POST", f"/_sandbox/{name}", members).status == 400


def test_it_runs_as_its_own_process(tmp_path):
    arguments = ["--port=0", f"--state={tmp_path}", "--speed=0", f"--parent={os.getpid()}"]
    command = [sys.executable, "-m", "shipping_portal.sandbox.easypost", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert EasyPostClient(url).bought()["postage_label"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
