"""``python -m shipping_portal.sandbox``: run the carrier as a separate process."""

import argparse
import errno
import os
import sys
from pathlib import Path

from shipping_portal.sandbox.billing import write_report
from shipping_portal.sandbox.config import ERROR_SHAPES, Config
from shipping_portal.sandbox.contract import CLOSED_WORDS, Contract, ContractError
from shipping_portal.sandbox.process import common_options, run_until_stopped
from shipping_portal.sandbox.server import start


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT or the end of the parent process."""
    options = _options().parse_args(arguments)
    try:
        config = _config(options)
        running = start(config)
    except (ContractError, ValueError, OSError) as error:
        is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = f"port {options.port} is in use" if is_taken else error
        print(f"The sandbox carrier cannot start: {why}", file=sys.stderr)
        return 2
    if options.report:
        print(write_report(running.app.depot))
        running.stop()
        return 0
    run_until_stopped(running, options.parent)
    return 0


def _options() -> argparse.ArgumentParser:
    parser = common_options(
        "python -m shipping_portal.sandbox", "The bundled sandbox carrier.", port=8801
    )
    parser.add_argument("--contract", type=Path, help="a contract file (TOML)")
    parser.add_argument("--account", default="demo-account")
    # These two are secrets, which in the environment don't appear in process lists.
    parser.add_argument("--key", default=os.environ.get("SANDBOX_KEY", "demo-key"))
    parser.add_argument(
        "--replays",
        choices=("on", "off"),
        help="keep idempotency keys; default: the contract's word",
    )
    parser.add_argument("--link", choices=CLOSED_WORDS["link"], help="default: the contract's word")
    parser.add_argument(
        "--link-key",
        default=os.environ.get("SANDBOX_LINK_KEY", ""),
        help="the secret of signed tracking-page links",
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse quotes and tracking without partner_id"
    )
    parser.add_argument("--error-shape", choices=ERROR_SHAPES, default="mixed")
    parser.add_argument(
        "--size-charges",
        type=float,
        default=0.0,
        help="the share of parcels found larger than declared, 0 to 1",
    )
    parser.add_argument(
        "--driver-after",
        type=float,
        default=0.0,
        help="seconds until a parcel is picked up or dropped off, at least",
    )
    parser.add_argument(
        "--files-host",
        default="",
        help="where label files are, such as http://localhost:8100: their own host",
    )
    parser.add_argument("--certificate", type=Path, help="speak TLS with this certificate (PEM)")
    parser.add_argument(
        "--key-file", type=Path, help="the certificate's key, unless it is in the same file"
    )
    parser.add_argument(
        "--report", action="store_true", help="write the billing report, print its path, exit"
    )
    return parser


def _config(options: argparse.Namespace) -> Config:
    contract = Contract.load(options.contract)
    if options.link:
        contract = Contract({**contract, "link": options.link})
    return Config(
        state=options.state,
        host=options.host,
        port=options.port,
        fd=options.fd,
        contract=contract,
        account=options.account,
        key=options.key,
        listener=options.listener,
        speed=options.speed,
        seed=options.seed,
        replays=None if options.replays is None else options.replays == "on",
        trouble=options.trouble,
        link_key=options.link_key,
        strict=options.strict,
        error_shape=options.error_shape,
        size_charge_share=options.size_charges,
        driver_after=options.driver_after,
        files_host=options.files_host,
        certificate=options.certificate,
        key_file=options.key_file,
    )


if __name__ == "__main__":
    sys.exit(main())
