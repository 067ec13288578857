"""The print station's own logic: whatever happens, each label is printed once."""

import ast
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import sys
import threading
import urllib.error
from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest

from tests.stations.conftest import PROGRAM, Desk, Killed, Queue, program

STEPS = [
    "before the queue",
    "in the queue, not in the journal",
    "in the journal, on hold",
    "released, not in the journal",
    "printed, not in the journal",
    "before the report",
    "after the report",
]
Start = Callable[..., Any]


def kill_at(monkeypatch: pytest.MonkeyPatch, step: str, *, times: int = 1) -> None:
    left = [times]

    def reached(name: str) -> None:
        if name == step and left[0]:
            left[0] -= 1
            raise Killed

    monkeypatch.setattr(program, "reached", reached)


def test_each_label_is_printed_once_and_reported(start: Start, staff: Desk, queue: Queue) -> None:
    start(staff, queue).run(once=True)
    assert queue.paper == list(staff.labels.values())
    assert set(staff.ends().values()) == {("printed", "")}


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_no_label_and_prints_none_twice(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    kill_at(monkeypatch, step, times=3)
    for _ in range(3):
        with pytest.raises(Killed):
            start(staff, queue).run(once=True)
    start(staff, queue).run(once=True)
    assert queue.paper == list(staff.labels.values())
    assert set(staff.ends().values()) == {("printed", "")}
    assert program.HELD not in {job["state"] for job in queue.jobs.values()}


@pytest.mark.parametrize("step", STEPS)
def test_if_the_queue_hides_titles_the_journal_prevents_printing_twice(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A job that isn't found again stays on hold, so it never prints."""
    monkeypatch.setattr(Queue, "find", lambda *_: [])
    kill_at(monkeypatch, step, times=3)
    for _ in range(3):
        with pytest.raises(Killed):
            start(staff, queue).run(once=True)
    start(staff, queue).run(once=True)
    assert queue.paper == list(staff.labels.values())


def test_half_a_file_on_hold_never_prints(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at(monkeypatch, "in the queue, not in the journal")
    with pytest.raises(Killed):
        start(staff, queue).run(once=True)
    queue.jobs[0]["content"] = queue.jobs[0]["content"][:7]
    start(staff, queue).run(once=True)
    assert queue.paper == list(staff.labels.values())


def test_damaged_bytes_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    portal = program.Portal(program.Settings("https://portal.example", "Zebra", "portal_x"), "")
    monkeypatch.setattr(portal, "_call", lambda *_: (200, {}, b"%PDF damaged"))
    with pytest.raises(program.Away, match="damaged"):
        portal.label({"id": "1", "sha256": hashlib.sha256(b"%PDF whole").hexdigest()})
    assert portal.label({"id": "1", "sha256": hashlib.sha256(b"%PDF damaged").hexdigest()}) == b"%PDF damaged"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'"x"', b"{}", b'{"id": 5}', b'{"id": "../x", "sha256": ""}', b"\xff", b'{"id": null}']
)
def test_an_unreadable_reply_is_logged_without_a_file_name(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    portal = program.Portal(program.Settings("https://portal.example", "Zebra", "portal_x"), "")
    monkeypatch.setattr(portal, "_call", lambda *_: (200, {}, body))
    with pytest.raises(program.Away, match="can't be read"):
        portal.take()


class BrokenError:
    """The body of an error, of which a chunk is missing."""

    def read(self, *_: int) -> bytes:
        raise http.client.IncompleteRead(b"4\r\n{")

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(("status", "kind"), [(503, "Away"), (401, "Refused"), (404, "Unwanted")])
def test_an_error_whose_body_breaks_off_means_what_its_status_says(status: int, kind: str) -> None:
    error = urllib.error.HTTPError("https://portal.example", status, "", Message(), BrokenError())  # type: ignore[arg-type]
    trouble = program.trouble_of(error)
    assert (type(trouble).__name__, f"answered {status}" in str(trouble)) == (kind, True)


def test_a_second_installation_ends_with_a_message(start: Start, staff: Desk, queue: Queue) -> None:
    refused = AwayNow(staff, "take", program.Unwanted("Another installation uses this token."), 1)
    with pytest.raises(program.Trouble, match="Another installation"):
        start(refused, queue).run(once=True)


def test_a_job_left_on_hold_by_lp_after_a_kill_never_prints(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """lp is a separate process, which may end after the next station has looked at the queue."""
    kill_at(monkeypatch, "before the queue")
    with pytest.raises(Killed):
        start(staff, queue).run(once=True)
    name, content = next(iter(staff.labels.items()))
    (tmp_path / "late.pdf").write_bytes(content)
    monkeypatch.setattr(
        program, "reached", lambda step: step == "in the queue, not in the journal" and not queue.paper and late()
    )

    def late() -> None:
        queue.hold(tmp_path / "late.pdf", f"label {name}")

    start(staff, queue).run(once=True)
    assert queue.paper == list(staff.labels.values())
    assert program.HELD not in {job["state"] for job in queue.jobs.values()}


def test_a_jam_is_reported_and_later_labels_print_once(start: Start, staff: Desk, queue: Queue) -> None:
    queue.jam = "Paper jam"

    def clear(_: float) -> None:
        if staff.reports and queue.looks > 5:
            queue.jam = ""
            queue.work()

    start(staff, queue, clear).run(once=True)
    first = next(iter(staff.labels))
    assert staff.reports[first] == [("stuck", "Paper jam"), ("printed", "")]
    assert queue.paper == list(staff.labels.values())


def test_a_kill_during_a_jam_gives_the_printer_nothing_new(
    start: Start, staff: Desk, queue: Queue, labels: dict[str, bytes]
) -> None:
    queue.jam = "Paper jam"

    def killed(_: float) -> None:
        raise Killed

    for _ in range(3):
        with pytest.raises(Killed):
            start(staff, queue, killed).run(once=True)
    assert len(queue.jobs) == 1
    queue.jam = ""
    queue.work()
    start(staff, queue).run(once=True)
    assert queue.paper == list(labels.values())


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (program.CANCELED, "It was cancelled in the printer's queue."),
        (program.ABORTED, "The printer's queue gave up on it."),
        (None, program.UNCLEAR),
    ],
)
def test_labels_that_the_queue_dropped_are_never_reported_as_printed(
    start: Start, staff: Desk, queue: Queue, state: Any, words: str
) -> None:
    queue.jam = "Off"

    def drop(_: float) -> None:
        for number, job in list(queue.jobs.items()):
            job.update(state=state)
            if state is None:
                del queue.jobs[number]
        queue.jam = ""

    first = next(iter(staff.labels))
    start(staff, queue, drop).run(once=True)
    assert staff.ends()[first] == ("failed", words)
    assert staff.labels[first] not in queue.paper


def test_a_label_no_longer_wanted_is_removed_from_a_jammed_queue(start: Start, staff: Desk, queue: Queue) -> None:
    first = next(iter(staff.labels))
    queue.jam = "Paper jam"
    staff.unwanted.add(first)

    def clear(_: float) -> None:
        queue.jam = ""
        queue.work()

    start(staff, queue, clear).run(once=True)
    assert staff.ends()[first][0] == "failed"
    assert staff.labels[first] not in queue.paper


def test_a_label_that_somebody_holds_again_stays_on_hold(start: Start, staff: Desk, queue: Queue) -> None:
    """The station releases a label only once. A person who holds it in the printer's own window wins."""
    queue.jam = "Off"
    seen: list[str] = []

    def hold_again(_: float) -> None:
        seen.append("slept")
        if len(seen) == 1:
            queue.jobs[0]["state"] = program.HELD
            queue.jam = ""
        if len(seen) == 4:
            queue.jobs[0]["state"] = program.PENDING
            queue.work()

    start(staff, queue, hold_again).run(once=True)
    assert ("stuck", "It is on hold in the printer's queue.") in staff.reports[next(iter(staff.labels))]
    assert queue.paper == list(staff.labels.values())


class AwayNow:
    """Calls that fail this many times."""

    def __init__(self, inner: Any, name: str, trouble: Exception, times: int) -> None:
        self.inner, self.name, self.trouble, self.left = inner, name, trouble, times

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            if name == self.name and self.left:
                self.left -= 1
                raise self.trouble
            return getattr(self.inner, name)(*arguments)

        return call if callable(getattr(self.inner, name)) else getattr(self.inner, name)


@pytest.mark.parametrize("name", ["take", "label", "report"])
def test_an_unreachable_portal_is_tried_again_with_longer_and_longer_waits(
    start: Start, staff: Desk, queue: Queue, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    waits: list[float] = []
    away = AwayNow(staff, name, program.Away("The portal can't be reached."), 4)
    start(away, queue, waits.append).run(once=True)
    assert [wait for wait in waits if wait >= 2] == [2, 4, 8, 16]
    assert queue.paper == list(staff.labels.values())
    assert capsys.readouterr().out.count("can't be reached") == 1


def test_the_printers_own_trouble_is_reported_to_the_portal(start: Start, staff: Desk, queue: Queue) -> None:
    broken = AwayNow(queue, "hold", program.Trouble("lp: The printer does not exist."), 3)
    start(staff, broken).run(once=True)
    assert staff.reports[next(iter(staff.labels))][:3] == [("stuck", "lp: The printer does not exist.")] * 3
    assert queue.paper == list(staff.labels.values())


def test_once_ends_with_a_message_if_the_printer_service_is_away_though_no_label_waits(
    start: Start, staff: Desk, queue: Queue
) -> None:
    staff.labels = {}
    away = AwayNow(queue, "check", program.Trouble("CUPS can't be reached (ConnectionRefusedError)."), 100)
    with pytest.raises(program.Trouble, match="CUPS can't be reached"):
        start(staff, away).run(once=True)


@pytest.mark.parametrize(
    ("of", "call", "trouble"),
    [
        ("portal", "take", program.Away("The portal can't be reached.")),
        ("portal", "take", program.Refused("The portal refuses: This token is unknown.")),
        ("portal", "report", program.Away("The portal can't be reached.")),
        ("printer", "hold", program.Trouble("lp: The printer does not exist.")),
        ("printer", "look", program.Trouble("CUPS can't be reached.")),
        ("printer", "release", program.Trouble("lp: Not allowed.")),
    ],
)
def test_once_gives_up_after_five_tries_and_the_next_run_prints_each_label_once(
    start: Start, staff: Desk, queue: Queue, of: str, call: str, trouble: Exception
) -> None:
    waits: list[float] = []
    portal = AwayNow(staff, call, trouble, 100) if of == "portal" else staff
    printer = AwayNow(queue, call, trouble, 100) if of == "printer" else queue
    with pytest.raises(type(trouble), match=str(trouble)):
        start(portal, printer, waits.append).run(once=True)
    assert waits == [2, 4, 8, 16]
    assert start(staff, queue).run(once=True) == 0
    assert queue.paper == list(staff.labels.values())


def test_without_once_it_tries_for_as_long_as_it_takes(start: Start, staff: Desk, queue: Queue) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > 20:
            raise Killed

    with pytest.raises(Killed):
        start(AwayNow(staff, "take", program.Away("Away."), 100), queue, sleep).run()


def test_once_counts_the_labels_that_are_not_marked_printed(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    assert start(staff, Viewer("No such printer")).run(once=True) == 5
    for failed, status in ((1, 1), (0, 0)):
        monkeypatch.setattr(program, "start", lambda _, failed=failed: failed)
        monkeypatch.setattr(sys, "argv", ["print_station.py", "--once", "--folder", str(tmp_path)])
        assert program.main() == status


HEAD = b"\x02\x00\x00\x00\x00\x00\x00\x01"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        HEAD,
        HEAD + b"\x02\x21\x00\x06job-id",
        HEAD + b"\x02\x21\x00\x06job-id\x00\x01\x07\x03",
        HEAD + b"\x02\x44\x00\x00\x00\x04none\x03",  # another value of a name that wasn't given
        HEAD + b"\x02\x44\x00\x02\xff\xff\x00\x00\x03",
    ],
)
def test_a_broken_answer_of_the_printers_queue_is_a_sentence(body: bytes) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(program.Trouble, match="can't be read"):
            program.ipp(f"127.0.0.1:{server.server_port}", program.GET_JOB, [])


def test_a_misspelt_address_of_the_printers_queue_is_a_sentence() -> None:
    with pytest.raises(program.Trouble, match="can't be reached"):
        program.ipp("printserver:ipp", program.GET_JOB, [])


def test_a_missing_or_damaged_label_holds_up_no_other(start: Start, staff: Desk, queue: Queue) -> None:
    names = list(staff.labels)
    away = AwayNow(staff, "label", program.Away("The portal can't answer now."), program.TRIES)
    start(away, queue).run(once=True)
    assert staff.ends()[names[0]] == ("failed", "The portal can't answer now.")
    assert queue.paper == list(staff.labels.values())[1:]


class Viewer:
    """A printer that can't hold jobs: it prints what it gets or says why not."""

    can_hold = False

    def __init__(self, words: str = "") -> None:
        self.words, self.paper = words, []

    def check(self) -> str:
        return ""

    def print_now(self, path: pathlib.Path) -> None:
        if self.words:
            raise program.Trouble(self.words)
        self.paper.append(path.read_bytes())


@pytest.mark.parametrize("step", ["began", "printed, not in the journal"])
def test_without_a_queue_to_ask_a_kill_is_reported_as_unclear(
    start: Start, staff: Desk, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    viewer = Viewer()
    kill_at(monkeypatch, step)
    with pytest.raises(Killed):
        start(staff, viewer).run(once=True)
    start(staff, viewer).run(once=True)
    first = next(iter(staff.labels))
    assert staff.ends()[first] == ("failed", program.UNCLEAR)
    assert len(viewer.paper) == len(set(viewer.paper)) == (4 if step == "began" else 5)


def test_the_viewers_message_is_reported(start: Start, staff: Desk) -> None:
    start(staff, Viewer("No such printer")).run(once=True)
    assert set(staff.ends().values()) == {("failed", "No such printer")}


def test_a_viewer_that_never_ends_may_have_printed(start: Start, staff: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """This runs for real, so the time limit of a command is tested too."""
    monkeypatch.setattr(program, "TIMEOUT", 0.05)
    viewer = Viewer()
    monkeypatch.setattr(viewer, "print_now", lambda _: program.run(["sleep", "5"]))
    start(staff, viewer).run(once=True)
    words = f"sleep took longer than 0.05 seconds. {program.UNCLEAR}"
    assert set(staff.ends().values()) == {("failed", words)}


def test_a_job_number_now_used_by_somebody_else_is_unclear_and_left_alone(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue that was set up again counts from 1."""
    first = next(iter(staff.labels))
    kill_at(monkeypatch, "in the journal, on hold")
    with pytest.raises(Killed):
        start(staff, queue).run(once=True)
    queue.jobs[0] = {"title": "An invoice", "content": b"-", "state": program.HELD}
    start(staff, queue).run(once=True)
    assert staff.ends()[first] == ("failed", program.UNCLEAR)
    assert queue.jobs[0]["state"] == program.HELD
    assert staff.labels[first] not in queue.paper


def test_a_restored_portal_that_asks_again_prints_no_label_twice(
    start: Start, staff: Desk, queue: Queue, labels: dict[str, bytes]
) -> None:
    staff.labels = {f"0c1f8e04-3c2b-4f5e-9a76-{number:012d}": b"%%PDF %d" % number for number in range(200)}
    start(staff, queue).run(once=True)
    staff.reports = {}
    start(staff, queue).run(once=True)
    assert len(queue.paper) == 200
    assert set(staff.ends().values()) == {("printed", "")}


@pytest.mark.parametrize("step", STEPS)
def test_no_label_is_left_as_a_file(
    start: Start, staff: Desk, queue: Queue, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, step: str
) -> None:
    """The person's own files stay, since the person chooses the folder."""
    (tmp_path / "invoice.pdf").write_bytes(b"")
    kill_at(monkeypatch, step)
    with pytest.raises(Killed):
        start(staff, queue).run(once=True)
    (tmp_path / "print-station-left.pdf").write_bytes(b"as after kill -9, which runs no finally")
    start(staff, queue)
    assert [path.name for path in tmp_path.glob("*.pdf")] == ["invoice.pdf"]


# -- The journal, the settings, the terminal -----------------------------------------------------


def test_a_cut_off_line_of_the_journal_is_ignored_and_old_lines_are_deleted(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = program.Journal(path)
    monkeypatch.setattr(program, "KEPT", 50)
    for number in range(60):
        journal.write(f"job {number}", ended="printed", words="")
    journal.write("open", number=7)
    path.write_text(path.read_text() + '{"job": "open", "rele')
    again = program.Journal(path)
    assert again.installation == journal.installation
    assert again.of("open") == {"job": "open", "number": 7}
    assert again.of("job 0") == {}
    assert again.of("job 59")["ended"] == "printed"
    assert len(path.read_text().splitlines()) == program.KEPT + 2
    assert path.stat().st_mode & 0o077 == 0


def test_a_station_that_runs_for_months_keeps_a_bounded_journal(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "KEPT", 3)
    journal = program.Journal(tmp_path / "journal.jsonl")
    for number in range(20):
        journal.write(f"job {number}", ended="printed", words="")
    assert len(journal.jobs) <= 6
    assert len(journal.path.read_text().splitlines()) <= 7
    assert journal.of("job 19")["ended"] == "printed"


@pytest.mark.parametrize("text", ["[]", '"x"', "5", "null", "{", "\xff"])
def test_unreadable_settings_print_one_line(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(program.Trouble, match="can't be read"):
        program.read_settings(tmp_path)


@pytest.mark.parametrize(
    "address", ["http://portal.example", "ftp://portal.example", "portal.example", "file:///x", "https://", ""]
)
def test_the_token_is_sent_only_to_an_encrypted_address(address: str) -> None:
    with pytest.raises(program.Trouble, match="https"):
        program.checked_address(address)
    assert program.checked_address("https://portal.example/") == "https://portal.example"
    assert program.checked_address(" https://portal.example ") == "https://portal.example"
    with pytest.raises(program.Trouble, match="isn't an address"):
        program.checked_address("https://[")
    assert program.checked_address("http://127.0.0.1:8000") == "http://127.0.0.1:8000"


def test_settings_that_others_can_read_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"portal": "https://portal.example", "printer": "Zebra", "token": "portal_x"}))
    path.chmod(0o644)
    with pytest.raises(program.Trouble, match="chmod 600"):
        program.read_settings(tmp_path)
    path.chmod(0o600)
    found = program.read_settings(tmp_path)
    assert found == ("https://portal.example", "Zebra", "portal_x")
    assert "portal_x" not in repr(found)


def test_missing_settings_are_named_and_the_environment_wins(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(program.Trouble, match="Not set up: portal, printer, token"):
        program.read_settings(tmp_path)
    monkeypatch.setenv("PRINT_STATION_TOKEN", "portal_x")
    with pytest.raises(program.Trouble, match="Not set up: portal, printer"):
        program.read_settings(tmp_path)


def test_setup_hides_the_token_and_stores_it_only_for_this_person(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = iter(["https://portal.example/", "Zebra"])
    monkeypatch.setattr("builtins.input", lambda _: next(said))
    monkeypatch.setattr(program.getpass, "getpass", lambda _: "portal_x")
    program.set_up(tmp_path / "new")
    assert os.stat(tmp_path / "new/settings.json").st_mode & 0o777 == 0o600
    assert program.read_settings(tmp_path / "new").token == "portal_x"
    assert "portal_x" not in capsys.readouterr().out


def test_a_second_start_on_the_same_journal_is_refused(tmp_path: pathlib.Path) -> None:
    with (
        program.only_one(tmp_path),
        pytest.raises(program.Trouble, match="already running"),
        program.only_one(tmp_path),
    ):
        pass


def test_text_from_a_printer_or_the_portal_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    program.say("jam\x1b[2J\r\nok")
    assert "\x1b" not in capsys.readouterr().out
    assert program.plain_words("a\x1b[31m \n b" + "x" * 400) == "a [31m b" + "x" * 292


def test_the_station_is_one_file_for_python_39_without_dependencies() -> None:
    tree = ast.parse(PROGRAM.read_text(), feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == set()
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]
