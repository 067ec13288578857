"""The rules for every request to the carrier (interface §4, §5), checked for each sandbox a test uses."""

import json
from typing import Any

READS_WITH_PARTNER = {"quote", "track"}
FOR_PEOPLE = ("/t/", "/tracking-page")  # the carrier's own pages, which a person's browser opens


def improper(requests: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each recorded request that breaks a rule of the interface."""
    ours = [request for request in requests if not request["path"].startswith(FOR_PEOPLE)]
    return [f"{describe(request)}: {fault}" for request in ours for fault in _faults(request)]


def cut(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the requests whose body never arrived completely and that got no reply."""
    return [request for request in requests if _is_cut(request)]


def _is_cut(request: dict[str, Any]) -> bool:
    """Return whether the client disconnected too early: if killed during its call, it sends the head and part of the body."""
    announced = _headers(request).get("content-length", "")
    return announced.isdigit() and request["bytes_read"] < int(announced) and request["status"] is None


def describe(request: dict[str, Any]) -> str:
    """Return the request in a few words: how much of it arrived, and the reply."""
    announced = _headers(request).get("content-length")
    of = f" of {announced} bytes of body" if announced else " bytes of body and no Content-Length"
    return f"{request['method']} {request['path']}, {request['bytes_read']}{of}, answered {request['status']}"


def _headers(request: dict[str, Any]) -> dict[str, str]:
    return {name.lower(): value for name, value in request["headers"].items()}


def _faults(request: dict[str, Any]) -> list[str]:
    headers = _headers(request)
    body = request["body"] or ""
    checks = {
        "no meaningful User-Agent": headers.get("user-agent", "").startswith("ShippingPortal/"),
        "plan_name was sent": "plan_name" not in request["query"] and '"plan_name"' not in body,
        "a withdrawn path": not request["path"].rstrip("/").endswith("/quote"),
        "not authenticated": request["authenticated"] or "/files/" in request["path"] or request["operation"] is None,
        "partner_id is not where the interface puts it": _has_partner(request),
    }
    return [fault for fault, holds in checks.items() if not holds]


def _has_partner(request: dict[str, Any]) -> bool:
    """Return whether the partner is in a read's query or a booking's body. The missing part of a cut body is unknown."""
    in_query = bool(request["query"].get("partner_id")) == (request["operation"] in READS_WITH_PARTNER)
    in_body = _is_cut(request) or _names_partner(request["body"]) == (request["operation"] == "book")
    return in_query and in_body


def _names_partner(text: str) -> bool:
    try:
        body = json.loads(text or "{}")
    except ValueError:
        return False
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return bool(isinstance(metadata, dict) and metadata.get("partner_id"))
