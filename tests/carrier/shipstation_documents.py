"""ShipStation API documents in the same shape as its clients' examples. Everyone in them is invented."""

from __future__ import annotations

from typing import Any

NOW, LATER = "2026-03-02T01:00:00Z", "2026-03-05T23:00:00Z"
LABEL_ID, RATE_ID, NUMBER = "se-70000001", "se-80000001", "9400999990000000000017"
DOWNLOADS = "https://api.shipengine.com/v1/downloads/10/made-up-token"
Document = dict[str, Any]


def money(amount: float, currency: str = "usd") -> Document:
    return {"currency": currency, "amount": amount}


def rate(**changes: Any) -> Document:
    return {
        "rate_id": RATE_ID,
        "rate_type": "shipment",
        "carrier_id": "se-1001",
        "shipping_amount": money(6.4),
        "insurance_amount": money(0.0),
        "confirmation_amount": money(0.0),
        "other_amount": money(0.0),
        "zone": 5,
        "package_type": "package",
        "delivery_days": 3,
        "guaranteed_service": False,
        "estimated_delivery_date": LATER,
        "carrier_delivery_days": "3",
        "ship_date": NOW,
        "negotiated_rate": False,
        "service_type": "USPS Ground Advantage",
        "service_code": "usps_ground_advantage",
        "trackable": True,
        "carrier_code": "usps",
        "carrier_nickname": "USPS",
        "carrier_friendly_name": "USPS",
        "validation_status": "valid",
        "warning_messages": [],
        "error_messages": [],
        **changes,
    }


def rates(*rows: Document, **changes: Any) -> Document:
    answer = {
        "rates": list(rows),
        "invalid_rates": [],
        "rate_request_id": "se-90000001",
        "shipment_id": "se-60000001",
        "created_at": NOW,
        "status": "completed",
        "errors": [],
        **changes,
    }
    return {"rate_response": answer, "shipment_id": "se-60000001", "external_shipment_id": None}


def label(**changes: Any) -> Document:
    return {
        "label_id": LABEL_ID,
        "status": "completed",
        "shipment_id": "se-60000001",
        "ship_date": NOW,
        "created_at": "2026-03-02T01:00:00.8779097Z",
        "shipment_cost": money(6.4),
        "insurance_cost": money(0.0),
        "tracking_number": NUMBER,
        "is_return_label": False,
        "rma_number": None,
        "is_international": False,
        "batch_id": "",
        "carrier_id": "se-1001",
        "service_code": "usps_ground_advantage",
        "package_code": "package",
        "voided": False,
        "voided_at": None,
        "label_format": "pdf",
        "display_scheme": "label",
        "label_layout": "4x6",
        "trackable": True,
        "label_image_id": None,
        "carrier_code": "usps",
        "tracking_status": "in_transit",
        "label_download": {kind: f"{DOWNLOADS}/label.{kind}" for kind in ("pdf", "png", "zpl")}
        | {"href": f"{DOWNLOADS}/label.pdf"},
        "form_download": None,
        "insurance_claim": None,
        "packages": [package()],
        "charge_event": "carrier_default",
        **changes,
    }


def package(**changes: Any) -> Document:
    return {"package_code": "package", "tracking_number": NUMBER, "sequence": 1, **changes}


# What an example generated from the schema says: everything at once.
EXAMPLE = {
    "status": "processing",
    "shipment_cost": money(0),
    "insurance_cost": money(0),
    "is_return_label": True,
    "rma_number": "string",
    "voided": True,
    "voided_at": NOW,
    "form_download": {"href": f"{DOWNLOADS}/form.pdf", "type": "string"},
    "insurance_claim": {"href": f"{DOWNLOADS}/claim", "type": "string"},
}


def event(**changes: Any) -> Document:
    return {
        "occurred_at": NOW,
        "carrier_occurred_at": "2026-03-01T20:00:00",
        "description": "Arrived at Post Office",
        "city_locality": "PEORIA",
        "state_province": "IL",
        "postal_code": "61602",
        "country_code": "",
        "company_name": "",
        "signer": "",
        "event_code": "07",
        "carrier_detail_code": None,
        "status_code": "",
        "carrier_status_code": "07",
        "latitude": 40.7,
        "longitude": -89.6,
        **changes,
    }


def history(*events: Document, **changes: Any) -> Document:
    return {
        "tracking_number": NUMBER,
        "status_code": "DE",
        "carrier_detail_code": None,
        "status_description": "Delivered",
        "carrier_status_code": "Delivery",
        "carrier_status_description": "Shipment delivered",
        "ship_date": None,
        "estimated_delivery_date": None,
        "actual_delivery_date": NOW,
        "exception_description": None,
        "events": list(events),
        **changes,
    }


def errors(*rows: Document) -> Document:
    return {"request_id": "0e0f5a0c-0000-4000-8000-000000000001", "errors": list(rows)}


def error(message: str, code: str = "invalid_field_value", kind: str = "validation", **changes: Any) -> Document:
    return {"error_source": "shipengine", "error_type": kind, "error_code": code, "message": message, **changes}
