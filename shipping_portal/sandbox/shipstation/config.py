"""Configure a sandbox ShipStation, and what tests may change while it runs."""

from dataclasses import dataclass
from pathlib import Path


@dataclass
class Config:
    """Start-up options. Labels of ``key`` are paid from the funds; those of ``test_key`` aren't."""

    state: Path
    host: str = "127.0.0.1"
    port: int = 0
    fd: int | None = None
    key: str = "live-sandbox"
    test_key: str = "TEST_sandbox"
    funds: str = "1000.00"
    seed: int = 1
    trouble: str = ""
    certificate: Path | None = None
    key_file: Path | None = None


@dataclass
class Settings:
    """What POST /_sandbox/settings may change. ``requests_per_second`` 0 sets no limit."""

    price_change: float = 0.0
    label_status: str = "completed"
    requests_per_second: int = 0
