"""A bench without CUPS: a portal and a queue, a few lines each, which outlive a killed station."""

import hashlib
import importlib.util
import itertools
import pathlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools/print_station.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("print_station", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program: Any = load()


class Killed(BaseException):
    """An exception like kill -9: no handler in the program catches it."""


@dataclass
class Desk:
    """A portal with labels to print and the reports about each."""

    labels: dict[str, bytes]
    reports: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    unwanted: set[str] = field(default_factory=set)

    def take(self) -> tuple[dict[str, Any] | None, float]:
        for name, content in self.labels.items():
            if not any(outcome in {"printed", "failed"} for outcome, _ in self.reports.get(name, [])):
                return {"id": name, "reference": name[:6], "sha256": hashlib.sha256(content).hexdigest()}, 0
        return None, 2

    def label(self, job: dict[str, Any]) -> bytes:
        return self.labels[job["id"]]

    def report(self, job: str, outcome: str, words: str = "") -> bool:
        self.reports.setdefault(job, []).append((outcome, words))
        return job not in self.unwanted

    def ends(self) -> dict[str, tuple[str, str]]:
        return {name: reports[-1] for name, reports in self.reports.items()}


@dataclass
class Queue:
    """A printer's queue that can hold jobs. `paper` is what was printed; a jammed queue prints nothing."""

    can_hold = True
    jam: str = ""
    paper: list[bytes] = field(default_factory=list)
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    numbers: Any = field(default_factory=itertools.count)
    looks: int = 0

    def check(self) -> str:
        return self.jam

    def hold(self, path: pathlib.Path, title: str) -> int:
        number = next(self.numbers)
        self.jobs[number] = {"title": title, "content": path.read_bytes(), "state": program.HELD}
        return number

    def release(self, number: int) -> None:
        if self.jobs[number]["state"] == program.HELD:
            self.jobs[number]["state"] = program.PENDING
        self.work()

    def cancel(self, number: int) -> None:
        if self.jobs[number]["state"] != program.COMPLETED:
            self.jobs[number]["state"] = program.CANCELED

    def work(self) -> None:
        for job in self.jobs.values():
            if job["state"] == program.PENDING and not self.jam:
                self.paper.append(job["content"])
                job["state"] = program.COMPLETED

    def find(self, title: str) -> list[Any]:
        return [self.look(number, title) for number, job in self.jobs.items() if job["title"] == title]

    def look(self, number: int, title: str) -> Any:
        self.looks += 1
        job = self.jobs.get(number)
        if job and job["title"] != title:
            job = None
        return program.Queued(number, job and job["state"], self.jam)


@pytest.fixture
def labels() -> dict[str, bytes]:
    return {f"0c1f8e04-3c2b-4f5e-9a76-{number:012d}": b"%%PDF-1.4 %d %%%%EOF" % number for number in range(5)}


@pytest.fixture
def staff(labels: dict[str, bytes]) -> Desk:
    return Desk(labels)


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Callable[..., Any]:
    """Start a station with the previous one's journal."""

    def begin(staff: Any, queue: Any, sleep: Callable[[float], None] = lambda _: None) -> Any:
        journal = program.Journal(tmp_path / "journal.jsonl")
        return program.Station(staff, queue, journal, tmp_path, sleep=sleep)

    return begin
