"""How the carrier accepts or refuses a cancellation."""

import pytest

from shipping_portal.carrier.errors import OperationOff, OutcomeUnknown, Rejected

from .conftest import ORDER_ID, reply

CANCELLED = {"order_id": ORDER_ID, "state": "Cancelled", "cancellation_message": "Cancelled by partnerAccount"}


def cancel(client, far_side, answer, **points):
    far_side.answers(answer)
    return client(points).cancel(ORDER_ID)


def test_a_cancellation_has_the_carriers_message(client, far_side):
    cancelled = cancel(client, far_side, reply(200, CANCELLED))
    assert (cancelled.state, cancelled.message) == ("Cancelled", "Cancelled by partnerAccount")
    assert (far_side.asked[0].method, far_side.asked[0].target) == ("DELETE", f"/api/orders/{ORDER_ID}")
    assert far_side.asked[0].body == b""


@pytest.mark.parametrize("answer", [reply(204, b"", Content_Length=""), reply(200, b"")])
def test_an_empty_success_is_a_cancellation(client, far_side, answer):
    assert cancel(client, far_side, answer).state == "cancelled"


def test_a_refusal_can_be_a_bare_string(client, far_side):
    words = "Order can not be cancelled; contact support for help."
    answer = reply(422, {"error": "unprocessable_entity", "error_description": "See messages.", "messages": words})
    with pytest.raises(Rejected) as raised:
        cancel(client, far_side, answer)
    assert raised.value.messages == {"": [words]}


@pytest.mark.parametrize("status", [404, 409, 422])
def test_a_refusing_status_is_a_refusal(client, far_side, status):
    with pytest.raises(Rejected):
        cancel(client, far_side, reply(status, {"error": "x"}))


@pytest.mark.parametrize(
    "answer",
    [
        reply(200, CANCELLED | {"state": "Pickup"}),
        reply(200, {"order_id": ORDER_ID}),
        reply(200, CANCELLED | {"order_id": "other"}),
        reply(200, b"<html>"),
        reply(202, b""),
        reply(500, b"500"),
        b"HTTP/1.1 200 OK\r\n",
        b"",
    ],
)
def test_any_other_reply_leaves_the_outcome_unknown(client, far_side, answer):
    with pytest.raises(OutcomeUnknown):
        cancel(client, far_side, answer)


def test_the_contract_can_change_the_path_and_the_word(client, far_side):
    answer = reply(200, CANCELLED | {"state": "Void"})
    assert cancel(client, far_side, answer, cancel="POST /orders/{id}/cancel", cancelled_word="void").state == "Void"
    assert far_side.asked[0].target == f"/api/orders/{ORDER_ID}/cancel"


def test_a_carrier_that_cannot_cancel_is_never_called(client, far_side):
    with pytest.raises(OperationOff):
        cancel(client, far_side, b"", cancel="")
    assert far_side.asked == []
