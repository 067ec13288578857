"""Serve a sandbox ShipStation over HTTP, in a thread of this process."""

from shipping_portal.sandbox.server import Running, serve
from shipping_portal.sandbox.shipstation.app import ShipStation
from shipping_portal.sandbox.shipstation.config import Config


def start(config: Config) -> Running[ShipStation]:
    """Serve in a thread; port 0 picks a free one."""
    return serve(ShipStation(config), config)
