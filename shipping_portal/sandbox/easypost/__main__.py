"""``python -m shipping_portal.sandbox.easypost``: run the carrier as a separate process."""

import argparse
import os
import sys

from shipping_portal.sandbox.easypost.config import Config
from shipping_portal.sandbox.easypost.server import start
from shipping_portal.sandbox.process import common_options, run_until_stopped


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent process."""
    options = _options().parse_args(arguments)
    try:
        running = start(_config(options))
    except (ValueError, OSError) as error:
        print(f"The sandbox carrier cannot start: {error}", file=sys.stderr)
        return 2
    run_until_stopped(running, options.parent)
    return 0


def _options() -> argparse.ArgumentParser:
    parser = common_options(
        "python -m shipping_portal.sandbox.easypost", "The bundled sandbox EasyPost.", port=8802
    )
    # These hold secrets, which in the environment don't appear in process lists.
    parser.add_argument("--key", default=os.environ.get("SANDBOX_KEY", Config.key))
    parser.add_argument("--test-key", default=os.environ.get("SANDBOX_TEST_KEY", Config.test_key))
    parser.add_argument(
        "--webhook-secret", default=os.environ.get("SANDBOX_WEBHOOK_SECRET", Config.webhook_secret)
    )
    parser.add_argument("--wallet", default=Config.wallet, help="US dollars to buy from")
    return parser


def _config(options: argparse.Namespace) -> Config:
    return Config(**{name: value for name, value in vars(options).items() if name != "parent"})


if __name__ == "__main__":
    sys.exit(main())
