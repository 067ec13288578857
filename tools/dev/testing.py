"""`./dev test` and `./dev screenshots`: the tests in legs, one after another, each with a database."""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from tools.dev.demo import start_demo
from tools.dev.demo_settings import DEMO_FOLDER, read_settings
from tools.dev.environment import PYTHON, ROOT, prepare
from tools.dev.ports import listen_on_first_free, random_port
from tools.dev.processes import ChildProcesses
from tools.dev.programs import module
from tools.dev.servers import app_role_url, start_postgres, start_valkey

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "Google Chrome")
CHROME_ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
IN_PROCESS = "not (browser or processes or campaign or sabotage)"
ON_SQLITE = f"{IN_PROCESS} and not postgres"
RACES = "postgres and not (browser or processes or campaign)"
PROCESSES = "(processes or campaign) and not browser"
SIZES = {"": " and not (full or nightly)", "--full": " and not nightly", "--nightly": ""}
# Tests of every case of something, and of the admin: `--full` runs them, `./dev test` alone does not. They are
# marked "full" by tests/conftest.py. If you change one of these, run it by its name.
LANDING_ONLY = (
    "tests/api/test_schema.py",
    "tests/billing/test_interleavings.py",
    "tests/billing/test_month.py",
    "tests/billing/test_rewritten.py",
    "tests/carrier/test_every_point.py",
    "tests/catalogue",
    "tests/demo",
    "tests/field",
    "tests/importing/test_seven_shops.py",
    "tests/orders/test_refusal_words.py",
    "tests/pages/test_refusals.py",
    "tests/protocol",
    "tests/security",
    "tests/staff",
    "tests/snapshots",
    "tests/test_canaries.py",
    "tests/test_limit_races.py",
    "tests/test_query_counts.py",
    "tests/test_simulation.py",
)
# Each has a test that takes ten seconds or more; the longest come first. One that began last would run alone, next to
# an idle core. None of them empties its database: tests that do come after the others.
LONGEST = (
    "tests/browser/test_every_page.py",
    "tests/test_campaign.py",
    "tests/processes/test_demo.py",
    "tests/processes/test_restoring.py",
    "tests/processes/test_database_away.py",
    "tests/api/test_schema.py",
    "tests/billing/test_interleavings.py",
    "tests/security/test_requirements.py",
    "tests/test_simulation.py",
)
# A landing shuffles its tests and draws random numbers the same way each time, so that a failure is due to the change.
# All other runs shuffle anew, and find what depends on chance.
SAME_ORDER = "--randomly-seed=1"


class Leg(NamedTuple):
    """Tests that run on one database. `marks` is what pytest's -m says in each of the SIZES."""

    name: str
    database: str
    marks: tuple[str, str, str]
    workers: int


# Races and constraints run on PostgreSQL; each night everything runs on both databases. One leg has the machine to
# itself: next to another leg, a test that waits for a thread or a browser would depend on what else runs. A test with
# a browser or with real processes often waits, so a third worker finds the two cores idle. A fourth gains nothing.
LEGS = (
    Leg("In process, SQLite", "sqlite", (ON_SQLITE, ON_SQLITE, IN_PROCESS), 2),
    Leg("In process, PostgreSQL", "postgres", (RACES, RACES, IN_PROCESS), 2),
    Leg("Browser", "sqlite", ("browser", "browser", "browser"), 3),
    Leg("Processes and campaigns", "postgres", ("", PROCESSES, PROCESSES), 3),
    Leg("Processes, SQLite", "sqlite", ("", "", "processes and not browser"), 2),
    Leg("Sabotages", "postgres", ("", "", "sabotage"), 2),
)


def test(words: list[str]) -> None:
    """Run the legs of a size one after another, then say what ran, how it ended and how long it took."""
    size, rest = size_of(words)
    prepare("dev")
    browser = find_chromium()
    skip = SIZES[size] + ("" if browser else " and not browser")
    skip += "" if "--timed" in words else " and not timed"
    folder = Path(tempfile.mkdtemp(prefix="portal-test-"))
    with ChildProcesses(folder) as children:
        children.remove_at_end(folder)
        children.env |= {"TEST_REDIS_URL": start_valkey(children), "CHROMIUM": browser}
        owner = start_postgres(children)
        databases = {
            "sqlite": {"DATABASE_URL": f"sqlite:///{quote(str(folder / 'tests.sqlite3'))}", "MIGRATE_DATABASE_URL": ""},
            "postgres": {"DATABASE_URL": app_role_url(owner), "MIGRATE_DATABASE_URL": owner},
        }
        children.env["TEST_TEMPLATE"] = prepare_templates(children, databases["postgres"])
        if size == "--nightly":
            children.env["API_EXAMPLES"] = "5000"  # about 100,000 calls
        if "--full" in words:
            children.env["PYTEST_ADDOPTS"] = SAME_ORDER
        lines = []
        for leg in LEGS:
            if marks := leg.marks[list(SIZES).index(size)]:
                children.env |= databases[leg.database]
                lines.append(run_leg(children, leg, f"({marks}){skip}", rest))
    print("\n" + "\n".join([f"./dev test {size}".strip(), *lines]), flush=True)
    if not browser:
        print("SKIPPED: every browser test, because this machine has no Chromium. Install one to run them.", flush=True)
    elif size == "--nightly" and not rest:
        draw_tour(["--check"])
    sys.exit(any("FAILED" in line for line in lines))


