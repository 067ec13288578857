"""Find an order's identifiers in a carrier's document: its id there, our key, our reference."""

from dataclasses import dataclass

from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.values import ORDER_ID, load_json, match_text, read_text, value_at


@dataclass(frozen=True)
class Names:
    """The identifiers in a document; each is "" if missing."""

    order_id: str = ""
    order_key: str = ""
    customer_reference: str = ""


def names_in(body: bytes, contract: Contract) -> Names:
    """Read the names from a reply or event, at a booking's paths; none from invalid JSON."""
    try:
        document = load_json(body, strict=False)
    except ValueError:
        return Names()
    return Names(
        order_id=match_text(ORDER_ID, value_at(document, contract.order_id)),
        order_key=read_text(value_at(document, contract.order_key), 200),
        customer_reference=read_text(value_at(document, contract.customer_reference), 255),
    )
