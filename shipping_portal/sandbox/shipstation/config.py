"""Configure a sandbox ShipStation, and define what tests may change while it runs."""

from dataclasses import dataclass
from pathlib import Path

from shipping_portal.sandbox.config import change_settings

LABEL_STATUSES = ("processing", "completed", "error")


@dataclass
class Config:
    """Start-up options.

    Labels bought with ``key`` are paid from the funds; those bought with ``test_key`` aren't.
    ``speed`` 0 keeps parcels in place; at 1 one is delivered in two minutes.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 0
    fd: int | None = None
    key: str = "live-sandbox"
    test_key: str = "TEST_sandbox"
    listener: str = ""
    funds: str = "1000.00"
    speed: float = 0.0
    seed: int = 1
    trouble: str = ""
    certificate: Path | None = None
    key_file: Path | None = None


@dataclass
class Settings:
    """What POST /_sandbox/settings may change. ``requests_per_second`` 0 sets no limit."""

    price_change: float = 0.0
    label_status: str = "completed"
    requests_per_second: float = 0.0
    webhook_retry_seconds: float = 2.0
    webhook_timeout_seconds: float = 10.0
    speed: float = 0.0

    def change(self, wanted: dict[str, object]) -> None:
        """Set the named settings. See `change_settings`."""
        change_settings(self, wanted, {"label_status": LABEL_STATUSES})
