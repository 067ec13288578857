"""Write EasyPost's documents: shipments, trackers and events."""

import secrets
from typing import Any

from shipping_portal.sandbox.easypost.rates import lacks_customs
from shipping_portal.sandbox.easypost.shipments import Shipment

ENDINGS = {"application/pdf": "pdf", "image/png": "png", "application/zpl": "zpl"}


def shipment_document(shipment: Shipment, base_url: str, now: str) -> dict[str, Any]:
    """Return a shipment as every operation on it returns it."""
    body = shipment.body
    return {
        "id": shipment.id,
        "object": "Shipment",
        "mode": shipment.mode,
        "created_at": shipment.created_at,
        "updated_at": now,
        "is_return": False,
        "reference": shipment.reference or None,
        "status": shipment.status,
        "tracking_code": shipment.tracking_code,
        "from_address": _part(shipment, "from_address", "adr", "Address"),
        "to_address": _part(shipment, "to_address", "adr", "Address"),
        "parcel": _part(shipment, "parcel", "prcl", "Parcel"),
        "customs_info": _part(shipment, "customs_info", "cstinfo", "CustomsInfo"),
        "options": {"currency": "USD", **(body.get("options") or {})},
        "messages": _messages(shipment),
        "rates": shipment.rates,
        "selected_rate": shipment.rate,
        "insurance": shipment.insurance,
        "postage_label": _label(shipment, base_url) if shipment.rate else None,
        "tracker": tracker_document(shipment, base_url) if shipment.rate else None,
        "refund_status": shipment.refund_status,
        "fees": _fees(shipment),
        "forms": [],
        "scan_form": None,
        "order_id": None,
        "batch_id": None,
    }


def tracker_document(shipment: Shipment, base_url: str) -> dict[str, Any]:
    """Return a shipment's tracker with its whole history."""
    last = shipment.details[-1] if shipment.details else {}
    return {
        "id": shipment.tracker_id,
        "object": "Tracker",
        "mode": shipment.mode,
        "tracking_code": shipment.tracking_code,
        "status": shipment.status,
        "status_detail": last.get("status_detail", "unknown"),
        "created_at": shipment.created_at,
        "updated_at": last.get("datetime", shipment.created_at),
        "signed_by": None,
        "weight": None,
        "est_delivery_date": None,
        "shipment_id": shipment.id,
        "carrier": shipment.rate["carrier"] if shipment.rate else None,
        "tracking_details": shipment.details,
        "carrier_detail": None,
        "finalized": shipment.status in ("delivered", "return_to_sender"),
        "is_return": False,
        "public_url": f"{base_url}/track/{shipment.tracker_id}",
        "fees": [],
    }


def event_document(shipment: Shipment, before: str, base_url: str, now: str) -> dict[str, Any]:
    """Return the event for a tracker's change."""
    return {
        "id": f"evt_{secrets.token_hex(16)}",
        "object": "Event",
        "description": "tracker.updated",
        "mode": shipment.mode,
        "previous_attributes": {"status": before},
        "created_at": now,
        "pending_urls": [],
        "completed_urls": [],
        "status": "pending",
        "result": tracker_document(shipment, base_url),
    }


def detail_document(source: str, **facts: Any) -> dict[str, Any]:
    """Return one row of a history."""
    place = {name: facts.pop(name, None) for name in ("city", "state", "country", "zip")}
    location = {"object": "TrackingLocation", **place}
    return {
        "object": "TrackingDetail",
        "description": "",
        "source": source,
        **facts,
        "tracking_location": location,
    }


def _part(shipment: Shipment, name: str, prefix: str, kind: str) -> dict[str, Any] | None:
    part = shipment.body.get(name)
    own_id = f"{prefix}_{name}_{shipment.id.removeprefix('shp_')}"
    return {"id": own_id, "object": kind, "mode": shipment.mode, **part} if part else None


def _messages(shipment: Shipment) -> list[dict[str, str]]:
    if shipment.rates or not lacks_customs(shipment.body):
        return []
    return [
        {"carrier": "USPS", "type": "rate_error", "message": "Customs information is required."}
    ]


def _label(shipment: Shipment, base_url: str) -> dict[str, Any]:
    address = f"{base_url}/files/postage_label/{shipment.id}"
    ending = ENDINGS[shipment.label_type]
    made = {ending, *shipment.converted}
    links = {
        f"label_{kind}_url": f"{address}.{kind}" if kind in made else None
        for kind in ("pdf", "zpl", "epl2")
    }
    return {
        "id": f"pl_{shipment.id.removeprefix('shp_')}",
        "object": "PostageLabel",
        "label_date": shipment.created_at,
        "label_resolution": 300,
        "label_size": "4x6",
        "label_type": "default",
        "label_file_type": shipment.label_type,
        "label_url": f"{address}.{ending}",
        **links,
        "label_file": None,
    }


def _fees(shipment: Shipment) -> list[dict[str, Any]]:
    if not shipment.rate:
        return []
    amounts = {"LabelFee": "0.00000"}
    if shipment.rate["billing_type"] == "easypost":
        amounts["PostageFee"] = f"{shipment.rate['rate']}000"
    if shipment.insurance:
        amounts["InsuranceFee"] = f"{shipment.fee}000"
    is_refunded = shipment.refund_status == "refunded"
    return [
        {"object": "Fee", "type": kind, "amount": amount, "charged": True, "refunded": is_refunded}
        for kind, amount in amounts.items()
    ]