def prepare_templates(children: ChildProcesses, postgres: dict[str, str]) -> str:
    """Migrate a database of each kind, both at once. Return the name of that on PostgreSQL."""
    children.start("sqlite-template", module("tests.template kept"))
    made = children.check_output("template", module("tests.template"), env=children.env | postgres)
    process = children.running.pop("sqlite-template")
    if process.wait():
        sys.exit(f"No SQLite database was made for the tests.\n{children.log('sqlite-template')}")
    children.forget(process)
    return made.splitlines()[-1]


def size_of(words: list[str]) -> tuple[str, list[str]]:
    """Return the requested size, and the words for pytest.

    If a file is named, everything in it runs except its nightly tests.
    """
    rest = [word for word in words if word not in {*SIZES, "--timed"}]
    asked = [size for size in ("--nightly", "--full") if size in words]
    return [*asked, "--full" if names_a_file(rest) else ""][0], rest


def names_a_file(words: list[str]) -> bool:
    return any((ROOT / word.partition("::")[0]).exists() for word in words)


def files_with(marks: str) -> list[str]:
    """Return the test files in which a test can have the marks that a leg asks for: reading the others takes long.

    A mark is in a test's file, or in the conftest.py next to it.
    """
    wanted = set(re.findall(r"\w+", marks.partition("not ")[0])) - {"and", "or"}
    is_everyday = "not (full or nightly)" in marks
    if not wanted:
        ignored = ["tests/browser", *(LANDING_ONLY if is_everyday else ())]
        return ["tests", *[f"--ignore={path}" for path in ignored]]
    mark = re.compile(rf"mark\.({'|'.join(sorted(wanted))})\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [str(file.relative_to(ROOT)) for file in files if any(map(mark.search, _texts(file)))]
    return [name for name in found if not (is_everyday and name.startswith(LANDING_ONLY))]


def _texts(file: Path) -> Iterator[str]:
    yield file.read_text()
    if (conftest := file.with_name("conftest.py")).exists():
        yield conftest.read_text()


def run_leg(children: ChildProcesses, leg: Leg, marks: str, rest: list[str]) -> str:
    """Run the tests with those marks. Return the line that gives the result."""
    print(f"\n{leg.name}", flush=True)
    report, began_at = children.logs / "report.xml", time.monotonic()
    # In the order of tests/conftest.py: by the number of its tests, a long test without a group would begin last.
    order = ["--dist=loadgroup", "--no-loadscope-reorder"]
    pytest = [PYTHON, "-m", "pytest", "-n", str(leg.workers), *order, "-m", marks]
    files = [] if names_a_file(rest) else files_with(marks)
    pytest += ["--durations=10", f"--junit-xml={report}", *rest, *files]
    code = children.run("pytest", pytest, stdin=None, stdout=None, stderr=None)
    ended = outcome(code, chosen=bool(rest))
    return f"{leg.name:<24} {ended:<22} {counts(report)} in {time.monotonic() - began_at:4.0f} s"


def counts(report: Path) -> str:
    """Return how many tests ran and how many were skipped, by pytest's report of a leg."""
    found = dict(re.findall(r' (tests|skipped)="(\d+)"', report.read_text())) if report.exists() else {}
    report.unlink(missing_ok=True)
    ran = int(found.get("tests", 0)) - int(found.get("skipped", 0))
    return f"{ran:5} ran, {found.get('skipped', 0):>3} skipped"


def outcome(code: int, *, chosen: bool) -> str:
    """Return what pytest's exit code means. If no test ran (5), that is fine only if the caller chose the tests."""
    if code == 5 and chosen:
        return "none selected"
    return {0: "passed", 5: "FAILED: no test ran"}.get(code, f"FAILED (exit {code})")


def find_chromium() -> str:
    """Return the path of a Chromium, or "" if the machine has none; CI must have one."""
    names = (os.environ.get("CHROMIUM", ""), *CHROMIUMS, CHROME_ON_A_MAC)
    found = next(filter(None, map(shutil.which, names)), "")
    if not found and os.environ.get("CI") == "true":
        sys.exit("CI needs Chromium for the browser tests, and this machine has none.")
    return found


def screenshots(words: list[str]) -> None:
    """Store screenshots from the tests that open every page; `--tour` makes the pictures of docs/tour.md again."""
    if "--tour" in words:
        return draw_tour(words)
    folder = DEMO_FOLDER / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["SCREENSHOTS"] = str(folder)
    print(f"Pictures go to {folder}", flush=True)
    test(["--nightly", "tests/browser/test_every_page.py", *words])


def draw_tour(words: list[str]) -> None:
    """Start a demo in its own folder and take its pictures. With `--check`, only name those that are out of date."""
    prepare("dev")
    browser = find_chromium()
    folder = Path(tempfile.mkdtemp(prefix="portal-tour-"))
    with ChildProcesses(folder / "logs") as children:
        children.remove_at_end(folder)
        start_demo(folder, children, listen_on_first_free(random_port()))
        command = [PYTHON, "-m", "tools.tour", read_settings(folder)["SITE_URL"], browser, *words]
        print(children.check_output("tour", command).strip(), flush=True)
