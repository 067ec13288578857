"""The recording rules find faults."""

from typing import Any

import pytest

from tests.recording import cut, improper


def request(**changes: Any) -> dict[str, Any]:
    made = {
        "method": "GET",
        "path": "/products",
        "operation": "quote",
        "query": {"partner_id": "PRT-0001"},
        "headers": {"User-Agent": "ShippingPortal/0.1 (ops@portal.example)"},
        "authenticated": True,
        "body": "",
        "bytes_read": 0,
        "status": 200,
    }
    return {**made, **changes}


def test_a_correct_request_passes() -> None:
    assert improper([request()]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": {"User-Agent": "python-requests/2.32"}},
        {"headers": {}},
        {"query": {"partner_id": "PRT-0001", "plan_name": "Pro"}},
        {"query": {}},
        {"path": "/quote"},
        {"authenticated": False},
        {"operation": "subscribe"},
        {"operation": "book", "query": {}, "body": "{}"},
    ],
)
def test_each_fault_is_found(changes: dict[str, Any]) -> None:
    assert len(improper([request(**changes)])) == 1


def booking(**changes: Any) -> dict[str, Any]:
    """Return a booking of which only the head arrived."""
    headers = {"User-Agent": "ShippingPortal/0.1 (ops@portal.example)", "content-length": "700"}
    made = request(method="POST", path="/orders", operation="book", query={}, headers=headers, status=None)
    return {**made, **changes}


@pytest.mark.parametrize("came", ["", '{"sender": {"contact"'])
def test_a_cut_off_body_need_not_name_the_partner(came: str) -> None:
    request = booking(body=came, bytes_read=len(came))
    assert improper([request]) == []
    assert cut([request]) == [request]


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 201},  # answered anyway
        {"bytes_read": 700},
        {"query": {"partner_id": "PRT-0001"}},
        {"body": '{"plan_name": "Pro", '},
        {"authenticated": False},
    ],
)
def test_a_cut_off_request_follows_every_other_rule(changes: dict[str, Any]) -> None:
    assert len(improper([booking(**changes)])) == 1


def test_a_fault_names_how_much_arrived_and_the_answer() -> None:
    assert improper([booking(status=422)]) == [
        "POST /orders, 0 of 700 bytes of body, answered 422: partner_id is not where the interface puts it"
    ]
    [fault] = improper([request(query={})])
    assert fault.startswith("GET /products, 0 bytes of body and no Content-Length, answered 200: ")
