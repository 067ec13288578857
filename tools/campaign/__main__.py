"""`./dev campaign`: real processes, seeded faults, then a comparison of the portal's rows with the carrier's ledger."""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tools.campaign.carriers import CHOICES
from tools.campaign.plan import draw
from tools.campaign.servers import Servers


def main() -> int:
    options = _options()
    plan = draw(options.seed, options.orders, CHOICES[options.carrier])
    print(f"Plan {plan.digest}, seed {plan.seed}, {plan.orders} orders, {len(plan.strikes)} strikes")
    if options.plan:
        print("\n".join(map(str, plan.strikes)), f"\nAlways: {plan.background}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="portal-campaign-"))
    how = {"seed": plan.seed, "replays": options.replays == "on", "pooled": options.pooled}
    with Servers(folder, carriers=plan.carriers, **how) as servers:
        os.environ |= servers.env
        os.environ.pop("TESTING", None)
        import django  # noqa: PLC0415  (the settings read the environment that was made just now)

        django.setup()
        from tools.campaign.run import run  # noqa: PLC0415

        report = run(servers, plan, replays=options.replays == "on")
    print("\n".join(report.lines()), flush=True)
    if report.is_green or options.forget:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"What the processes logged: {folder / 'logs'}")
    return 0 if report.is_green else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--replays", choices=("on", "off"), default="on", help="does the carrier keep idempotency keys")
    parser.add_argument("--carrier", choices=CHOICES, default="interface", help="whose sandbox, and whose class")
    parser.add_argument("--pooled", action="store_true", help="through PgBouncer, which must be installed")
    parser.add_argument("--forget", action="store_true", help="keep no logs, even of a failed run")
    parser.add_argument("--plan", action="store_true", help="print every planned strike")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
