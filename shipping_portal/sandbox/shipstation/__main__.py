"""``python -m shipping_portal.sandbox.shipstation``: the carrier as a process of its own."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.server import start


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="The bundled sandbox of the ShipStation API.")
    parser.add_argument("--port", type=int, default=8803, help="0 picks a free port")
    parser.add_argument("--state", type=Path, required=True, help="directory of the ledger")
    options = parser.parse_args()
    key = os.environ.get("SANDBOX_KEY", Config.key)
    running = start(Config(state=options.state, port=options.port, key=key))
    finished = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: finished.set())
    print(f"sandbox ready {running.url}", flush=True)
    finished.wait()
    running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
