"""The form of a new parcel."""

from typing import Any

from orders.models import Quote


def form(quote: Quote, **changes: Any) -> dict[str, Any]:
    return {"product": "STANDARD-PICKUP", "pickup_date": "", "form_token": str(quote.uuid), **changes}
