"""EasyPost documents in the same shape as recorded exchanges. Everyone in them is invented."""

from __future__ import annotations

from typing import Any

NOW = "2026-03-02T01:00:00Z"
SHIPMENT_ID, RATE_ID = "shp_0123456789abcdef0123456789abcdef", "rate_00000000000000000000000000000001"
CODE = "9400999990000000000017"
FILES = "https://easypost-files.s3.us-west-2.amazonaws.com/files"
Document = dict[str, Any]


def rate(service: str = "GroundAdvantage", amount: str = "6.40", days: Any = 3, **changes: Any) -> Document:
    return {
        "id": RATE_ID,
        "object": "Rate",
        "created_at": NOW,
        "updated_at": NOW,
        "mode": "test",
        "service": service,
        "carrier": "USPS",
        "rate": amount,
        "currency": "USD",
        "retail_rate": "9.05",
        "retail_currency": "USD",
        "list_rate": amount,
        "list_currency": "USD",
        "billing_type": "easypost",
        "delivery_days": days,
        "delivery_date": None,
        "delivery_date_guaranteed": False,
        "est_delivery_days": days,
        "shipment_id": SHIPMENT_ID,
        "carrier_account_id": "ca_0000",
        **changes,
    }


RATES = [rate("Express", "30.10", 1, id=f"{RATE_ID[:-1]}2"), rate("Priority", "8.20", 2, id=f"{RATE_ID[:-1]}3"), rate()]
QUOTED = {"USPS:Express": "30.10", "USPS:Priority": "8.20", "USPS:GroundAdvantage": "6.40"}


def address(name: str, **changes: Any) -> Document:
    place = {"street1": "12 Example Lane", "street2": None, "city": "Springfield", "state": "IL", "zip": "62701"}
    return {"id": "adr_0001", "object": "Address", "name": name, "company": None, "country": "US", **place, **changes}


def parcel(*, whole: bool = False) -> Document:
    sides = {"length": 10, "width": 8, "height": 4} if whole else {"length": 10.0, "width": 8.0, "height": 4.5}
    return {"id": "prcl_0001", "object": "Parcel", "weight": 15.4, "predefined_package": None, "mode": "test", **sides}


def customs(**changes: Any) -> Document:
    item = {
        "id": "cstitem_0001",
        "object": "CustomsItem",
        "description": "Cotton t-shirt",
        "hs_tariff_number": "610910",
        "origin_country": "US",
        "quantity": 2,
        "value": "56.00",
        "weight": 11.0,
        "currency": None,
    }
    return {
        "id": "cstinfo_0001",
        "object": "CustomsInfo",
        "contents_type": "merchandise",
        "customs_certify": True,
        "customs_signer": "Ira Quill",
        "eel_pfc": "NOEEI 30.37(a)",
        "customs_items": [item],
        **changes,
    }


def label(kind: str = "png", **changes: Any) -> Document:
    file = {"png": "image/png", "pdf": "application/pdf"}[kind]
    address = f"{FILES}/postage_label/20260302/0001.{kind}"
    return {
        "object": "PostageLabel",
        "id": "pl_0001",
        "date_advance": 0,
        "label_date": NOW,
        "label_resolution": 300,
        "label_size": "4x6",
        "label_type": "default",
        "label_file_type": file,
        "label_url": address,
        "label_pdf_url": address if kind == "pdf" else None,
        "label_zpl_url": None,
        "label_epl2_url": None,
        "label_file": None,
        **changes,
    }


def detail(
    status: str, when: str, message: str, kind: str | None = "status_update", city: str | None = None, **changes: Any
) -> Document:
    place = {"object": "TrackingLocation", "city": city, "state": "IL" if city else None, "country": None, "zip": None}
    facts = {"message": message, "description": "", "status": status, "status_detail": kind, "datetime": when}
    return {"object": "TrackingDetail", **facts, "source": "USPS", "tracking_location": place, **changes}


