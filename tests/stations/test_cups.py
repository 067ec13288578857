"""The print station with its own real CUPS server: every label is printed once, byte for byte."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from orders.labels import stations
from orders.models import LabelBytes, Order, PrintJob, PrintStation
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.stations.conftest import PROGRAM, program
from tests.stations.test_station import STEPS

CUPSD = shutil.which("cupsd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
BINARIES = pathlib.Path("/usr/lib/cups")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.full,
    pytest.mark.skipif(CUPSD is None, reason="there is no cupsd: install the package cups"),
    pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="cupsd runs its backends as root's"),
]
BACKEND = """#!/bin/sh
[ $# -eq 0 ] && { echo 'direct keep "Unknown" "Keep"'; exit 0; }
printer="${DEVICE_URI#keep:/}"
cat ${6:+"$6"} > "%s/$printer-$1"
"""
FILES = """ServerRoot {0}/conf
RequestRoot {0}/spool
TempDir {0}/spool/tmp
CacheDir {0}/cache
StateDir {0}/state
ServerBin {0}/bin
ErrorLog {0}/error
AccessLog {0}/access
PageLog {0}/page
SystemGroup root
"""
SERVER = """Listen {0}/sock
Browsing No
DefaultAuthType None
<Location />
Order allow,deny
Allow all
</Location>
<Policy default>
JobPrivateAccess default
JobPrivateValues default
<Limit Create-Job Print-Job Print-URI Validate-Job>
Order deny,allow
</Limit>
<Limit Send-Document Hold-Job Release-Job Set-Job-Attributes Cancel-Job>
Require user @OWNER @SYSTEM
Order deny,allow
</Limit>
<Limit All>
Order deny,allow
</Limit>
</Policy>
"""


class Printers:
    """A CUPS server in one folder. Its printers keep everything printed as files."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.paper = folder, folder / "paper"
        for name in ("spool/tmp", "cache", "state", "conf", "bin/backend", "paper"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        for entry in BINARIES.iterdir():
            if entry.name != "backend":
                (folder / "bin" / entry.name).symlink_to(entry)
        backend = folder / "bin/backend/keep"
        backend.write_text(BACKEND % self.paper)
        backend.chmod(0o700)  # so that cupsd runs it as root
        (folder / "conf/cups-files.conf").write_text(FILES.format(folder))
        (folder / "conf/cupsd.conf").write_text(SERVER.format(folder))
        self.environment = {**os.environ, "CUPS_SERVER": f"{folder}/sock"}
        configured = ["-c", f"{folder}/conf/cupsd.conf", "-s", f"{folder}/conf/cups-files.conf"]
        self.process = subprocess.Popen(
            [str(CUPSD), "-f", *configured], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def call(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True, timeout=30)
        return done.stdout

    def add(self, name: str) -> None:
        until(lambda: (self.folder / "sock").exists())
        self.call("lpadmin", "-p", name, "-E", "-v", f"keep:/{name}", "-m", "raw")

    def came_out(self, printer: str = "") -> list[str]:
        """Return the SHA-256 of everything printed, sorted."""
        files = self.paper.glob(f"{printer}*")
        return sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def until(is_so: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def printers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Printers]:
    made = Printers(pathlib.Path(tmp_path_factory.mktemp("c")))
    made.add("Zebra")
    yield made
    made.process.terminate()
    made.process.wait(30)


# Loads the program, and kills it at a step, the first or a later time that it gets there.
KILLED = """
import importlib.util, os, signal, sys
spec = importlib.util.spec_from_file_location("print_station", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
stop, left = sys.argv[2], [int(sys.argv[3])]
def reached(step):
    if step == stop:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
program.reached = reached
sys.argv[1:] = sys.argv[4:]
sys.exit(program.main())
"""


class Bench:
    """A station on this machine, run by its own program."""

    def __init__(self, printers: Printers, station: PrintStation, folder: pathlib.Path, url: str) -> None:
        self.station, self.folder = station, folder
        own = {"PORTAL": url, "PRINTER": station.printer, "TOKEN": station.text}  # type: ignore[attr-defined]
        self.environment = printers.environment | {f"PRINT_STATION_{name}": value for name, value in own.items()}

    def start(self, *, killed_at: str = "", at_time: int = 1, options: tuple[str, ...] = ("--once",)) -> Any:
        begin = [sys.executable, "-c", KILLED, str(PROGRAM), killed_at, str(at_time)]
        return subprocess.Popen(
            [*begin, "--folder", str(self.folder), *options],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def finish(self) -> str:
        process = self.start()
        said, _ = process.communicate(timeout=400)
        assert process.returncode == 0, said
        return str(said)


@pytest.fixture
def bench(printers: Printers, alice: User, tmp_path: pathlib.Path, live_server: Any) -> Callable[..., Bench]:
    def make(name: str = "Zebra") -> Bench:
        station = factories.print_station(alice, f"Bench {name}", printer=name)
        return Bench(printers, station, tmp_path / name, live_server.url)

    return make


def labels(quill: Sender, alice: User, count: int) -> list[Order]:
    """Create this many parcels, each with a different label."""
    parcel = factories.order(quill, alice, status="booked")
    orders = [parcel, *(factories.copy_of(parcel, number) for number in range(count - 1))]
    for order in orders[1:]:
        order.save()
    for order in orders:
        factories.stored_label(order, content=b"%PDF-1.4 " + os.urandom(3000) + b" %%EOF")
    return list(Order.objects.select_related("sender").prefetch_related("labels").order_by("pk"))


def sums() -> list[str]:
    return sorted(hashlib.sha256(bytes(one.content)).hexdigest() for one in LabelBytes.objects.all())


def printed() -> int:
    return Order.objects.exclude(printed_at=None).count()


def one_press(orders: list[Order], *benches: Bench, by: User) -> None:
    for number, bench in enumerate(benches):
        mine = orders[number :: len(benches)]
        assert stations.request_prints(mine, bench.station, by=by, now=timezone.now()) == len(mine)


@pytest.mark.parametrize("count", [15, pytest.param(200, marks=pytest.mark.nightly)])
def test_one_click_prints_every_label_byte_for_byte(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User, count: int, say: Callable[[str], None]
) -> None:
    began, station = time.monotonic(), bench()
    one_press(labels(quill, alice, count), station, by=alice)
    said = station.finish()
    say(f"{count} labels through CUPS: {time.monotonic() - began:.1f} s")
    assert printers.came_out() == sums()
    assert printed() == count
    assert station.station.text not in said  # type: ignore[attr-defined]


@pytest.mark.parametrize("count", [25, pytest.param(200, marks=pytest.mark.nightly)])
def test_no_label_is_lost_or_printed_twice_if_the_station_is_killed_ten_times(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User, count: int
) -> None:
    station = bench()
    one_press(labels(quill, alice, count), station, by=alice)
    for number in range(10):
        process = station.start(killed_at=STEPS[number % len(STEPS)], at_time=1 + number % 3)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, (number, said)
    station.finish()
    assert printers.came_out() == sums()
    assert printed() == count
    assert not PrintJob.objects.exclude(state="printed").exists()
    assert printers.call("lpstat", "-o") == ""


def test_no_label_is_lost_or_printed_twice_if_the_station_is_killed_at_any_moment(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User
) -> None:
    station = bench()
    one_press(labels(quill, alice, 30), station, by=alice)
    for number in range(10):
        process = station.start()
        time.sleep(0.35 + 0.037 * number)
        process.kill()
        process.communicate()
    station.finish()
    assert printers.came_out() == sums()
    assert printed() == 30


def test_a_jam_is_reported_and_the_label_prints_once_it_is_cleared(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User
) -> None:
    station = bench()
    printers.call("cupsdisable", "-r", "Paper jam", "Zebra")
    one_press(labels(quill, alice, 3), station, by=alice)
    process = station.start()
    until(lambda: PrintJob.objects.filter(words="Paper jam").exists())
    process.kill()
    process.communicate()
    process = station.start()
    time.sleep(1)
    assert (printed(), printers.came_out()) == (0, [])
    printers.call("cupsenable", "Zebra")
    process.communicate(timeout=60)
    assert printers.came_out() == sums()
    assert printed() == 3
    assert set(PrintJob.objects.values_list("state", "words")) == {("printed", "")}


def test_two_stations_at_once_print_their_own_labels(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User
) -> None:
    printers.add("Brother")
    first, second = bench("Zebra"), bench("Brother")
    orders = labels(quill, alice, 20)
    one_press(orders, first, second, by=alice)
    assert stations.request_prints(orders, second.station, by=alice, now=timezone.now()) == 0
    running = [first.start(), second.start()]
    for process in running:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert printers.came_out() == sums()
    assert len(printers.came_out("Zebra")) == len(printers.came_out("Brother")) == 10


def test_a_job_cancelled_in_the_printers_window_is_reported_as_failed(
    printers: Printers, bench: Callable[..., Bench], quill: Sender, alice: User
) -> None:
    station = bench()
    printers.call("cupsdisable", "Zebra")
    one_press(labels(quill, alice, 1), station, by=alice)
    process = station.start()
    until(lambda: printers.call("lpstat", "-o"))
    time.sleep(1)
    printers.call("cancel", "-a", "Zebra")
    process.communicate(timeout=60)
    job = PrintJob.objects.get()
    assert job.state == "failed"
    assert job.words.startswith("It was cancelled in the printer's queue.")
    assert printed() == 0


def test_a_job_number_reused_by_somebody_else_is_not_the_labels(printers: Printers, monkeypatch: Any) -> None:
    """After being set up again, the queue counts from 1, and the journal has an old number."""
    monkeypatch.setenv("CUPS_SERVER", printers.environment["CUPS_SERVER"])
    queue = program.Cups("Zebra")
    number = queue.hold(PROGRAM, "label 1")
    assert queue.look(number, "label 1").state == program.HELD
    assert queue.look(number, "label 2").state is None


def test_a_wrong_token_a_wrong_printer_or_no_portal_prints_one_line(
    printers: Printers, bench: Callable[..., Bench]
) -> None:
    station = bench()
    for changed, words in (
        ({"TOKEN": "portal_wrong"}, "The portal refuses: This token is unknown."),
        ({"PRINTER": "Nowhere"}, "This computer knows no printer 'Nowhere'."),
        ({"PORTAL": "http://127.0.0.1:9"}, "The portal can't be reached"),
        ({"PORTAL": "http://portal.example"}, "must begin with https://"),
        ({}, "The portal takes the token."),
    ):
        before = station.environment
        station.environment = before | {f"PRINT_STATION_{name}": value for name, value in changed.items()}
        said, _ = station.start(options=("--check",)).communicate(timeout=30)
        station.environment = before
        assert words in said
        assert "Traceback" not in said
        assert "portal_" not in said
