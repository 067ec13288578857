"""Print a bench's labels without a print window: take them from the portal, and print them.

It needs Python 3.9 or newer, and nothing else. One installation has one printer. To start:

    python3 print_station.py --set-up
    python3 print_station.py

On Linux and macOS a label is given to CUPS in steps, so that no label is printed twice, whenever the
program stops. It is put into the printer's queue on hold, so it doesn't print yet. Its number in the
queue is written into the journal. Only then is it released. It counts as printed once the queue says
that it is completed. On Windows SumatraPDF prints. There, a label that was being printed when the
program stopped is reported as unclear.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

IS_WINDOWS = os.name == "nt"
TIMEOUT = 30  # seconds for one call, or for one printer command
FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0  # seconds, doubled after each failure
LONGEST_FOR_PRINTER = 16.0  # so that the pages see that the station is on
HEARTBEAT = 10.0  # seconds between reports while a label waits in the printer's queue
TRIES = 5  # to fetch a label that the portal can't serve; with --once, for any call
KEPT = 5000  # journal records of finished labels: a restored portal may send them again
MOST_WORDS = 300
MOST_BYTES = 20 * 1024 * 1024  # of a label
VARIABLES = ("PRINT_STATION_PORTAL", "PRINT_STATION_PRINTER", "PRINT_STATION_TOKEN")
FILE = "print-station-{}.pdf"  # a label, while it is handed over
UNCLEAR = "It isn't clear whether this label was printed. Look at the printer before you print again."


class Trouble(Exception):
    """Raised with a sentence for the terminal."""


class Away(Trouble):
    """Raised when the portal doesn't answer now."""


class Unfinished(Trouble):
    """Raised when a command took too long. It may have done its work."""


class Refused(Trouble):
    """Raised when the portal doesn't take the token, or stopped the account."""


class Unwanted(Trouble):
    """Raised when the portal says that this label is not to be printed, or that it's not there."""


def say(text: str) -> None:
    """Print a line, without characters that could move the cursor."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    print(time.strftime("%H:%M:%S"), plain, flush=True)


def reached(step: str) -> None:
    """Do nothing. Tests stop the program here."""


# -- Settings ------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """The portal's address, the printer, and the token, which is never printed."""

    portal: str
    printer: str
    token: str

    def __repr__(self) -> str:
        return f"Settings({self.portal}, {self.printer})"


def state_folder() -> pathlib.Path:
    """Return where settings and the journal are kept, for this person on this computer."""
    home = pathlib.Path.home()
    if IS_WINDOWS:
        return pathlib.Path(os.environ.get("LOCALAPPDATA", home)) / "print-station"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "print-station"
    return pathlib.Path(os.environ.get("XDG_STATE_HOME", home / ".local/state")) / "print-station"


def read_settings(folder: pathlib.Path) -> Settings:
    """Return the settings: from the environment, else from the file. Raises Trouble."""
    path = folder / "settings.json"
    found: dict[str, str] = {}
    if path.exists():
        if not IS_WINDOWS and path.stat().st_mode & 0o077:
            raise Trouble(f"Others can read {path}, and it holds the token. Run: chmod 600 {path}")
        try:
            pairs = json.loads(path.read_text("utf-8")).items()
            found = {name: str(value) for name, value in pairs}
        except (ValueError, AttributeError):
            raise Trouble(f"{path} can't be read. Run --set-up again.") from None
    values = {
        name: os.environ.get(variable) or found.get(name, "") for name, variable in zip(Settings._fields, VARIABLES)
    }
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise Trouble(f"Not set up: {', '.join(missing)}. Run: python3 print_station.py --set-up")
    return Settings(checked_address(values["portal"]), values["printer"], values["token"])


def checked_address(address: str) -> str:
    """Return the portal's address without a last slash. Raises Trouble unless it is encrypted."""
    try:
        parts = urllib.parse.urlsplit(address.strip())
    except ValueError:
        raise Trouble(f"This isn't an address: {address!r}.") from None
    is_here = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    is_encrypted = parts.scheme == "https" and parts.hostname
    if not is_encrypted and not (parts.scheme == "http" and is_here):
        raise Trouble(f"The portal's address must begin with https://. This one doesn't: {address!r}.")
    return address.strip().rstrip("/")


