"""Configure a sandbox EasyPost, and define what tests may change while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shipping_portal.sandbox.config import change_settings

REFUND_ENDS = ("refunded", "rejected")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Config:
    """Start-up options.

    Purchases with ``key`` are paid from the wallet; with ``test_key`` everything is free and
    separate. ``speed`` 0 keeps parcels in place; at 1 one is delivered in two minutes.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 0
    fd: int | None = None
    key: str = "EZAK-sandbox"
    test_key: str = "EZTK-sandbox"
    listener: str = ""
    webhook_secret: str = "sandbox-secret"
    wallet: str = "1000.00"
    speed: float = 0.0
    seed: int = 1
    trouble: str = ""
    clock: Callable[[], datetime] = _utc_now
    certificate: Path | None = None
    key_file: Path | None = None


@dataclass
class Settings:
    """What POST /_sandbox/settings may change.

    A requested refund ends after ``refund_days`` as ``refund_end`` says. Labels are made as
    ``label_type`` instead of the requested type, unless that is blank.
    ``requests_per_second`` 0 sets no limit.
    """

    refund_days: float = 15.0
    refund_end: str = "refunded"
    label_type: str = ""
    requests_per_second: float = 0.0
    price_change: float = 0.0
    webhook_retry_seconds: float = 2.0
    webhook_timeout_seconds: float = 10.0
    speed: float = 0.0

    def change(self, wanted: dict[str, object]) -> None:
        """Set the named settings. See `change_settings`."""
        change_settings(self, wanted, {"refund_end": REFUND_ENDS})
