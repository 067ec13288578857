"""The JSON documents this carrier answers with, each member at the path the contract names."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox import quoting
from shipping_portal.sandbox.asking import Asked
from shipping_portal.sandbox.contract import PARTY, Contract
from shipping_portal.sandbox.parcels import Parcel, Scan
from shipping_portal.sandbox.paths import dig, plant, uproot
from shipping_portal.sandbox.places import COUNTRIES, country_code


def quote_facts(quote: quoting.Quote, asked: Asked) -> dict[str, Any]:
    """Return a quote as plain JSON with decimals as text, as the ledger stores it."""
    product = quote.product
    return {
        "code": product.code,
        "name": product.name,
        "service": product.service,
        "first_mile": product.first_mile,
        "volume": str(_cubic_metres(asked)),
        "currency": quote.currency,
        "gross": str(quote.gross),
        "net": str(quote.net),
        "tax": str(quote.tax),
        "breakdown": {name: str(amount) for name, amount in quote.breakdown.items()},
        "taxes": {name: [str(amount), str(rate)] for name, (amount, rate) in quote.taxes.items()},
        "cover": [str(amount) for amount in quote.cover_price],
        "route": quote.route,
        "route_description": quoting.route_description(asked),
        "send_date": quote.send_date.isoformat(),
        "dates": [day.isoformat() for day in quote.dates],
        "days": list(product.days),
    }


def product_document(facts: dict[str, Any], contract: Contract) -> dict[str, Any]:
    """Return one product of a quote reply."""
    document: dict[str, Any] = {
        "route": {"type": facts["route"], "description": facts["route_description"]},
        "allowed_packaging": "any",
        "product": {"atl_only": False},
    }
    currency = facts["currency"]
    _plant_gross_net_tax(document, contract["quoted_price"], facts, currency)
    plant(document, contract["quoted_currency"], currency)
    plant(document, contract["breakdown"], _breakdown(facts))
    _plant_taxes_and_cover(document, facts, contract)
    plant(document, contract["plan"], quoting.PLAN)
    plant(document, contract["eta_days"], facts["days"])
    plant(document, contract["eta_dates"], facts["dates"])
    plant(document, contract["eta_send_date"], facts["send_date"])
    _plant_product(document, facts, contract)
    return document


def order_document(
    parcel: Parcel, contract: Contract, *, base_url: str, now: datetime
) -> dict[str, Any]:
    """Return the order as created or viewed (section 2.1; the reply's shape is assumed)."""
    facts, body = parcel.quote, parcel.body
    document: dict[str, Any] = {
        "order_url": f"{base_url}/orders/{parcel.order_id}",
        "hide_pickup_address": bool(body.get("hide_pickup_address", False)),
        "label_provider": "customer",
        "volume": {"units": "m3", "value": facts["volume"]},
        "route": {"type": facts["route"], "description": facts["route_description"]},
    }
    if isinstance(body.get("metadata"), dict):
        document["metadata"] = dict(body["metadata"])
    _echo_request(document, parcel, contract)
    _plant_schedule(document, parcel, contract)
    _plant_booked_price(document, facts, contract)
    plant(document, contract["order_id"], contract.value_of(parcel.order_id))
    plant(document, contract["reference"], contract.value_of(parcel.reference))
    state = parcel.state(now=now.timestamp(), words=contract.cancel_words)
    plant(document, contract["state"], state)
    plant(document, contract["labels"], label_entries(parcel, contract, base_url=base_url, now=now))
    plant(document, contract["tracking_url"], public_page(parcel.reference, base_url))
    document["expires_at"] = _with_milliseconds(parcel.expires_at)
    return document


def cancel_document(parcel: Parcel, contract: Contract, *, base_url: str) -> dict[str, Any]:
    """Return the reply to a cancellation."""
    document: dict[str, Any] = {"order_url": f"{base_url}/orders/{parcel.order_id}"}
    if isinstance(parcel.body.get("metadata"), dict):
        document["metadata"] = dict(parcel.body["metadata"])
    plant(
        document, contract["customer_reference"], dig(parcel.body, contract["customer_reference"])
    )
    plant(document, contract["order_id"], contract.value_of(parcel.order_id))
    plant(document, contract["reference"], contract.value_of(parcel.reference))
    plant(document, contract["order_key"], parcel.order_key)
    plant(document, contract["state"], contract.cancel_words[parcel.refund or "cancelled"])
    plant(document, contract["tracking_url"], public_page(parcel.reference, base_url))
    document["cancelled_at"] = _spaced(parcel.cancelled_at or 0)
    message = f"Cancelled by {parcel.account} during picking up"
    plant(document, contract["cancel_message"], message)
    return document


def tracking_document(
    parcel: Parcel, contract: Contract, *, now: datetime, with_ids: bool
) -> dict[str, Any]:
    """Return the tracking reply.

    Scans oldest first, with id and reference (§2.2) where ``with_ids``.
    """
    state = parcel.state(now=now.timestamp(), words=contract.cancel_words)
    document: dict[str, Any] = {
        "status": status_document(parcel),
        "origin": {"country": parcel.origin},
        "destination": {"country": parcel.destination},
    }
    _plant_schedule(document, parcel, contract)
    uproot(document, contract["is_cancellable"])
    plant(document, contract["state"], state)
    events = [event_document(parcel, scan, contract) for scan in parcel.scans]
    if not with_ids:
        for event in events:
            uproot(event, contract["event_reference"])
            uproot(event, contract["event_id"])
    plant(document, contract["events"], events)
    return document


def status_document(parcel: Parcel) -> dict[str, str]:
    """Return the parcel's status for people, with times in the mixed formats of this family."""
    if parcel.cancelled_at is not None and not parcel.is_moving:
        return {"description": "Cancelled", "last_changed_at": _spaced(parcel.cancelled_at)}
    if not parcel.scans:
        waiting = "Pickup scheduled" if parcel.is_pickup else "Waiting for drop off"
        return {"description": waiting, "last_changed_at": _spaced(parcel.created_at)[:10]}
    last = parcel.scans[-1]
    return {
        "description": last.description,
        "last_changed_at": last.scan_time.replace("T", " ").replace("Z", " UTC"),
    }


def event_document(parcel: Parcel, scan: Scan, contract: Contract) -> dict[str, Any]:
    """Return one tracking event as in section 2.2: the webhook's payload."""
    event: dict[str, Any] = {}
    plant(event, contract["event_reference"], contract.value_of(parcel.reference))
    plant(event, contract["event_id"], scan.event_id)
    plant(event, contract["event_type"], scan.event_type)
    plant(event, contract["scan_time"], scan.scan_time)
    plant(event, contract["event_description"], scan.description)
    if scan.location is not None:
        place: dict[str, Any] = {}
        for member in ("suburb", "state", "postcode", "country"):
            plant(place, contract[f"location_{member}"], scan.location.get(member))
        plant(event, contract["location"], place)
    return event


def label_entries(
    parcel: Parcel, contract: Contract, *, base_url: str, now: datetime
) -> list[dict[str, Any]] | None:
    """Return the label links, or None while the labels are being made."""
    if now.timestamp() < parcel.labels_due_at:
        return None
    entries = []
    for size in label_sizes(parcel):
        entry: dict[str, Any] = {}
        plant(entry, contract["label_format"], "pdf")
        plant(entry, contract["label_size"], contract.size_word(size))
        plant(
            entry, contract["label_url"], f"{base_url}/orders/{parcel.order_id}/labels/{size}.pdf"
        )
        entries.append(entry)
    return entries


def label_sizes(parcel: Parcel) -> tuple[str, str]:
    """Return full page (A4 from Australia, Letter from North America) and cropped (section 1)."""
    return ("a4" if parcel.origin == "AU" else "letter", "cropped")


def public_page(reference: str, base_url: str) -> str:
    return f"{base_url}/tracking-page?ref={reference}"


def _echo_request(document: dict[str, Any], parcel: Parcel, contract: Contract) -> None:
    for side in ("sender", "receiver"):
        for part in PARTY:
            path = contract[f"{side}_{part}"]
            value = dig(parcel.body, path)
            if part == "country":
                value = COUNTRIES.get(country_code(str(value)), value)
            plant(document, path, value)
    holder = contract["sender_name"].rpartition(".")[0]
    plant(
        document, f"{holder}.carrier_account_id" if holder else "carrier_account_id", parcel.account
    )
    for key in (
        "description",
        "weight",
        "weight_units",
        "length",
        "width",
        "height",
        "dimension_units",
        "packaging",
        "customer_reference",
        "order_key",
    ):
        plant(document, contract[key], dig(parcel.body, contract[key]))
    for key in ("contents_type", "contents"):
        if (value := dig(parcel.body, contract[key])) is not None:
            plant(document, contract[key], value)


def _plant_schedule(document: dict[str, Any], parcel: Parcel, contract: Contract) -> None:
    collected = parcel.first_scan_of("collected", "dropped_off")
    delivered = parcel.first_scan_of("delivered")
    dates = parcel.quote["dates"] if parcel.quote else [None, None]
    document["scheduling"] = {
        "picked_up_on": collected.scan_time[:10] if collected else None,
        "delivered_on": delivered.scan_time[:10] if delivered else None,
        "status": None,
    }
    plant(document, contract["booked_eta_from"], dates[0])
    plant(document, contract["booked_eta_to"], dates[1])
    plant(document, contract["is_cancellable"], parcel.is_cancellable)
    plant(document, contract["booked_pickup_date"], parcel.pickup_date)


def _plant_booked_price(
    document: dict[str, Any], facts: dict[str, Any], contract: Contract
) -> None:
    currency = facts["currency"]
    _plant_gross_net_tax(document, contract["booked_price"], facts, currency)
    plant(document, contract["booked_currency"], currency)
    plant(document, contract["booked_breakdown"], _breakdown(facts))
    _plant_taxes_and_cover(document, facts, contract)
    document["product"] = {
        "code": contract.code(facts["code"]),
        "name": facts["name"],
        "service": facts["service"],
        "first_mile_option": facts["first_mile"],
        "atl_only": False,
    }


def _plant_gross_net_tax(
    document: dict[str, Any], path: str, facts: dict[str, Any], currency: str
) -> None:
    """Put the price at its path. If the path is the gross amount's, add net and tax next to it."""
    for ours in ("gross", "net", "tax"):
        if ours == "gross" or ".gross." in path:
            _plant_money(document, path.replace(".gross.", f".{ours}."), facts[ours], currency)


def _plant_product(document: dict[str, Any], facts: dict[str, Any], contract: Contract) -> None:
    for key in ("code", "name", "first_mile", "service"):
        plant(
            document,
            contract[f"quoted_{key}"],
            contract.code(facts[key]) if key == "code" else facts[key],
        )


def _plant_taxes_and_cover(
    document: dict[str, Any], facts: dict[str, Any], contract: Contract
) -> None:
    currency = facts["currency"]
    taxes = {
        name: {**_money(amount, currency), "rate": float(rate)}
        for name, (amount, rate) in facts["taxes"].items()
    }
    plant(document, contract["taxes"], taxes)
    net, tax = (Decimal(amount) for amount in facts["cover"])
    path = contract["quoted_cover"]
    _plant_money(document, path, net + tax, currency)
    if ".gross." in path:
        _plant_money(document, path.replace(".gross.", ".net."), net, currency)
        _plant_money(document, path.replace(".gross.", ".tax."), tax, currency)


def _breakdown(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: _money(amount, facts["currency"]) for name, amount in facts["breakdown"].items()}


def _money(amount: Any, currency: str) -> dict[str, Any]:
    return {"amount": float(Decimal(amount)), "currency": currency}


def _plant_money(document: dict[str, Any], path: str, amount: Any, currency: str) -> None:
    plant(document, path, float(Decimal(amount)))
    holder, _, last = path.rpartition(".")
    if last == "amount" and holder:
        plant(document, f"{holder}.currency", currency)


def _cubic_metres(asked: Asked) -> Decimal:
    length, width, height = asked.size or (Decimal(), Decimal(), Decimal())
    return (length * width * height / 1_000_000).quantize(Decimal("0.001"))


def _with_milliseconds(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _spaced(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
