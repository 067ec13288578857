"""``python -m shipping_portal.sandbox.easypost``: the carrier as a process of its own."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from shipping_portal.sandbox.__main__ import is_alive
from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent process."""
    options = _options().parse_args(arguments)
    try:
        running = start(_config(options))
    except (ValueError, OSError) as error:
        print(f"The sandbox carrier cannot start: {error}", file=sys.stderr)
        return 2
    finished = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: finished.set())
    is_child = os.getppid() == options.parent
    print(f"sandbox ready {running.url}", flush=True)
    while not finished.wait(1.0):
        if options.parent and not is_alive(options.parent, is_ours=is_child):
            break
    running.stop()
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shipping_portal.sandbox.easypost",
        description="The bundled sandbox EasyPost.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8802, help="0 picks a free port")
    parser.add_argument(
        "--fd", type=int, help="the number of a socket that listens already, instead of a port"
    )
    parser.add_argument("--state", type=Path, required=True, help="directory of the ledger")
    # These are or hold secrets; in the environment they appear in no list of processes.
    parser.add_argument("--key", default=os.environ.get("SANDBOX_KEY", Config.key))
    parser.add_argument("--test-key", default=os.environ.get("SANDBOX_TEST_KEY", Config.test_key))
    parser.add_argument(
        "--listener", default=os.environ.get("SANDBOX_LISTENER", ""), help="where events are sent"
    )
    parser.add_argument(
        "--webhook-secret", default=os.environ.get("SANDBOX_WEBHOOK_SECRET", Config.webhook_secret)
    )
    parser.add_argument("--wallet", default=Config.wallet, help="US dollars to buy from")
    parser.add_argument(
        "--speed", type=float, default=1.0, help="0 stands still, 1 takes two minutes per parcel"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--trouble", default="", help='for example "book:commit-close=0.1,track:500=0.05"'
    )
    parser.add_argument("--parent", type=int, help="exit when this process is gone")
    return parser


def _config(options: argparse.Namespace) -> Config:
    return Config(**{name: value for name, value in vars(options).items() if name != "parent"})


if __name__ == "__main__":
    sys.exit(main())