def set_up(folder: pathlib.Path) -> None:
    """Ask for the settings, and keep them in a file that only this person can read."""
    portal = checked_address(input("The portal's address, such as https://portal.example: "))
    printer = input("The printer's name, as this computer calls it: ").strip()
    token = getpass.getpass("The token (it isn't shown as you paste it): ").strip()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({"portal": portal, "printer": printer, "token": token})
    replace_file(folder / "settings.json", text)
    say("Saved. Start with: python3 print_station.py")


def replace_file(path: pathlib.Path, text: str) -> None:
    """Write a file completely or not at all, so that nobody else can read it."""
    beside = path.with_name(path.name + ".new")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


@contextlib.contextmanager
def only_one(folder: pathlib.Path) -> Iterator[None]:
    """Hold a lock, so that no second station works with the same journal. Raises Trouble."""
    with open(folder / "lock", "a+b") as file:
        try:
            if IS_WINDOWS:
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Trouble("This station is already running on this computer.") from None
        yield


# -- The journal ---------------------------------------------------------------------------------


class Journal:
    """What was done with each label, as JSON lines. Each line is on disk before the next step begins.

    A line that was cut off because the program stopped is ignored: its step had not begun.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.jobs: dict[str, dict[str, Any]] = {}
        self.installation = ""
        for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else []:
            with contextlib.suppress(ValueError, AttributeError):
                self._learn(json.loads(line))
        self.installation = self.installation or str(uuid.uuid4())
        self._shorten()

    def _learn(self, record: dict[str, Any]) -> None:
        self.installation = record.get("installation", self.installation)
        if "job" in record:
            known = self.jobs.pop(record["job"], {})
            self.jobs[record["job"]] = {**known, **record}

    def _shorten(self) -> None:
        ended = [name for name, one in self.jobs.items() if "ended" in one]
        for name in ended[:-KEPT]:
            del self.jobs[name]
        records = [{"installation": self.installation}, *self.jobs.values()]
        replace_file(self.path, "".join(json.dumps(one) + "\n" for one in records))

    def of(self, job: str) -> dict[str, Any]:
        """Return what is known about a label."""
        return self.jobs.get(job, {})

    def write(self, job: str, **facts: Any) -> None:
        """Write facts to the journal. They are on disk when this returns."""
        record = {"job": job, **facts}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._learn(record)
        if len(self.jobs) > 2 * KEPT:
            self._shorten()


# -- The portal ----------------------------------------------------------------------------------


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirects: the token would be sent along."""

    def redirect_request(self, *_: Any) -> None:
        """Return None: there is nothing to follow."""


