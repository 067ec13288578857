"""The developer's commands. They need nothing but Python 3.11 or newer with its venv module.

./dev run [--port N]        the whole portal with a sandbox carrier; Ctrl-C stops all of it. With another carrier,
                            if CARRIER_BASE_URL and its other CARRIER_... settings are in the environment
    --carrier NAME          with another sandbox carrier, in a separate demo: easypost|shipstation|both
./dev test [...]            the tests for every change, or those that the rest of the line (for pytest) selects
    --full                  those for every landing: real processes, small campaigns, every page in a browser
    --nightly               all of them: the whole suite on PostgreSQL, every look, long campaigns, sabotages
    --timed                 timed tests too, for a quiet machine
./dev screenshots           a picture of every page in four widths and two themes, in .run/screenshots
    --tour                  the eight pictures of docs/tour.md
./dev campaign [--seed N]   real processes under seeded faults, checked against the sandbox carrier's ledger
    --carrier NAME          at another sandbox carrier: easypost|shipstation|both
./dev simulate [--seed N]   the same in one process: the seed decides everything, so a run can be repeated
./dev bench                 how much slower pages are with 200,000 rows than with none, how many webhooks a second
                            are stored and read, and what a parcel costs compared with the usual way
./dev manage ...            a Django command: in the demo, or in the installation that .env describes
    --carrier NAME ...      in the demo with that carrier
./dev bill                  the demo's sandbox carrier writes its weekly billing report; prints the file
./dev lint                  ruff, mypy, import-linter, djade
./dev lock [--upgrade]      write requirements/*.txt from pyproject.toml
"""

import os
import re
import sys
from collections.abc import Callable

from tools.dev.demo import bill, manage, run
from tools.dev.environment import VENV, prepare
from tools.dev.linting import lint, lock
from tools.dev.programs import exec_module
from tools.dev.testing import screenshots, test

# Their own modules say what these do.
PROGRAMS = {"campaign": "tools.campaign", "simulate": "tools.simulation", "bench": "tools.bench"}
COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "run": run,
    "test": test,
    "screenshots": screenshots,
    "manage": manage,
    "bill": bill,
    "lint": lint,
    "lock": lock,
}


def main(words: list[str]) -> None:
    """Run the command that the first word names; the other words are its arguments."""
    # If it were set, each of the many processes that we start would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command, *rest = words or ["--help"]
    if command not in {*COMMANDS, *PROGRAMS}:
        print((__doc__ or "").strip(), flush=True)
        sys.exit(command not in ("--help", "-h", "help"))
    if command != "run" and rest[:1] in (["--help"], ["-h"]):
        return print_help(command)
    try:
        COMMANDS[command](rest) if command in COMMANDS else run_program(command, rest)
    except KeyboardInterrupt:
        sys.exit(130)


def run_program(command: str, words: list[str]) -> None:
    """Become one of the PROGRAMS; `./dev campaign --sabotages` is a separate program."""
    prepare("dev")
    program = PROGRAMS[command]
    if command == "campaign" and "--sabotages" in words:
        program, words = "tools.campaign.sabotage", [word for word in words if word != "--sabotages"]
    exec_module(program, words)


def print_help(command: str) -> None:
    """Print the lines about one command above, and its program's own options, without installing anything."""
    found = re.search(rf"^\./dev {command}\b.*\n(?:\s.*\n)*", __doc__ or "", re.M)
    print(found[0].strip() if found else "", flush=True)
    if command in PROGRAMS and (VENV / "installed.txt").exists():
        exec_module(PROGRAMS[command], ["--help"])
    elif command in PROGRAMS:
        print(f"Its other options are listed here once ./dev {command} or ./dev test has installed what they need.")
