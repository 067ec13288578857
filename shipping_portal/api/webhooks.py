"""Describe the webhook events for the API's schema."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

from ninja.openapi.schema import REF_TEMPLATE
from pydantic import Field
from pydantic.json_schema import models_json_schema

from orders.models.statuses import Progress, Status
from shipping_portal.accounts.models import WebhookKind
from shipping_portal.api.schemas import Strict
from shipping_portal.billing.models import ChargeKind


class EventLabel(Strict):
    """A label file that is ready."""

    size: str
    is_worthless: bool


class ParcelEventData(Strict):
    """The parcel and what has changed. Other fields are left out."""

    id: uuid.UUID
    reference: str | None = Field(description="The carrier's, once it is booked.")
    url: str = Field(description="The parcel in the API.")
    status: Status | None = Field(None, description="With order and cancel.")
    progress: Progress | None = Field(None, description="With tracking.")
    progress_at: dt.datetime | None = None
    label: EventLabel | None = Field(None, description="With label.")


class ParcelEvent(Strict):
    """An event of a parcel, such as label.ready."""

    type: str
    timestamp: dt.datetime
    data: ParcelEventData


class ChargeEventData(Strict):
    """A line of a bill, or a credit: refunds are below zero."""

    id: int
    parcel: uuid.UUID | None
    reference: str
    url: str | None
    kind: ChargeKind
    amount: Decimal
    currency: str
    week: dt.date = Field(description="The Monday of its statement.")


class ChargeEvent(Strict):
    """A charge that now counts."""

    type: str
    timestamp: dt.datetime
    data: ChargeEventData


def add_webhooks(schema: dict[str, Any]) -> None:
    """Add the events to a schema of OpenAPI 3.1."""
    models: list[Any] = [(ParcelEvent, "serialization"), (ChargeEvent, "serialization")]
    _, found = models_json_schema(models, ref_template=REF_TEMPLATE)
    schema["components"]["schemas"] = {**found["$defs"], **schema["components"]["schemas"]}
    schema["webhooks"] = {kind.value: {"post": _operation(kind)} for kind in WebhookKind}


def _operation(kind: WebhookKind) -> dict[str, Any]:
    event = ChargeEvent if kind == WebhookKind.CHARGE else ParcelEvent
    body = {"schema": {"$ref": REF_TEMPLATE.format(model=event.__name__)}}
    return {
        "operationId": f"{kind}_event",
        "summary": str(kind.label),
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": {"2XX": {"description": "You have it."}},
    }
