"""Serve a sandbox EasyPost over HTTP, in a thread of this process."""

from shipping_portal.sandbox.easypost.app import EasyPost
from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.server import Running, serve


def start(config: Config) -> Running[EasyPost]:
    """Serve in a thread; port 0 picks a free one."""
    return serve(EasyPost(config), config)
