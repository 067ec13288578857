"""How carriers differ beyond names and paths: statuses, suffixes, words and numbers. Each is a contract point."""

from datetime import date
from decimal import Decimal

import pytest

from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.errors import AccountStopped, OutcomeUnknown, Rejected

from .conftest import ORDER_ID, SHIRTS, order, reply, shipment
from .test_quoting import ABROAD, ask, product


@pytest.fixture(autouse=True)
def _on_the_day_of_the_quote(time_machine):
    time_machine.move_to("2026-03-02T01:00:00Z")


def book(client, far_side, answer, points=None):
    far_side.answers(answer)
    carrier = client(points)
    return carrier.book(carrier.booking_body(shipment()), key="attempt-1")


@pytest.mark.parametrize(
    ("points", "status", "outcome"),
    [
        ({}, 410, OutcomeUnknown),
        ({"refused_statuses": (400, 410)}, 410, Rejected),
        ({"refused_statuses": (400, 410)}, 422, OutcomeUnknown),
        ({"refused_statuses": (400,), "stopped_statuses": (401, 422)}, 422, AccountStopped),
        ({"stopped_statuses": (401,)}, 403, OutcomeUnknown),
    ],
)
def test_the_contract_says_which_statuses_refuse_and_which_stop_the_account(client, far_side, points, status, outcome):
    with pytest.raises(outcome):
        book(client, far_side, reply(status, {"error": "x"}), points=points)


@pytest.mark.parametrize(
    ("points", "answer", "outcome"),
    [
        ({"cancelled_statuses": (202,)}, reply(202, b""), "cancelled"),
        ({}, reply(200, {}), "cancelled"),
        ({}, reply(202, {}), OutcomeUnknown),
        ({"cancelled_word": "true", "state": "approved"}, reply(200, {"approved": True}), "true"),
        ({"cancelled_word": "true", "state": "approved"}, reply(200, {"approved": False}), OutcomeUnknown),
        ({"cancelled_statuses": (204, 410)}, reply(410, {"error": "gone"}), "cancelled"),
        ({"cancelled_statuses": (200, 202)}, reply(202, {"order_id": "another"}), OutcomeUnknown),
        ({"cancel_refused_statuses": (423,)}, reply(423, {"error": "x"}), Rejected),
        ({"cancel_refused_statuses": (423,)}, reply(409, {"error": "x"}), OutcomeUnknown),
    ],
)
def test_the_contract_says_which_statuses_answer_a_cancellation(client, far_side, points, answer, outcome):
    far_side.answers(answer)
    if isinstance(outcome, str):
        assert client(points).cancel(ORDER_ID).state == outcome
    else:
        with pytest.raises(outcome):
            client(points).cancel(ORDER_ID)


STATES = {"refused_states": ("ERROR",), "pending_states": ("QUEUED",)}


@pytest.mark.parametrize(
    ("points", "answer", "outcome"),
    [
        (STATES, order(state="error", carrier_reference=None, messages={"weight": ["is too heavy"]}), Rejected),
        (STATES, order(state="Queued", carrier_reference=None), OutcomeUnknown),
        (STATES, order(state="Pickup"), None),
        ({}, order(state="error"), None),
    ],
)
def test_the_contract_says_which_states_of_an_order_are_refused_or_pending(client, far_side, points, answer, outcome):
    if outcome is None:
        assert book(client, far_side, reply(201, answer), points=points).state == answer["state"]
        return
    with pytest.raises(outcome) as caught:
        book(client, far_side, reply(201, answer), points=points)
    if outcome is Rejected:
        assert caught.value.messages == {"weight": ["is too heavy"]}
    else:
        assert (caught.value.pending, caught.value.conflict) == (True, False)


@pytest.mark.parametrize(
    ("points", "code", "first_mile", "duties_paid"),
    [
        ({}, "STANDARD-DDP-PICKUP", "pickup", True),
        ({}, "standard-dropoff", "drop-off", False),
        ({"dropoff_suffix": "_COUNTER"}, "ECO_COUNTER", "drop-off", False),
        ({"dropoff_suffix": ""}, "ECO-DROPOFF", "unknown", False),
        ({"pickup_suffix": "_DOOR", "duties_paid_word": "Prepaid"}, "PREPAID_DOOR", "pickup", True),
        ({"duties_paid_word": ""}, "STANDARD-DDP-PICKUP", "pickup", False),
    ],
)
def test_the_contract_says_how_to_read_a_products_code(client, far_side, points, code, first_mile, duties_paid):
    (read,) = ask(client, far_side, product(product={"code": code}), points=points)
    assert (read.first_mile, read.duties_paid) == (first_mile, duties_paid)


