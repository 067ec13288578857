import http.client
import json
import time

import pytest

from shipping_portal.sandbox.app import make_app
from shipping_portal.sandbox.config import Config
from shipping_portal.sandbox.trouble import SOCKET_VERBS, STATUS_VERBS, Troubles
from tests.sandbox.client import an_order

COMMITTED = (
    "commit-close", "commit-rst", "commit-hang", "partial-headers", "truncate", "garbage", "html200",
    "empty201", "no-ref", "bad-ref", "return-cancelled", "202", "204", "50MB",
)  # fmt: skip
UNTOUCHED = ("refuse", "accept-close", "replay-other", *(v for v in STATUS_VERBS if v >= "300"))


def outcome(call):
    """Return the reply, or the name of the connection's error."""
    try:
        return call()
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__


@pytest.mark.parametrize("verb", COMMITTED)
def test_some_troubles_happen_after_the_booking(carrier, verb):
    carrier.timeout = 0.5
    carrier.control("trouble", operation="book", verb=verb)
    outcome(carrier.book)
    assert len(carrier.effects("booked")) == 1


@pytest.mark.parametrize("verb", UNTOUCHED)
def test_other_troubles_prevent_the_booking(carrier, verb):
    carrier.control("trouble", operation="book", verb=verb)
    outcome(carrier.book)
    assert carrier.effects("booked") == []


@pytest.mark.parametrize("verb", STATUS_VERBS)
def test_every_status_is_sent_as_requested(carrier, verb):
    carrier.control("trouble", operation="ping", verb=verb)
    assert carrier.call("GET", "/ping").status == int(verb)
    assert carrier.call("GET", "/ping").status == 200


@pytest.mark.parametrize(
    ("verb", "seen"),
    [
        ("refuse", {"ConnectionResetError", "RemoteDisconnected", "BrokenPipeError"}),
        ("accept-close", {"RemoteDisconnected"}),
        ("commit-close", {"RemoteDisconnected"}),
        ("commit-rst", {"ConnectionResetError"}),
        ("commit-hang", {"TimeoutError"}),
        ("truncate", {"IncompleteRead"}),
        ("partial-headers", {"Answer", "BadStatusLine", "RemoteDisconnected", "IncompleteRead"}),
        ("garbage", {"BadStatusLine"}),
        ("slow", {"TimeoutError"}),
    ],
)
def test_the_connection_breaks_in_the_requested_way(carrier, verb, seen):
    if seen == {"TimeoutError"}:
        carrier.timeout = 0.3
    carrier.control("trouble", operation="book", verb=verb)
    found = outcome(carrier.book)
    assert (found if isinstance(found, str) else type(found).__name__) in seen


@pytest.mark.parametrize("verb", ["drip-head", "drip-body"])
def test_a_dripping_reply_is_slow_but_complete(carrier, verb):
    carrier.control("trouble", operation="ping", verb=verb, arg=0.002)
    began = time.monotonic()
    reply = carrier.call("GET", "/ping")
    assert reply.json["ping"] == "pong"
    assert time.monotonic() - began > 0.002 * len(reply.body)


def test_any_status_can_be_sent_with_or_without_a_booking(carrier):
    carrier.control("trouble", operation="book", verb="502", commit=True)
    carrier.control("trouble", operation="book", verb="204", commit=False)
    assert [carrier.book().status for _ in range(2)] == [502, 204]
    assert len(carrier.effects("booked")) == 1


def test_the_contract_says_whether_a_429_was_processed(open_carrier):
    carrier = open_carrier({"too_many_requests_is_unprocessed": False})
    carrier.control("trouble", operation="book", verb="429", arg=7)
    answer = carrier.book()
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert len(carrier.effects("booked")) == 1


