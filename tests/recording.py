"""What every request to the carrier must look like (interface §4, §5); checked for each sandbox a test was given."""

import json
from typing import Any

READS_WITH_PARTNER = {"quote", "track"}
FOR_PEOPLE = ("/t/", "/tracking-page")  # the carrier's own pages, which a person's browser opens


def improper(requests: list[dict[str, Any]]) -> list[str]:
    """A sentence for each recorded request that breaks a rule of the interface."""
    ours = [request for request in requests if not request["path"].startswith(FOR_PEOPLE)]
    return [
        f"{request['method']} {request['path']}: {fault}" for request in ours for fault in _faults(request)
    ]


def _faults(request: dict[str, Any]) -> list[str]:
    headers = {name.lower(): value for name, value in request["headers"].items()}
    body = request["body"] or ""
    checks = {
        "no meaningful User-Agent": headers.get("user-agent", "").startswith("ShippingPortal/"),
        "plan_name was sent": "plan_name" not in request["query"] and '"plan_name"' not in body,
        "a withdrawn path": not request["path"].rstrip("/").endswith("/quote"),
        "not authenticated": request["authenticated"]
        or "/files/" in request["path"]
        or request["operation"] is None,
        "partner_id is not where the interface puts it": _partner(request) == _wanted_partner(request),
    }
    return [fault for fault, holds in checks.items() if not holds]


def _partner(request: dict[str, Any]) -> tuple[bool, bool]:
    in_query = bool(request["query"].get("partner_id"))
    try:
        body = json.loads(request["body"] or "{}")
    except ValueError:
        return in_query, False
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return in_query, bool(isinstance(metadata, dict) and metadata.get("partner_id"))


def _wanted_partner(request: dict[str, Any]) -> tuple[bool, bool]:
    return request["operation"] in READS_WITH_PARTNER, request["operation"] == "book"
