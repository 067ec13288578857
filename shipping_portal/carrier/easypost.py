"""Talk to EasyPost: a shipment is free until it is bought, and can be bought only once.

`quote` and `prepare` make a shipment. `book` buys the shipment whose id is in the stored bytes, so
a second `book`, or `find`, concerns the same purchase even if a reply was lost.
"""

import hashlib
import hmac
import time
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar

from shipping_portal.carrier import easypost_replies as replies
from shipping_portal.carrier import easypost_writing, labels, writing
from shipping_portal.carrier.client import LISTS, QUICK, Carrier
from shipping_portal.carrier.easypost_points import POINTS
from shipping_portal.carrier.errors import (
    AccountStopped,
    CarrierError,
    NotSent,
    OutcomeUnknown,
    Rejected,
)
from shipping_portal.carrier.headers import checked_header
from shipping_portal.carrier.messages import (
    Booked,
    Cancelled,
    LabelFile,
    LabelLink,
    Prepared,
    Quoted,
    Shipment,
    Tracked,
)
from shipping_portal.carrier.operations import Operation
from shipping_portal.carrier.values import ORDER_ID, load_json, match_text, value_at


class EasyPost(Carrier):
    """One EasyPost account. Its key is for live or test use; both use the same address."""

    points: ClassVar[Mapping[str, Any]] = POINTS
    can_find = True
    prices_by_street = True
    replays_prepared = True
    signature_header = "X-Hmac-Signature"
    needs_customs = staticmethod(writing.needs_customs)

    def __init__(self, *, account: str, key: str, **settings: Any) -> None:
        """Authenticate with the key as user name, without a password.

        `account` is only a name here.
        """
        super().__init__(account=checked_header("The carrier key", key), key="", **settings)

    @classmethod
    def sign_webhook(cls, body: bytes, key: str) -> str:
        """Return the `X-Hmac-Signature` of a body."""
        spelled = unicodedata.normalize("NFKD", key).encode()
        return f"hmac-sha256-hex={hmac.new(spelled, body, hashlib.sha256).hexdigest()}"

    def quote(self, shipment: Shipment) -> Quoted:
        """Return the rates of a shipment made for this quote, each with a permanent code."""
        read = partial(replies.read_rates, today=datetime.now(UTC).date())
        body = easypost_writing.quote_body(shipment)
        return self._ask("quote", read, body=body, seconds=QUICK, cap=LISTS)

    def prepare(self, shipment: Shipment) -> Prepared:
        """Make the shipment and choose the agreed service's rate. It costs nothing."""
        read = partial(replies.read_prepared, shipment=shipment)
        return self._ask("prepare", read, body=easypost_writing.shipment_body(shipment), cap=LISTS)

    def book(self, body: bytes, *, key: str, not_after: float | None = None) -> Booked:
        """Buy the prepared shipment. If it was bought before, return that purchase."""
        order_id = _prepared_id(body)
        read = partial(replies.read_bought, order_id=order_id)
        try:
            return self._ask(
                "book", read, order_id=order_id, body=body, key=key, not_after=not_after
            )
        except Rejected as error:
            if error.code != replies.EXISTS:
                raise
        except NotSent as error:
            # A 429 may answer a gateway's second try, after its first one bought the shipment.
            if error.status is None:
                raise
            raise OutcomeUnknown(error.reason, error.status) from None
        except AccountStopped:
            # So may a 402: the first try emptied the wallet.
            if found := self._find_despite_stop(order_id):
                return found
            raise
        try:
            return self._ask("find", read, order_id=order_id)
        except CarrierError as error:
            # Not even NotSent may be raised here: it was bought, and must not be prepared again.
            raise OutcomeUnknown(
                f"it was bought before, and looking at it failed: {error}"
            ) from None

    def find(self, body: bytes, *, key: str) -> Booked | None:
        """Check whether the prepared shipment was bought. Checking never buys anything."""
        try:
            return self._find(_prepared_id(body))
        except Rejected:  # such as a 404, which proves nothing
            return None

    def _find(self, order_id: str) -> Booked | None:
        read = partial(replies.read_found, order_id=order_id)
        return self._ask("find", read, order_id=order_id)

    def _find_despite_stop(self, order_id: str) -> Booked | None:
        """Return the purchase, if there is one. Raises OutcomeUnknown if that can't be known."""
        try:
            return self._find(order_id)
        except AccountStopped:  # it refuses every call of this key
            return None
        except CarrierError as error:
            raise OutcomeUnknown(f"the account was refused, and looking failed: {error}") from None

    def view(self, order_id: str) -> Booked:
        """Return the shipment as it is now. A label in another format is converted to PDF."""
        read = partial(replies.read_viewed, order_id=order_id)
        viewed = self._ask("view", read, order_id=order_id)
        if viewed.labels or viewed.state:
            return viewed
        try:
            return self._ask("convert", read, order_id=order_id)
        except CarrierError:
            return viewed

    def cancel(self, order_id: str, *, not_after: float | None = None) -> Cancelled:
        """Ask for a refund. Only a completed refund is a cancellation."""
        read = partial(replies.read_refund, order_id=order_id)
        return self._ask("cancel", read, order_id=order_id, body=b"{}", not_after=not_after)

    def track(self, reference: str) -> Tracked:
        """Return the scans of the tracker that came with the purchase."""
        method, url = self._address("track", reference=reference)
        return self._page(
            method,
            url,
            partial(replies.read_trackers, reference=reference),
            time.monotonic() + self._deadline,
        )

    def label(self, link: LabelLink) -> LabelFile:
        """Fetch a label from the file host.

        It gets no credentials, and redirects aren't followed.
        """
        labels.require_safe(link.url, self._base, self.contract)
        ends_at = time.monotonic() + self._deadline
        return self._fetch("GET", link.url, labels.read_signed, ends_at, trusted=False)

    def _operation(self, name: str) -> Operation:
        if name == "convert":
            return Operation.parse("GET /v2/shipments/{id}/label?file_format=PDF")
        return super()._operation(
            {"quote": "quote_contents", "prepare": "quote_contents", "find": "view"}.get(name, name)
        )


def _prepared_id(body: bytes) -> str:
    return match_text(ORDER_ID, value_at(load_json(body, strict=False), "rate.shipment_id"))