class Portal:
    """The three calls of a station."""

    def __init__(self, settings: Settings, installation: str) -> None:
        self.settings, self.installation = settings, installation
        self.opener = urllib.request.build_opener(NoRedirects)

    def take(self) -> tuple[dict[str, Any] | None, float]:
        """Return the next label and 0, or None and how many seconds to wait."""
        who = {"installation": self.installation, "printer": self.settings.printer[:100]}
        status, headers, body = self._call("POST", "/print/take", who)
        if status == 204:
            return None, seconds_in(headers, FIRST_WAIT)
        job = read_json(body)
        try:
            job["id"] = str(uuid.UUID(job["id"]))  # it names a file
            job["sha256"] = str(job["sha256"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Away("The portal's answer can't be read.") from None
        return job, 0

    def label(self, job: dict[str, Any]) -> bytes:
        """Return the label's bytes. Raises Away unless they are what the carrier made."""
        body = self._call("GET", f"/print/jobs/{job['id']}/label")[2]
        if hashlib.sha256(body).hexdigest() != job["sha256"]:
            raise Away("The label's bytes arrived damaged, so they weren't printed.")
        return body

    def report(self, job: str, outcome: str, words: str = "") -> bool:
        """Report what happened to a label; return whether the portal still wants it printed."""
        sent = {"outcome": outcome, "words": plain_words(words)}
        body = self._call("POST", f"/print/jobs/{job}/report", sent)[2]
        return bool(read_json(body).get("is_wanted", True))

    def _call(self, method: str, path: str, sent: Any = None) -> tuple[int, Any, bytes]:
        headers = {"Authorization": f"Bearer {self.settings.token}", "User-Agent": "print-station"}
        data = None
        if sent is not None:
            data, headers["Content-Type"] = json.dumps(sent).encode(), "application/json"
        url = f"{self.settings.portal}/api/v1{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with self.opener.open(request, timeout=TIMEOUT) as answer:
                return answer.status, answer.headers, answer.read(MOST_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                raise trouble_of(error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "reason", error)
            raise Away(f"The portal can't be reached ({type(why).__name__}).") from None


def trouble_of(error: urllib.error.HTTPError) -> Trouble:
    """Return what an error of the portal means."""
    try:
        words = str(json.loads(error.read(10_000))["detail"])
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        words = f"It answered {error.code}."
    if error.code in {401, 403}:
        return Refused(f"The portal refuses: {words}")
    if 300 <= error.code < 400:
        return Refused("The portal's address redirects to another one. Run --set-up with the right one.")
    if error.code in {408, 429} or error.code >= 500 or "Retry-After" in error.headers:
        return Away(f"The portal can't answer now: {words}")
    return Unwanted(words)


def seconds_in(headers: Any, otherwise: float) -> float:
    """Return the seconds of Retry-After, within reason."""
    try:
        return min(max(float(headers["Retry-After"]), 0.2), LONGEST_WAIT)
    except (TypeError, ValueError):
        return otherwise


def read_json(body: bytes) -> dict[str, Any]:
    """Return the object in a body. Raises Away."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Away("The portal's answer can't be read.")
    return found


def plain_words(text: str) -> str:
    """Return a printer's words as one line of bounded length."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(plain.split())[:MOST_WORDS]


# -- The printer's queue: CUPS -------------------------------------------------------------------

PENDING, HELD, PROCESSING, STOPPED, CANCELED, ABORTED, COMPLETED = range(3, 10)  # RFC 8011
PRINTER_STOPPED = 5
NOT_FOUND = 0x0406
GET_JOB, GET_JOBS, GET_PRINTER = 0x0009, 0x000A, 0x000B
FACTS = ["job-id", "job-name", "job-state", "job-state-reasons", "job-printer-state-message"]
PRINTER_FACTS = ["printer-state", "printer-state-message", "printer-state-reasons"]


class Queued(NamedTuple):
    """A label in the queue, as the queue describes it. The state is None if the queue doesn't know it."""

    number: int
    state: int | None
    words: str = ""


class Cups:
    """One CUPS printer. `lp` and `cancel` act on its queue; its own protocol, IPP, gives the states.

    The output of lpstat doesn't distinguish a printed label from a cancelled one.
    """

    can_hold = True

    def __init__(self, printer: str) -> None:
        self.printer = printer
        for name in ("lp", "cancel", "lpstat"):
            if not shutil.which(name):
                raise Trouble(f"{name} isn't on this computer. Install the CUPS client.")
        self.server = run(["lpstat", "-H"]).strip()

    def check(self) -> str:
        """Return the printer's words. Raises Trouble if CUPS doesn't know it."""
        found = self._ask(GET_PRINTER, [(0x44, "requested-attributes", PRINTER_FACTS)])
        if not found:
            raise Trouble(f"This computer knows no printer {self.printer!r}. lpstat -e lists them.")
        return self._printers_words(found[0])

    def hold(self, path: pathlib.Path, title: str) -> int:
        """Put a file into the queue, on hold; return its number there."""
        words = run(["lp", "-d", self.printer, "-t", title, "-H", "hold", str(path.resolve())])
        found = re.search(r"-(\d+) \(\d+ file", words)
        if not found:
            raise Trouble(f"lp didn't say which number the label has: {plain_words(words)}")
        return int(found[1])

    def release(self, number: int) -> None:
        """Let a label print that is on hold."""
        run(["lp", "-i", f"{self.printer}-{number}", "-H", "resume"])

    def cancel(self, number: int) -> None:
        """Take a label out of the queue."""
        run(["cancel", f"{self.printer}-{number}"])

    def find(self, title: str) -> list[Queued]:
        """Return what this person has in the queue under a title, done or not."""
        found = []
        for which in ("not-completed", "completed"):
            more = [(0x44, "which-jobs", which), (0x44, "requested-attributes", FACTS)]
            found += [one for one in self._ask(GET_JOBS, more) if one.get("job-name") == title]
        return [self._queued(one) for one in found]

    def look(self, number: int, title: str) -> Queued:
        """Return the state of a label, with the printer's message while it waits.

        A number with another title belongs to another label: a queue that is set up again counts from 1.
        """
        more = [(0x21, "job-id", number), (0x44, "requested-attributes", FACTS)]
        found = self._ask(GET_JOB, more)
        if not found or found[0].get("job-name", title) != title:
            return Queued(number, None)
        queued = self._queued(found[0])
        if queued.state in {PENDING, PROCESSING, STOPPED}:
            printer = self._ask(GET_PRINTER, [(0x44, "requested-attributes", PRINTER_FACTS)])
            words = self._printers_words(printer[0]) if printer else "The printer no longer exists."
            queued = queued._replace(words=words)
        return queued

    def _queued(self, facts: dict[str, Any]) -> Queued:
        words = str(facts.get("job-printer-state-message", ""))
        reasons = facts.get("job-state-reasons", "")
        return Queued(int(facts["job-id"]), facts.get("job-state"), words or str(reasons))

    def _printers_words(self, facts: dict[str, Any]) -> str:
        """Return what is wrong with the printer, or ""."""
        reasons = str(facts.get("printer-state-reasons", "none"))
        words = str(facts.get("printer-state-message", ""))
        if facts.get("printer-state") == PRINTER_STOPPED:
            return words or f"The printer is stopped ({reasons})."
        is_fine = reasons == "none" or reasons.endswith("-report")
        return "" if is_fine else f"{words} ({reasons})".strip()

    def _ask(self, operation: int, more: list[Any]) -> list[dict[str, Any]]:
        uri = f"ipp://localhost/printers/{urllib.parse.quote(self.printer)}"
        whole = [(0x45, "printer-uri", uri), *more]
        whole.insert(1, (0x42, "requesting-user-name", getpass.getuser()))
        # The id of a job comes right after its printer.
        whole.sort(key=lambda one: one[1] not in {"printer-uri", "job-id"})
        return ipp(self.server, operation, whole)


def run(command: list[str]) -> str:
    """Run a printer command; return its output. Raises Trouble."""
    environment = {**os.environ, "LC_ALL": "C"}
    for variable in VARIABLES:
        environment.pop(variable, None)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False,
            errors="replace", stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unfinished(f"{command[0]} took longer than {TIMEOUT} seconds.") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise Trouble(f"{command[0]} didn't work ({type(error).__name__}).") from None
    if done.returncode:
        raise Trouble(f"{command[0]}: {plain_words(done.stderr) or done.returncode}")
    return done.stdout


def ipp(server: str, operation: int, attributes: list[Any]) -> list[dict[str, Any]]:
    """Ask CUPS; return the objects in its answer, or none if it doesn't know what was asked for."""
    first = [(0x47, "attributes-charset", "utf-8"), (0x48, "attributes-natural-language", "en")]
    body = struct.pack(">BBHI", 2, 0, operation, 1) + b"\x01"
    body += b"".join(written(*one) for one in first + attributes) + b"\x03"
    host = "localhost" if server.startswith("/") else server
    try:
        connection = http.client.HTTPConnection(host, timeout=TIMEOUT)
    except http.client.InvalidURL:
        raise Trouble(f"CUPS can't be reached: its server is called {server!r}.") from None
    try:
        if server.startswith("/"):
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(TIMEOUT)
            connection.sock.connect(server)
        connection.request("POST", "/", body, {"Content-Type": "application/ipp"})
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Trouble(f"CUPS can't be reached ({type(error).__name__}).") from None
    finally:
        connection.close()
    try:
        status = struct.unpack(">H", content[2:4])[0]
        if status == NOT_FOUND:
            return []
        if answer.status != 200 or status >= 0x0400:
            raise Trouble(f"CUPS refused to answer ({answer.status}, {status:#06x}).")
        return objects_in(content)
    except (struct.error, IndexError, KeyError, UnicodeError):
        raise Trouble("CUPS sent an answer that can't be read.") from None


def written(tag: int, name: str, value: Any) -> bytes:
    """Return an attribute as IPP writes it; a list is written as one value after the other."""
    encoded = b""
    for place, one in enumerate(value if isinstance(value, list) else [value]):
        raw = struct.pack(">i", one) if isinstance(one, int) else one.encode()
        key = b"" if place else name.encode()
        encoded += struct.pack(">BH", tag, len(key)) + key + struct.pack(">H", len(raw)) + raw
    return encoded


def objects_in(content: bytes) -> list[dict[str, Any]]:
    """Return the jobs or printers of an IPP answer; several values of one name are joined."""
    found: list[dict[str, Any]] = []
    current: dict[str, Any] = {}
    place, name = 8, ""
    while content[place] != 0x03:
        tag, place = content[place], place + 1
        if tag < 0x10:
            current = {}
            if tag in {0x02, 0x04}:
                found.append(current)
            continue
        key, place = sized(content, place)
        raw, place = sized(content, place)
        is_number = tag in {0x21, 0x23}
        value: Any = struct.unpack(">i", raw)[0] if is_number else raw.decode("utf-8", "replace")
        if key:
            name = key.decode()
            current[name] = value
        else:
            current[name] = f"{current[name]}, {value}"
    return found


def sized(content: bytes, place: int) -> tuple[bytes, int]:
    """Return the bytes whose length is given here, and the position after them."""
    start = place + 2
    end = start + struct.unpack(">H", content[place:start])[0]
    return content[start:end], end


# -- The printer's queue: Windows ----------------------------------------------------------------


class Sumatra:
    """A Windows printer, through SumatraPDF. Its queue can't say what happened to a label."""

    can_hold = False

    def __init__(self, printer: str) -> None:
        self.printer = printer
        places = [os.environ.get("PRINT_STATION_VIEWER", ""), shutil.which("SumatraPDF") or ""]
        folders = [os.environ.get(name, "") for name in ("LOCALAPPDATA", "PROGRAMFILES")]
        places += [os.path.join(one, "SumatraPDF", "SumatraPDF.exe") for one in folders]
        self.viewer = next((one for one in places if one and os.path.isfile(one)), "")
        if not self.viewer:
            raise Trouble("SumatraPDF isn't on this computer. Get it at sumatrapdfreader.org.")

    def check(self) -> str:
        """Return no message: SumatraPDF reports an unknown printer when it prints."""
        return ""

    def print_now(self, path: pathlib.Path) -> None:
        """Print a file, and wait until Windows has it. Raises Trouble with its message."""
        options = ["-print-settings", "noscale", "-silent", "-exit-when-done"]
        run([self.viewer, "-print-to", self.printer, *options, str(path)])


# -- The work ------------------------------------------------------------------------------------


class Station:
    """Print label after label."""

    def __init__(
        self,
        portal: Any,
        queue: Any,
        journal: Journal,
        folder: pathlib.Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.portal, self.queue, self.journal, self.folder = portal, queue, journal, folder
        self.sleep = sleep
        self.last_said = ""
        self.most_tries = sys.maxsize
        self.failed = 0
        for left in folder.glob(FILE.format("*")):  # if the program was stopped; it has an address on it
            with contextlib.suppress(OSError):
                left.unlink()

    def run(self, *, once: bool = False) -> int:
        """Print the labels that wait, then each new one; with `once`, stop when no label waits.

        Return how many weren't printed. With `once`, raises Trouble if it can't go on.
        """
        self.most_tries = TRIES if once else sys.maxsize
        while True:
            job, wait = self.patiently(self.portal.take)
            if job is not None:
                self.print_label(job)
            elif once:
                self.patiently(self.queue.check)
                return self.failed
            else:
                self.sleep(wait)

    def patiently(self, call: Callable[..., Any], *arguments: Any, about: str = "") -> Any:
        """Make a call until it is answered, with longer and longer waits.

        A problem with the printer while it handles the label `about` is reported to the portal.
        """
        wait, longest = FIRST_WAIT, LONGEST_FOR_PRINTER if about else LONGEST_WAIT
        for tries in itertools.count(1):
            try:
                answer = call(*arguments)
            except Unwanted:
                raise
            except Trouble as trouble:
                self.say_once(f"{trouble} Trying again.")
                if about:
                    with contextlib.suppress(Trouble):
                        self.portal.report(about, "stuck", str(trouble))
                if tries == self.most_tries:
                    raise
                self.sleep(wait)
                wait = min(wait * 2, longest)
            else:
                self.last_said = ""
                return answer

    def say_once(self, text: str) -> None:
        """Print it unless it was the last line printed."""
        if text != self.last_said:
            say(text)
        self.last_said = text

    def print_label(self, job: dict[str, Any]) -> None:
        """Print one label, or continue where the program stopped."""
        name, known = job["id"], self.journal.of(job["id"])
        if "ended" not in known:
            try:
                self.through_the_queue(job) if self.queue.can_hold else self.at_once(job)
            except Unwanted as why:
                self.end(name, "failed", str(why))
        known = self.journal.of(name)
        self.failed += known["ended"] != "printed"
        reached("before the report")
        try:
            self.patiently(self.portal.report, name, known["ended"], known["words"])
        except Unwanted as why:  # it is no longer this station's
            self.say_once(str(why))
            self.sleep(FIRST_WAIT)
        reached("after the report")
        words = f": {known['words']}" if known["words"] else ""
        say(f"{job.get('reference', name)} {known['ended']}{words}")

    def end(self, name: str, outcome: str, words: str = "") -> None:
        """Write the result for a label to the journal, before it is reported."""
        self.journal.write(name, ended=outcome, words=plain_words(words))

    def through_the_queue(self, job: dict[str, Any]) -> None:
        """Print through a queue that can hold a label until its number is written down."""
        name = job["id"]
        known = self.journal.of(name)
        number, was_interrupted = known.get("number"), bool(known)
        if number is None:
            number = self.patiently(self.number_of, job, about=name)
            reached("in the queue, not in the journal")
            self.journal.write(name, number=number)
        reached("in the journal, on hold")
        self.follow(name, number)
        if was_interrupted:
            self.clear_up(name, number)

    def number_of(self, job: dict[str, Any]) -> int:
        """Put a label into the queue on hold, unless an earlier run has released it.

        A label that an earlier run left on hold is cancelled: it doesn't print, and may be half a file.
        """
        title = title_of(job["id"])
        if self.journal.of(job["id"]).get("began"):
            for queued in self.queue.find(title):
                if queued.state == HELD:
                    self.queue.cancel(queued.number)
                    reached("an old one cancelled")
                elif queued.state != CANCELED:
                    return int(queued.number)
        with self.file_of(job) as path:
            self.journal.write(job["id"], began=True)
            reached("before the queue")
            return int(self.queue.hold(path, title))

    def clear_up(self, name: str, number: int) -> None:
        """Cancel labels that were left on hold by an lp that was still running after an earlier run had stopped."""
        with contextlib.suppress(Trouble):
            for queued in self.queue.find(title_of(name)):
                if queued.state == HELD and queued.number != number:
                    self.queue.cancel(queued.number)

    @contextlib.contextmanager
    def file_of(self, job: dict[str, Any]) -> Iterator[pathlib.Path]:
        """Keep the label's bytes in a file until they are handed over."""
        content = self.bytes_of(job)
        path = self.folder / FILE.format(job["id"])
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        try:
            yield path
        finally:
            path.unlink()

    def bytes_of(self, job: dict[str, Any]) -> bytes:
        """Return the label's bytes. A label that the portal can't serve doesn't hold up the others."""
        wait = FIRST_WAIT
        for _ in range(TRIES):
            try:
                return bytes(self.portal.label(job))
            except Away as trouble:
                last = trouble
                self.say_once(f"{trouble} Trying again.")
                self.sleep(wait)
                wait *= 2
        raise Unwanted(str(last))

    def follow(self, name: str, number: int) -> None:
        """Release a label, and watch it until it is printed or never will be."""
        reported, pause, heard = "", 0.05, time.monotonic()
        while True:
            queued = self.patiently(self.queue.look, number, title_of(name), about=name)
            if queued.state == HELD and not self.journal.of(name).get("released"):
                self.patiently(self.queue.release, number, about=name)
                reached("released, not in the journal")
                self.journal.write(name, released=True)
                continue
            if outcome := ending(queued):
                reached("printed, not in the journal")
                return self.end(name, *outcome)
            words = queued.words
            if queued.state == HELD:
                words = "It is on hold in the printer's queue."
            if words != reported or time.monotonic() - heard > HEARTBEAT:
                self.tell_stuck(name, number, words)
                reported, heard = words, time.monotonic()
            self.sleep(pause)
            pause = min(pause * 1.5, 2)

    def tell_stuck(self, name: str, number: int, words: str) -> None:
        """Report what holds up a label. If the portal no longer wants it, cancel it in the queue."""
        if words:
            self.say_once(f"The printer says: {words}")
        try:
            if self.portal.report(name, "stuck", words):
                return
        except Away:
            return
        except (Refused, Unwanted) as trouble:
            self.say_once(str(trouble))
        with contextlib.suppress(Trouble):  # it may just have come out
            self.queue.cancel(number)

    def at_once(self, job: dict[str, Any]) -> None:
        """Print where the queue can't hold a label: write it down first, because nobody can ask afterwards."""
        name = job["id"]
        if self.journal.of(name).get("began"):
            return self.end(name, "failed", UNCLEAR)
        with self.file_of(job) as path:
            self.journal.write(name, began=True)
            reached("began")
            try:
                self.queue.print_now(path)
            except Unfinished as trouble:
                return self.end(name, "failed", f"{trouble} {UNCLEAR}")
            except Trouble as trouble:
                return self.end(name, "failed", str(trouble))
        reached("printed, not in the journal")
        self.end(name, "printed")


def title_of(name: str) -> str:
    """Return what a label is called in the printer's queue."""
    return f"label {name}"


def ending(queued: Queued) -> tuple[str, str] | None:
    """Return the result for a label and the printer's message, or None while it may still print."""
    if queued.state == COMPLETED:
        return "printed", ""
    if queued.state == CANCELED:
        return "failed", f"It was cancelled in the printer's queue. {queued.words}"
    if queued.state == ABORTED:
        return "failed", queued.words or "The printer's queue gave up on it."
    return ("failed", UNCLEAR) if queued.state is None else None


# -- Starting ------------------------------------------------------------------------------------


def check(settings: Settings, queue: Any, portal: Portal) -> None:
    """Print what is set up, without taking a label."""
    say(f"Portal {settings.portal}")
    words = queue.check()
    say(f"Printer {settings.printer}: {words or 'ready'}")
    try:
        portal.report(str(uuid.uuid4()), "stuck")
    except Unwanted:  # it knows the token, but no such label
        say("The portal takes the token.")


def read_arguments() -> argparse.Namespace:
    """Return the command line's options. The token isn't one of them: others could see it."""
    parser = argparse.ArgumentParser(description="Print a bench's labels.")
    parser.add_argument("--set-up", action="store_true", help="ask for the portal, printer, token")
    parser.add_argument("--check", action="store_true", help="show what is set up, print no label")
    parser.add_argument("--once", action="store_true", help="stop when no label waits")
    parser.add_argument("--folder", type=pathlib.Path, default=state_folder(), help="its journal")
    return parser.parse_args()


def start(typed: argparse.Namespace) -> int:
    """Do what was asked; return how many labels weren't printed."""
    folder = typed.folder
    if typed.set_up:
        set_up(folder)
        return 0
    settings = read_settings(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    queue: Any = Sumatra(settings.printer) if IS_WINDOWS else Cups(settings.printer)
    if typed.check:
        check(settings, queue, Portal(settings, ""))
        return 0
    with only_one(folder):
        journal = Journal(folder / "journal.jsonl")
        portal = Portal(settings, journal.installation)
        say(f"Labels of {settings.portal} print on {settings.printer}. Stop with Ctrl+C.")
        return Station(portal, queue, journal, folder).run(once=typed.once)


def main() -> int:
    """Run the station; return the exit status."""
    try:
        return 1 if start(read_arguments()) else 0
    except Trouble as trouble:
        say(str(trouble))
        return 1
    except (KeyboardInterrupt, EOFError):
        say("Stopped.")
    except OSError as error:
        say(f"{error.strerror}: {error.filename}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
