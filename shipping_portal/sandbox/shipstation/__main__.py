"""``python -m shipping_portal.sandbox.shipstation``: run the carrier as a separate process."""

import argparse
import json
import os
import sys

from shipping_portal.sandbox.process import common_options, run_until_stopped
from shipping_portal.sandbox.shipstation.config import Config
from shipping_portal.sandbox.shipstation.server import start
from shipping_portal.sandbox.shipstation.webhooks import public_keys


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent process, or print the public keys."""
    options = _options().parse_args(arguments)
    if options.print_keys:
        print(json.dumps(public_keys(options.state)))
        return 0
    try:
        running = start(_config(options))
    except (ValueError, OSError) as error:
        print(f"The sandbox carrier cannot start: {error}", file=sys.stderr)
        return 2
    run_until_stopped(running, options.parent)
    return 0


def _options() -> argparse.ArgumentParser:
    name = "python -m shipping_portal.sandbox.shipstation"
    parser = common_options(name, "The bundled sandbox of the ShipStation API.", port=8803)
    # These hold secrets, which in the environment don't appear in process lists.
    parser.add_argument("--key", default=os.environ.get("SANDBOX_KEY", Config.key))
    parser.add_argument("--test-key", default=os.environ.get("SANDBOX_TEST_KEY", Config.test_key))
    parser.add_argument("--funds", default=Config.funds, help="what labels are bought from")
    parser.add_argument(
        "--print-keys", action="store_true", help="print the JWKS document that checks its webhooks"
    )
    return parser


def _config(options: argparse.Namespace) -> Config:
    others = ("parent", "print_keys")
    return Config(**{name: value for name, value in vars(options).items() if name not in others})


if __name__ == "__main__":
    sys.exit(main())
