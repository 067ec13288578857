"""Define what can go wrong with a call, by what the caller must do.

    CarrierError
    ├── Rejected         a reply said no: show its text, don't send the same thing again
    ├── NotSent          nothing left this machine, or the carrier did nothing: it is safe to send
    again │   ├── Crowded      others use up what the carrier allows in a second │   └──
    OperationOff the contract names no such operation; nothing was tried │       └── LinkOff  the
    contract has no Authorised Tracking Page links ├── AccountStopped   401, 402, 403, 412: our
    account is at fault; bookings stop, operators know └── OutcomeUnknown   everything else: it may
    have acted, so a booking is never sent again

`str` and `repr` show the status and our own words only: carrier text may hold personal data.
"""


class CarrierError(Exception):
    """Raised when a call to the carrier didn't do what was asked."""

    outcome = "failed"


class Rejected(CarrierError):
    """Raised for a rejecting reply.

    `messages` are keyed by our field names ("" for general ones); a status of 0 means that we
    rejected it.
    """

    outcome = "rejected"

    def __init__(
        self,
        status: int,
        code: str = "",
        text: str = "",
        messages: dict[str, list[str]] | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(f"{status} {code}".strip())
        self.status = status
        self.code = code
        self.text = text
        self.messages = messages or {}
        self.body = body


class NotSent(CarrierError):
    """Raised when provably nothing happened.

    `retry_after` is in seconds, if the carrier asked us to wait.

    `status` is that of the carrier's reply, or None without a reply.
    """

    outcome = "not sent"

    def __init__(
        self, reason: str, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.status = status


class AccountStopped(CarrierError):
    """Raised when the carrier refuses our account: wrong key, no payment method, or open terms."""

    outcome = "account stopped"

    def __init__(self, status: int, text: str = "", body: bytes = b"") -> None:
        super().__init__(f"account stopped ({status})")
        self.status = status
        self.text = text
        self.reason = f"{self}: {text}" if text else str(self)  # for the operator
        self.body = body


class OutcomeUnknown(CarrierError):
    """Raised when the carrier may or may not have acted.

    `answered` tells an unreadable reply from silence. `reference` was read from an otherwise
    unusable reply. `conflict` means that the reply is about a different order, or a cancelled one,
    so a person has to look. `pending` means that the carrier says it hasn't decided yet.
    """

    outcome = "unknown"

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        body: bytes = b"",
        *,
        reference: str = "",
        conflict: bool = False,
        late: bool = False,
        pending: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.answered = status is not None and not late
        self.body = body
        self.reference = reference
        self.conflict = conflict
        self.pending = pending


class Crowded(NotSent):
    """Raised when our own limiter sent nothing: other calls use up the carrier's limit."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("as much is asked of the carrier as it allows", retry_after)


class OperationOff(NotSent):
    """Raised when the contract has no such operation, so nothing was sent."""


class LinkOff(OperationOff):
    """Raised when the contract or the settings provide no Authorised Tracking Page link."""