@pytest.mark.parametrize(
    ("arg", "start"), [("self", "http://127.0.0.1:"), ("other", "http://localhost:"), ("169.254", "http://169.254.169.254/")]
)  # fmt: skip
def test_a_redirect_goes_to_the_requested_host(carrier, arg, start):
    carrier.control("trouble", operation="book", verb="307", arg=arg)
    assert carrier.book().headers["location"].startswith(start)


def test_the_reference_can_be_missing_wrong_or_someone_elses(carrier):
    first = carrier.book().json
    for verb in ("no-ref", "bad-ref", "replay-other"):
        carrier.control("trouble", operation="book", verb=verb)
    assert "carrier_reference" not in carrier.book().json
    assert not carrier.book().json["carrier_reference"].startswith("S")
    other = carrier.book(an_order(metadata__portal_order="order-2")).json
    assert other["metadata"]["portal_order"] == "order-1"
    assert other["carrier_reference"] != first["carrier_reference"]


def test_an_order_can_come_back_cancelled(carrier):
    carrier.control("trouble", operation="book", verb="return-cancelled")
    assert carrier.book().json["state"] == "Cancelled"


def test_huge_replies_are_huge(carrier):
    carrier.control("trouble", operation="book", verb="50MB")
    carrier.control("trouble", operation="ping", verb="gzip-bomb", arg=8)
    big = carrier.book()
    assert len(big.body) > 50_000_000
    assert big.json["carrier_reference"].startswith("S")
    bomb = carrier.call("GET", "/ping")
    assert bomb.headers["content-encoding"] == "gzip"
    assert len(bomb.body) < 20_000


def test_trouble_for_one_order_leaves_the_others_alone(carrier):
    carrier.control("trouble", operation="book", verb="500", match="order-2", count=2)
    keys = ["order-1", "order-2", "order-3", "order-2", "order-2"]
    statuses = [carrier.book(an_order(metadata__portal_order=key)).status for key in keys]
    assert statuses == [201, 500, 201, 500, 201]


def test_the_connection_of_a_single_order_can_be_refused(carrier):
    carrier.control("trouble", operation="book", verb="refuse", match="order-2")
    assert carrier.book().status == 201
    assert outcome(lambda: carrier.book(an_order(metadata__portal_order="order-2"))) == "RemoteDisconnected"
    assert len(carrier.effects("booked")) == 1


def test_a_refused_connection_is_dropped_before_a_byte_is_read(carrier):
    carrier.control("trouble", operation="connection", verb="refuse", count=1)
    assert outcome(carrier.book) in ("ConnectionResetError", "RemoteDisconnected", "BrokenPipeError")
    assert carrier.read("requests") == []
    assert carrier.book().status == 201


def strikes(seed):
    troubles = Troubles(seed, "book:500=0.3")
    return [troubles.pick("book", order_key=f"order-{number}") is not None for number in range(400)]


def test_the_same_seed_strikes_the_same_orders():
    assert strikes(1) == strikes(1) != strikes(2)
    assert 80 < sum(strikes(1)) < 160


def test_unknown_trouble_is_refused_with_a_sentence(carrier):
    for members in ({"operation": "book", "verb": "sulk"}, {"operation": "tea", "verb": "500"}, {"verb": "500"}):
        answer = carrier.call("POST", "/_sandbox/trouble", members)
        assert answer.status == 400
        assert answer.json["error_description"]


def test_clearing_ends_all_trouble(carrier):
    for verb in SOCKET_VERBS:
        carrier.control("trouble", operation="any", verb=verb, count=5)
    carrier.control("clear")
    assert carrier.book().status == 201


def test_the_controls_are_for_this_machine_only(tmp_path):
    app = make_app(Config(state=tmp_path / "other"))
    seen = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/_sandbox/ledger", "REMOTE_ADDR": "192.0.2.7"}
    body = app(environ, lambda status, headers: seen.append(status))
    app.close()
    assert seen == ["404 Not Found"]
    assert json.loads(b"".join(body))["error"] == "not_found"
