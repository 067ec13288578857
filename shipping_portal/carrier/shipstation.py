"""Talk to the ShipStation API, formerly ShipEngine: one API for many carriers' accounts.

It isn't documented whether buying a rate twice makes a second label. So a purchase is
sent once, and its outcome is looked up under the external id in its stored bytes.
"""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar

from shipping_portal.carrier import shipstation_histories as histories
from shipping_portal.carrier import shipstation_replies as replies
from shipping_portal.carrier import shipstation_writing, writing
from shipping_portal.carrier.client import LISTS, QUICK, Carrier
from shipping_portal.carrier.messages import Booked, Cancelled, Prepared, Quoted, Shipment, Tracked
from shipping_portal.carrier.operations import Operation
from shipping_portal.carrier.shipstation_points import OPERATIONS, POINTS
from shipping_portal.carrier.shipstation_webhooks import SIGNATURE, is_signed_by
from shipping_portal.carrier.values import ORDER_ID, load_json, match_text, value_at

CARRIER_IDS = re.compile(r"se(?:-[a-z0-9]+)+")


class ShipStation(Carrier):
    """One account. A key that begins with TEST_ is for test mode, in which labels are worthless."""

    points: ClassVar[Mapping[str, Any]] = POINTS
    can_find = True
    prices_by_street = True
    replays_prepared = False
    signature_header = SIGNATURE
    needs_customs = staticmethod(writing.needs_customs)

    def __init__(self, *, account: str, key: str, partner_id: str, **settings: Any) -> None:
        """Store the carriers to ask for prices: `partner_id` lists their ids."""
        super().__init__(account=account, key=key, partner_id="", **settings)
        self._carrier_ids = CARRIER_IDS.findall(partner_id)
        self._is_test = key.startswith("TEST_")
        if not self._carrier_ids:
            raise ValueError("The partner id lists no carrier, such as se-123456.")

    @classmethod
    def has_valid_signature(
        cls, body: bytes, headers: Mapping[str, str], key: str, *, now: datetime
    ) -> bool:
        """Return whether ShipStation signed the body.

        The key is a JWKS document of its public keys.
        """
        return is_signed_by(body, headers, key, now=now)

    def quote(self, shipment: Shipment) -> Quoted:
        """Return estimates. These need no names and create no shipment."""
        read = partial(replies.read_estimates, today=datetime.now(UTC).date())
        body = shipstation_writing.estimate_body(shipment, self._carrier_ids, datetime.now(UTC))
        return self._ask("quote", read, body=body, seconds=QUICK, cap=LISTS)

    def prepare(self, shipment: Shipment) -> Prepared:
        """Make a shipment under its own external id, and choose the agreed service's rate."""
        external_id = shipstation_writing.new_external_id(shipment)
        body = shipstation_writing.rates_body(shipment, self._carrier_ids, external_id)
        read = partial(replies.read_prepared, code=shipment.product_code, external_id=external_id)
        return self._ask("prepare", read, body=body, cap=LISTS)

    def book(self, body: bytes, *, key: str, not_after: float | None = None) -> Booked:
        """Buy the label of the prepared rate, once."""
        read = partial(
            replies.read_bought,
            external_id=_stored_name(body, "custom_field1"),
            is_test=self._is_test,
        )
        rate_id = _stored_name(body, "custom_field2")
        return self._ask("book", read, order_id=rate_id, body=body, key=key, not_after=not_after)

    def find(self, body: bytes, *, key: str) -> Booked | None:
        """Look for the label of the prepared shipment."""
        external_id = _stored_name(body, "custom_field1")
        read = partial(replies.read_found, external_id=external_id, is_test=self._is_test)
        return self._ask("find", read, order_id=external_id)

    def view(self, order_id: str) -> Booked:
        """Return the label as it is now, voided or not."""
        read = partial(replies.read_viewed, order_id=order_id, is_test=self._is_test)
        return self._ask("view", read, order_id=order_id)

    def cancel(self, order_id: str, *, not_after: float | None = None) -> Cancelled:
        """Ask to void the label. Only an approved request counts as a cancellation."""
        return self._ask(
            "cancel", replies.read_void, order_id=order_id, body=b"{}", not_after=not_after
        )

    def track(self, reference: str) -> Tracked:
        """Return the scans of our newest label with this number; none if there is no label."""
        ends_at = time.monotonic() + self._deadline
        read = partial(histories.read_newest_label, reference=reference)
        label_id = self._ask("track", read, reference=reference, cap=LISTS)
        if not label_id:
            return Tracked("", (), (), None, b"")
        method, url = self._address("history", order_id=label_id)
        return self._page(
            method, url, partial(histories.read_history, reference=reference), ends_at
        )

    def _operation(self, name: str) -> Operation:
        line = OPERATIONS.get(name)
        return Operation.parse(line) if line else super()._operation(name)


def _stored_name(body: bytes, member: str) -> str:
    return match_text(ORDER_ID, value_at(load_json(body, strict=False), member))
