"""./dev simulate: run the whole life of a few orders, seed after seed, while anything may go wrong."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import django

# Its database is its own, whatever the environment or an .env names: it is emptied and restored again and again.
os.environ |= {"DATABASE_URL": "sqlite:///:memory:", "MIGRATE_DATABASE_URL": ""}
import tests.environment  # noqa: F401  (before Django reads the settings)

if (
    os.environ.get("PYTHONHASHSEED") != "0"
):  # so that sets always have the same order, and a seed always gives the same history
    os.execve(
        sys.executable, [sys.executable, "-m", "tools.simulation", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
    )
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
django.setup()

from tools.simulation.dice import Dice  # noqa: E402
from tools.simulation.simulation import Portal, shortest, simulate  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev simulate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--orders", type=int, default=20, help="for each seed")
    parser.add_argument("--processes", type=int, default=1, help="between which the seeds are divided")
    parser.add_argument("--quietly", action="store_true", help="one line at the end")
    chosen = parser.parse_args()
    return divided(chosen) if chosen.processes > 1 else simulated(chosen)


def divided(chosen: argparse.Namespace) -> int:
    """Give each process its part of the seeds. Return 0 if none of them found a fault."""
    first, rest = chosen.seed, chosen.seeds
    running = []
    for left in range(chosen.processes, 0, -1):
        part = rest // left
        command = [sys.executable, "-m", "tools.simulation", f"--seed={first}", f"--seeds={part}"]
        command += [f"--orders={chosen.orders}", *["--quietly"] * chosen.quietly]
        running.append(subprocess.Popen(command))
        first, rest = first + part, rest - part
    return max([process.wait() for process in running])


def simulated(chosen: argparse.Namespace) -> int:
    began, done = time.perf_counter(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        portal = Portal(Path(folder))
        for seed in range(chosen.seed, chosen.seed + chosen.seeds):
            outcome = simulate(portal, Dice(seed), chosen.orders)
            done += outcome.done
            if not chosen.quietly or outcome.broken:
                print(f"seed {seed}: sha256 {outcome.digest}  {outcome.broken or 'every promise was kept'}", flush=True)
            if outcome.broken and chosen.quietly:
                return 1
            if outcome.broken:
                short = shortest(portal, outcome, chosen.orders)
                print(f"\nThe shortest way to it ({len(short.dice.drawn)} of {len(outcome.dice.drawn)} dice):")
                print("\n".join([*short.story, f"            {short.broken}"]))
                return 1
    seconds = time.perf_counter() - began
    counts = "".join(f", {count} {what}" for what, count in done.items())
    print(f"{chosen.seeds} seeds of {chosen.orders} orders{counts}, in {seconds:.0f} s: every promise was kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