ANNOUNCED = [
    detail("pre_transit", "2026-02-02T01:00:00Z", "Shipment information sent"),
    detail("pre_transit", "2026-02-02T13:37:00Z", "Label created", city="SPRINGFIELD"),
]
DELIVERED = [
    *ANNOUNCED,
    detail("in_transit", "2026-02-03T03:20:00Z", "Arrived at the origin", "arrived_at_facility", "SPRINGFIELD"),
    detail("in_transit", "2026-02-04T08:10:00Z", "Arrived at a facility", "arrived_at_facility", "PEORIA"),
    detail("in_transit", "2026-02-04T12:00:00Z", "Sorted", city="PEORIA"),
    detail("out_for_delivery", "2026-02-04T13:10:00Z", "Out for delivery", "out_for_delivery", "PEORIA"),
    detail("delivered", "2026-02-04T18:02:00Z", "Delivered", "arrived_at_destination", "PEORIA"),
]


def tracker(details: list[Document] | None = None, **changes: Any) -> Document:
    rows = ANNOUNCED if details is None else details
    return {
        "id": "trk_0001",
        "object": "Tracker",
        "mode": "test",
        "tracking_code": CODE,
        "status": rows[-1]["status"] if rows else "unknown",
        "status_detail": rows[-1]["status_detail"] if rows else "unknown",
        "created_at": NOW,
        "updated_at": NOW,
        "signed_by": None,
        "weight": None,
        "est_delivery_date": None,
        "shipment_id": SHIPMENT_ID,
        "carrier": "USPS",
        "tracking_details": rows,
        "carrier_detail": None,
        "fees": [],
        "public_url": "https://track.easypost.com/made-up",
        **changes,
    }


def fee(kind: str, amount: str) -> Document:
    return {"object": "Fee", "type": kind, "amount": amount, "charged": True, "refunded": False}


def shipment(**changes: Any) -> Document:
    """A shipment with three rates that hasn't been bought."""
    return {
        "id": SHIPMENT_ID,
        "object": "Shipment",
        "created_at": NOW,
        "updated_at": NOW,
        "is_return": False,
        "messages": [],
        "mode": "test",
        "options": {"label_format": "PDF", "currency": "USD", "payment": {"type": "SENDER"}, "date_advance": 0},
        "reference": None,
        "status": "unknown",
        "tracking_code": None,
        "batch_id": None,
        "batch_status": None,
        "batch_message": None,
        "customs_info": None,
        "from_address": address("Ira Quill"),
        "to_address": address("Noor Tamsin", city="Peoria", zip="61602"),
        "insurance": None,
        "order_id": None,
        "parcel": parcel(),
        "postage_label": None,
        "rates": RATES,
        "refund_status": None,
        "scan_form": None,
        "selected_rate": None,
        "tracker": None,
        "usps_zone": 4,
        "forms": [],
        "fees": [],
        **changes,
    }


def bought(**changes: Any) -> Document:
    """The same shipment, bought at its cheapest rate."""
    paid = [fee("LabelFee", "0.00000"), fee("PostageFee", "6.40000")]
    parts = {"tracking_code": CODE, "postage_label": label(), "selected_rate": rate(), "tracker": tracker([])}
    return shipment(**(parts | {"fees": paid, "from_address": address("IRA QUILL", residential=False)} | changes))


INSURED = {"insurance": "50.00", "fees": [*bought()["fees"], fee("InsuranceFee", "0.25000")]}
RATE_ERROR = {"carrier": "UPS", "carrier_account_id": "ca_0002", "type": "rate_error", "message": "Invalid licence"}
LUMA = {"ai_results": [{"carrier": "USPS", "service": "Priority", "rate_usd": "8.20"}], "matching_rule_idx": 0}


def with_floats(document: Document) -> Document:
    """The document as the Java client records it: with decimals instead of whole numbers."""

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: convert(member) for name, member in value.items()}
        if isinstance(value, list):
            return [convert(member) for member in value]
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    converted: Document = convert(document)
    return converted


def error(code: str, message: Any, *errors: Any) -> Document:
    return {"error": {"code": code, "message": message, "errors": list(errors)}}


def about(field: str, message: Any, **more: Any) -> Document:
    return {"field": field, "message": message, **more}
