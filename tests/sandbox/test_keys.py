import threading

from tests.sandbox.client import an_order


def test_the_same_key_and_body_book_once(open_carrier):
    carrier = open_carrier(replays=True)
    first, second = carrier.book(key="k1"), carrier.book(key="k1")
    assert (second.status, second.body) == (201, first.body)
    assert len(carrier.effects("booked")) == 1


def test_without_replays_the_key_is_ignored(carrier):
    references = {carrier.book(key="k1").json["carrier_reference"] for _ in range(2)}
    assert len(references) == len(carrier.effects("booked")) == 2


def test_another_body_under_the_same_key_is_refused(open_carrier):
    carrier = open_carrier(replays=True)
    carrier.book(key="k1")
    assert carrier.book(an_order(description="Something else"), key="k1").json["error"] == "idempotency_error"


def test_a_refused_attempt_consumes_its_key(open_carrier):
    carrier = open_carrier(replays=True)
    bad = an_order(dimensions=None)
    assert carrier.book(bad, key="k1").body == carrier.book(bad, key="k1").body
    assert carrier.book(key="k1").status == 422


def test_a_key_still_in_use_gets_425(open_carrier):
    carrier = open_carrier(replays=True)
    carrier.control("trouble", operation="book", verb="sleep-commit", arg=0.6)
    slow = threading.Thread(target=carrier.book, kwargs={"key": "k1"})
    slow.start()
    while not carrier.read("requests"):
        pass
    early = carrier.book(key="k1")
    slow.join()
    assert early.status == 425
    assert carrier.book(key="k1").status == 201
    assert len(carrier.effects("booked")) == 1


def test_a_key_is_forgotten_after_its_window(open_carrier):
    carrier = open_carrier(replays=True)
    carrier.book(key="k1")
    carrier.control("settings", clock_offset_seconds=72 * 3600 + 1)
    carrier.book(key="k1")
    assert len(carrier.effects("booked")) == 2


def test_books_and_keys_survive_a_restart(open_carrier, tmp_path):
    before = open_carrier(replays=True, state=tmp_path / "kept")
    order = before.book(key="k1").json
    before.control("scan", reference=order["carrier_reference"], event_type="Pickup")
    with (tmp_path / "kept" / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"effect": "booked", "torn')
    after = open_carrier(replays=True, state=tmp_path / "kept")
    assert after.book(key="k1").json == order
    assert len(after.effects("booked")) == 1
    assert len(after.call("GET", f"/tracking/{order['carrier_reference']}").json["tracking_events"]) == 1


def test_the_same_key_gets_the_same_cancelled_order_again(open_carrier):
    carrier = open_carrier(replays=True)
    carrier.control("trouble", operation="book", verb="return-cancelled")
    assert [carrier.book(key="key-1").json["state"] for _ in range(2)] == ["Cancelled", "Cancelled"]
