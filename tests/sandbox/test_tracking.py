import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.sandbox.client import an_order, until
from tests.servers import stop


class Listener:
    """A webhook listener that replies with the status it is given."""

    def __init__(self):
        self.heard, self.statuses = [], []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.heard.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(listener.statuses.pop(0) if listener.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://user:s%40cret@127.0.0.1:{self.server.server_port}/hooks/token?x=1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def wait_for(self, count):
        """Return the first ``count`` events. Fails if they don't arrive."""
        until(lambda: len(self.heard) >= count)
        return [event for _, _, event in self.heard]


@pytest.fixture
def listener():
    listening = Listener()
    yield listening
    stop(listening.server)


@pytest.fixture
def carrier(open_carrier, listener):
    carrier = open_carrier(listener=listener.url)
    carrier.control("settings", webhook_retry_seconds="0.02,0.02,0.02")
    return carrier


def tracked(carrier, reference):
    return carrier.call("GET", f"/tracking/{reference}?partner_id=PRT-0001")


def booked(carrier, **changes):
    return carrier.book(an_order(**changes)).json


def test_a_new_order_is_known_and_has_no_scans(carrier):
    answer = tracked(carrier, booked(carrier)["carrier_reference"])
    assert (answer.status, answer.json["tracking_events"], answer.json["state"]) == (200, [], "Pickup")
    assert tracked(carrier, "SNOPE00").status == 404


@pytest.mark.parametrize("polled_ids", [True, False])
def test_polled_scans_are_the_pushed_ones_with_or_without_id_and_reference(carrier, listener, polled_ids):
    carrier.control("settings", polled_ids=polled_ids)
    reference = booked(carrier)["carrier_reference"]
    place = {"suburb": "Fitzroy", "state": "VIC", "postcode": None, "country": "Australia"}
    made = carrier.control("scan", reference=reference, event_type="Pickup", description="Picked up", location=place)
    (pushed,) = listener.wait_for(1)
    (polled,) = tracked(carrier, reference).json["tracking_events"]
    assert set(pushed) - set(polled) == (set() if polled_ids else {"carrier_reference", "event_id"})
    assert pushed == {**polled, "carrier_reference": reference, "event_id": made["event_id"]}
    assert polled["location_data"] == place


def test_credentials_in_the_listener_url_are_sent_as_basic_authentication(carrier, listener):
    carrier.control("scan", reference=booked(carrier)["carrier_reference"])
    listener.wait_for(1)
    path, headers, _ = listener.heard[0]
    assert path == "/hooks/token?x=1"
    assert base64.b64decode(headers["Authorization"].split()[1]) == b"user:s@cret"


@pytest.mark.parametrize(("statuses", "tries"), [([500], 2), ([500, 404, 302], 4), ([500] * 9, 4), ([201], 1)])
def test_a_failed_delivery_is_retried_at_most_three_times(carrier, listener, statuses, tries):
    listener.statuses += statuses
    carrier.control("scan", reference=booked(carrier)["carrier_reference"])
    until(lambda: len(carrier.read("deliveries")) == tries)
    time.sleep(0.15)  # no more of them come
    assert len({event["event_id"] for _, _, event in listener.heard}) == 1
    assert [details["attempt"] for details in carrier.read("deliveries")] == list(range(1, tries + 1))


def test_a_foreign_reference_is_pushed_only_after_subscribing(carrier, listener):
    carrier.control("foreign", reference="SOTHER77")
    carrier.control("scan", reference="SOTHER77", description="First")
    subscribed = carrier.call("POST", "/tracking/SOTHER77/subscribe")
    carrier.control("scan", reference="SOTHER77", description="Second")
    assert [event["description"] for event in subscribed.json["tracking_events"]] == ["First"]
    assert [event["description"] for event in listener.wait_for(1)] == ["Second"]
    assert carrier.call("DELETE", "/tracking/SOTHER77/subscribe").status == 204
    carrier.control("scan", reference="SOTHER77", description="Third")
    time.sleep(0.1)
    assert len(listener.heard) == 1


def test_subscribing_needs_a_listener(open_carrier):
    assert open_carrier().call("POST", "/tracking/SFOREIGN1/subscribe").status == 422


JOURNEYS = {
    "normal": ["Info", "Pickup", "In Transit", "Out for Delivery", "Delivered", "Info"],
    "missed": ["Info", "Missed Pickup", "Pickup", "In Transit", "Out for Delivery", "Delivered"],
    "futile": ["Info", "Pickup Attempted", "Pickup", "In Transit", "Out for Delivery", "Delivered"],
    "attempted": ["Info", "Pickup", "In Transit", "Out for Delivery", "Delivery Attempted",
                  "Left with Agent", "Delivered"],
    "lost": ["Info", "Pickup", "In Transit", "Lost"],
}  # fmt: skip


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_parcel_moves_through_all_its_scans_by_itself(carrier, listener, name):
    carrier.control("settings", speed=400.0)
    reference = booked(carrier, customer_reference=f"SIM-{name.upper()}-1")["carrier_reference"]
    listener.wait_for(len(JOURNEYS[name]))
    events = tracked(carrier, reference).json["tracking_events"]
    assert [event["event_type"] for event in events] == JOURNEYS[name]
    assert sorted(event["scan_time"] for event in events) == [event["scan_time"] for event in events]


def test_a_dropped_off_parcel_is_never_picked_up(carrier, listener):
    carrier.control("settings", speed=400.0)
    booked(carrier, product_code="STANDARD-DROPOFF")
    assert listener.wait_for(2)[1]["event_type"] == "Dropped off"


def test_another_driver_comes_the_next_business_day(carrier):
    order = booked(carrier)
    carrier.control("scan", reference=order["carrier_reference"], progress="pickup_missed")
    seen = carrier.call("GET", f"/orders/{order['order_id']}").json["scheduling"]["pickup_date"]
    assert seen > order["scheduling"]["pickup_date"]


def test_a_cancelled_parcel_does_not_move(carrier, listener):
    order = booked(carrier)
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    carrier.control("settings", speed=1000.0)
    time.sleep(0.2)
    assert listener.heard == []


def test_a_label_used_after_cancelling_is_scanned_and_charged(carrier, listener):
    order = booked(carrier, customer_reference="SIM-USED-AFTER-CANCEL")
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    carrier.control("settings", speed=1000.0)
    listener.wait_for(4)
    assert [line["kind"] for line in carrier.effects("charge")] == ["uncancellation"]
    assert carrier.call("GET", f"/orders/{order['order_id']}").json["state"] == "Delivered"


def test_a_label_used_after_cancelling_is_charged_once_however_often_it_is_scanned(carrier, listener):
    order = booked(carrier)
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    for progress in ("collected", "dropped_off", "collected"):
        carrier.control("scan", reference=order["carrier_reference"], progress=progress)
    assert [line["kind"] for line in carrier.effects("charge")] == ["uncancellation"]


def test_cancelling_twice_gets_the_same_reply(carrier):
    order = booked(carrier)
    answers = [carrier.call("DELETE", f"/orders/{order['order_id']}") for _ in range(2)]
    assert [(answer.status, answer.json["state"]) for answer in answers] == [(200, "Cancelled")] * 2
    assert len(carrier.effects("cancelled")) == 1


def test_a_collected_parcel_is_not_cancelled(carrier):
    order = booked(carrier)
    carrier.control("scan", reference=order["carrier_reference"], event_type="Pickup")
    answer = carrier.call("DELETE", f"/orders/{order['order_id']}")
    assert answer.status == 422
    assert answer.json["messages"] == "Order can not be cancelled; contact support for help."


def test_cancelling_after_a_futile_pickup_is_allowed_and_recorded(carrier):
    order = booked(carrier)
    carrier.control("scan", reference=order["carrier_reference"], progress="pickup_futile")
    assert carrier.call("DELETE", f"/orders/{order['order_id']}").status == 200
    assert carrier.effects("cancelled")[0]["after"] == "pickup_futile"


@pytest.mark.parametrize(
    ("verb", "arg", "count"), [("dup", 3, 3), ("storm", 5, 5), ("mutate", {"scan_time": "soon"}, 1), ("delay", 0.1, 1)]
)
def test_webhooks_can_be_sent_wrongly(carrier, listener, verb, arg, count):
    carrier.control("trouble", operation="webhook", verb=verb, arg=arg)
    carrier.control("scan", reference=booked(carrier)["carrier_reference"])
    events = listener.wait_for(count)
    assert len({event["event_id"] for event in events}) == (count if verb == "storm" else 1)
    assert (events[0]["scan_time"] == "soon") == (verb == "mutate")


def test_webhooks_can_be_dropped_or_arrive_in_the_wrong_order(carrier, listener):
    reference = booked(carrier)["carrier_reference"]
    for verb, description in (("drop", "Never"), ("reorder", "Late"), (None, "Early")):
        if verb:
            carrier.control("trouble", operation="webhook", verb=verb)
        carrier.control("scan", reference=reference, description=description)
    assert [event["description"] for event in listener.wait_for(2)] == ["Early", "Late"]


def test_a_webhook_can_arrive_before_the_reply_and_after_a_cancellation(carrier, listener):
    carrier.control("trouble", operation="webhook", verb="before-response")
    carrier.control("trouble", operation="webhook", verb="after-cancel")
    order = booked(carrier)
    assert [event["carrier_reference"] for _, _, event in listener.heard] == [order["carrier_reference"]]
    carrier.call("DELETE", f"/orders/{order['order_id']}")
    assert listener.wait_for(2)[1]["event_type"] == "Pickup"


def test_the_previous_listener_can_still_be_called(carrier, listener):
    carrier.control("listener", url=listener.url.replace("token", "new-token"))
    carrier.control("trouble", operation="webhook", verb="old-secret")
    carrier.control("scan", reference=booked(carrier)["carrier_reference"])
    listener.wait_for(1)
    assert listener.heard[0][0] == "/hooks/token?x=1"


def test_drivers_come_after_a_while_or_at_a_set_time(open_carrier, listener):
    carrier = open_carrier(speed=1000.0, driver_after=600.0, listener=listener.url)
    carrier.book()
    listener.wait_for(1)
    assert carrier.control("driver", missed=True) == {"parcels": 1}
    assert [event["event_type"] for event in listener.wait_for(2)] == ["Info", "Missed Pickup"]
    assert carrier.control("driver") == {"parcels": 1}
    listener.wait_for(6)
    assert carrier.control("driver") == {"parcels": 0}


def test_a_drop_off_waits_until_it_is_dropped_off(open_carrier, listener):
    carrier = open_carrier(speed=1000.0, driver_after=600.0, listener=listener.url)
    carrier.book(an_order(product_code="STANDARD-DROPOFF"))
    listener.wait_for(1)
    time.sleep(0.2)  # a whole journey takes 0.11 s at this speed
    assert [event["event_type"] for event in listener.wait_for(1)] == ["Info"]
    assert carrier.control("driver") == {"parcels": 0}
    assert carrier.control("drop_off") == {"parcels": 1}
    assert [event["event_type"] for event in listener.wait_for(2)][1] == "Dropped off"
    assert carrier.control("drop_off") == {"parcels": 0}