def test_no_pickup_day_is_sent_for_a_drop_off_product(client):
    sent = shipment(product_code="ECO_COUNTER", pickup_date=date(2026, 3, 3))
    assert b"pickup_date" in client().booking_body(sent)
    assert b"pickup_date" not in client({"dropoff_suffix": "_COUNTER"}).booking_body(sent)


@pytest.mark.parametrize(("form", "sent"), [("number", b'"amount":300}'), ("string", b'"amount":"300.00"}')])
def test_cover_is_sent_as_a_number_or_as_text(client, form, sent):
    body = client({"cover_number": form}).booking_body(shipment(cover=Decimal("300.00")))
    assert sent in body


@pytest.mark.parametrize(
    ("points", "changes", "method"),
    [
        ({}, {"cover": Decimal(300)}, "POST"),
        ({"post_quote_with_cover": False}, {"cover": Decimal(300)}, "GET"),
        ({"post_quote": True}, {}, "POST"),
        ({}, {}, "GET"),
        ({}, {"receiver": ABROAD}, "POST"),
        ({"post_quote_abroad": False}, {"receiver": ABROAD}, "GET"),
        ({"post_quote_abroad": False}, {"receiver": ABROAD, "contents": (SHIRTS,)}, "POST"),
    ],
)
def test_the_contract_says_when_prices_are_asked_for_by_post(client, far_side, points, changes, method):
    ask(client, far_side, points=points, **changes)
    assert far_side.asked[0].method == method


def test_a_currency_in_lower_case_is_the_same_currency(client, far_side):
    (read,) = ask(client, far_side, product(quote={"gross": {"amount": "12.08", "currency": "aud"}}))
    assert (read.price.currency, {money.currency for _, money in read.breakdown}) == ("AUD", {"AUD"})
    booked = book(client, far_side, reply(201, order(price={"gross": {"amount": 12.08, "currency": "aud"}})))
    assert booked.price.currency == "AUD"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2026-03-05", date(2026, 3, 5)),
        ("2026-03-05T09:00:00+11:00", date(2026, 3, 5)),
        ("2026-03-05 00:00:00", date(2026, 3, 5)),
        ("2026-03-05T09:00:00.123Z", date(2026, 3, 5)),
        ("2026-03-05Tomorrow", None),
        ("2026-02-30T09:00:00Z", None),
        ("05/03/2026", None),
        (20260305, None),
    ],
)
def test_a_day_may_come_with_a_time(client, far_side, given, read):
    scheduling = {
        "pickup_date": given,
        "estimated_delivery_date_minimum": given,
        "estimated_delivery_date_maximum": given,
    }
    booked = book(client, far_side, reply(201, order(scheduling=scheduling)))
    assert (booked.pickup_date, booked.eta_from, booked.eta_to) == (read, read, read)


@pytest.mark.parametrize(("given", "read"), [(True, True), (False, False), (None, None), ("no", None), (0, None)])
def test_whether_an_order_can_be_cancelled_is_read_or_unknown(client, far_side, given, read):
    answer = order(scheduling={"is_cancellable": given})
    assert book(client, far_side, reply(201, answer)).is_cancellable is read
    far_side.answers(reply(200, answer | {"tracking_events": []}))
    assert client().track("SQ7K2M").is_cancellable is read


def test_a_contract_that_contradicts_itself_is_refused(tmp_path):
    for text, why in (
        ("refused_statuses = [401]", "401 in refused_statuses and in stopped_statuses"),
        ("cancelled_statuses = [409]", "409 in cancelled_statuses and in cancel_refused_statuses"),
        ("refused_statuses = [302]", "from 400 to 599"),
        ('refused_states = ["ERROR"]\npending_states = ["error"]', "names a state twice"),
        ('pending_states = ["Cancelled"]', "names a state twice"),
        ('pending_states = [" "]', "can't be blank"),
        ("cancelled_statuses = [500]", "from 200 to 299"),
        ("hs_code_shortest = 12", "more than its hs_code_longest"),
        ("longest_name = 121", "from 1 to 120"),
        ("longest_instructions = 0", "from 1 to 200"),
        ('contents_types = ["Merchandise of another kind"]', "at most 20 characters"),
        ('destinations = ["New Zealand"]', "two capital letters"),
    ):
        file = tmp_path / "contract.toml"
        file.write_text(text)
        with pytest.raises(ContractError, match=why):
            Contract.load(file)
