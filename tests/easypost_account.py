"""Let the account that takes new orders be at a sandbox EasyPost."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start


@contextmanager
def at_easypost(settings: Any, folder: Path, *, account: str = "easypost-test") -> Iterator[str]:
    """Run the sandbox while the block runs. Its address is the value."""
    running = start(Config(state=folder / "easypost"))
    settings.CARRIER_CLIENT = "shipping_portal.carrier.easypost.EasyPost"
    settings.CARRIER_BASE_URL, settings.CARRIER_ACCOUNT = running.url, account
    settings.CARRIER_KEY, settings.CARRIER_CONTRACT = Config.key, ""
    yield running.url
    running.stop()
