"""The recording rules themselves bite."""

from typing import Any

import pytest

from tests.recording import improper


def request(**changes: Any) -> dict[str, Any]:
    made = {
        "method": "GET",
        "path": "/products",
        "operation": "quote",
        "query": {"partner_id": "PRT-0001"},
        "headers": {"User-Agent": "ShippingPortal/0.1 (ops@portal.example)"},
        "authenticated": True,
        "body": "",
    }
    return {**made, **changes}


def test_a_proper_request_passes() -> None:
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
