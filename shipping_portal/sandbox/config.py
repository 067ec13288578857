"""Configure a sandbox carrier, and the settings that tests may change while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shipping_portal.sandbox.contract import Contract

ERROR_SHAPES = ("mixed", "flat", "nested", "string")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Config:
    """Start-up options. ``speed`` 0 keeps parcels in place; at 1 one is delivered in two minutes.

    ``fd`` is a socket that is already listening, used instead of host and port.
    ``driver_after``: how many seconds a parcel waits for its driver, or to be dropped off.
    With ``number_ids``, order ids and all-digit references are sent as JSON numbers.
    Without ``syncs_ledger`` the ledger outlives the process, but not the machine.
    With ``certificate`` and ``key_file`` (PEM) it speaks TLS. An untrusted certificate is a fault
    of its own.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 0
    fd: int | None = None
    contract: Contract = field(default_factory=Contract)
    account: str = "demo-account"
    key: str = "demo-key"
    listener: str = ""
    speed: float = 0.0
    seed: int = 1
    replays: bool | None = None
    trouble: str = ""
    link_key: str = ""
    strict: bool = False
    error_shape: str = "mixed"
    size_charge_share: float = 0.0
    driver_after: float = 0.0
    files_host: str = ""
    number_ids: bool = False
    syncs_ledger: bool = True
    clock: Callable[[], datetime] = _utc_now
    certificate: Path | None = None
    key_file: Path | None = None


@dataclass
class Settings:
    """The settings that POST /_sandbox/settings may change while the carrier runs."""

    replays: bool
    replay_window_seconds: float = 72 * 3600.0
    labels_pending_seconds: float = 0.0
    error_shape: str = "mixed"
    strict: bool = False
    checked_countries: str = "AU,CA,US"
    polled_ids: bool = True
    scans_a_page: int = 0
    page_tokens: bool = False
    before_first_scan_not_found: bool = False
    webhook_retry_seconds: str = "2,10,30"
    webhook_timeout_seconds: float = 10.0
    file_link_seconds: float = 60.0
    files_host: str = ""
    clock_offset_seconds: float = 0.0
    enforce_rates: bool = False
    bills_cancelled: bool = False
    size_charge_share: float = 0.0
    speed: float = 0.0

    def change(self, wanted: dict[str, object]) -> None:
        """Set the named settings. See `change_settings`."""
        change_settings(self, wanted, {"error_shape": ERROR_SHAPES})


def change_settings(
    settings: Any, wanted: Mapping[str, object], choices: Mapping[str, tuple[str, ...]]
) -> None:
    """Set the named settings; `choices` are the values that one may have.

    Raises ValueError on an unknown name or a value of another kind.
    """
    for name, value in wanted.items():
        current = getattr(settings, name, None)
        if current is None:
            raise ValueError(f"{name} is not a setting.")
        if isinstance(current, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(current):
            raise ValueError(f"{name} must be a {type(current).__name__}.")
        if name in choices and value not in choices[name]:
            raise ValueError(f"{name} must be one of {', '.join(choices[name])}.")
        setattr(settings, name, value)
