"""Child processes, none of which outlives its supervisor."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tools.dev.environment import ROOT

END_CHILDREN = Path(__file__).with_name("end_children.py")
ENDS_ON = {"postgres": signal.SIGINT, "pytest": signal.SIGINT}  # the others: SIGTERM
SECONDS_TO_END = {"worker": 35.0}  # it finishes a call to the carrier; the others: 10
PORTS = 100  # how many are tried, one after another


class ChildProcesses:
    """Our child processes by name, each in its own session; leaving the block stops them, newest first.

    A separate process ends them if this one can't. `pass_fds` are files that it keeps open until then.
    """

    def __init__(self, logs: Path, *, pass_fds: Sequence[int] = ()) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.logs = logs
        self.env = dict(os.environ)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.commands: dict[str, tuple[list[str], dict[str, Any]]] = {}
        reading, self._pipe = os.pipe()
        command = [sys.executable, "-P", str(END_CHILDREN)]
        self._ending = subprocess.Popen(command, stdin=reading, start_new_session=True, pass_fds=pass_fds)
        os.close(reading)

    def __enter__(self) -> "ChildProcesses":
        # SIGINT as well: a command in the background of a script ignores it.
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for name, process in reversed(self.running.items()):
                # Only to the process: it ends its own children.
                process.send_signal(ENDS_ON.get(name.partition("-")[0], signal.SIGTERM))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(SECONDS_TO_END.get(name.partition("-")[0], 10.0))
        finally:
            # The other process ends what is left, also after a second Ctrl-C.
            os.close(self._pipe)
            self._ending.wait()

    def remove_at_end(self, folder: Path) -> None:
        """Remove a folder once every process has ended."""
        self._report(str(folder))

    def forget(self, process: "subprocess.Popen[bytes]") -> None:
        """Record that a process has ended: from now on, another process may have its number."""
        self._report(f"-{process.pid}")

    def _report(self, line: str) -> None:
        os.write(self._pipe, f"{line}\n".encode())

    def start(self, name: str, argv: Sequence[object], **options: Any) -> None:
        """Start a process that logs to <name>.log. If it is started again, it continues that log.

        It is reported before its first instruction. `options` are those of Popen.
        """
        mode = "ab" if name in self.commands else "wb"
        self.commands[name] = ([str(word) for word in argv], options)
        with (self.logs / f"{name}.log").open(mode) as log:
            usual = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": subprocess.STDOUT, "cwd": ROOT}
            usual["env"] = self.env
            self.running[name] = subprocess.Popen(
                self.commands[name][0],
                start_new_session=True,
                preexec_fn=lambda: self._report(f"+{os.getpid()}"),
                **{**usual, **options},
            )

    def run(self, name: str, argv: Sequence[object], **options: Any) -> int:
        """Run a process to its end. Return its exit code."""
        self.start(name, argv, **options)
        code = self.running[name].wait()
        self.forget(self.running.pop(name))
        return code

    def follow(self, name: str, argv: Sequence[object]) -> Iterator[str]:
        """Run a process to its end and yield each line when it is printed. Exit if it fails."""
        self.start(name, argv)
        process, seen = self.running[name], 0
        has_ended = False
        while not has_ended:
            has_ended = process.poll() is not None
            lines = self.log(name).split("\n")[:-1]
            yield from lines[seen:]
            seen = len(lines)
            time.sleep(0.05)
        if process.returncode:
            self.exit_with_log(name, "failed")
        self.forget(self.running.pop(name))

    def check_output(self, name: str, argv: Sequence[object], **options: Any) -> str:
        """Run a process to its end and return what it printed. Exit if it fails."""
        if self.run(name, argv, **options):
            self.exit_with_log(name, "failed")
        return self.log(name)

    def wait_for(self, name: str, is_ready: Callable[[], bool]) -> None:
        """Wait until a process is ready. Exit after a minute, or if any of ours stops."""
        give_up_at = time.monotonic() + 60
        while not is_ready():
            self.check_running()
            if time.monotonic() > give_up_at:
                self.exit_with_log(name, "is not ready after a minute")
            time.sleep(0.05)

    def start_at_free_port(
        self, name: str, command: Callable[[int], Sequence[object]], first: int, **options: Any
    ) -> int:
        """Start a server that can't be given a socket: at one port after another, until one is free. Return it."""
        for port in range(first, first + PORTS):
            self.commands.pop(name, None)  # each attempt has a new log
            self.start(name, command(port), **options)
            process = self.running.pop(name)
            give_up_at = time.monotonic() + 60
            while process.poll() is None and "ready to accept connections" not in self.log(name).lower():
                if time.monotonic() > give_up_at:
                    self.exit_with_log(name, "is not ready after a minute")
                time.sleep(0.02)
            if process.poll() is None:
                self.running[name] = process
                return port
            self.forget(process)
            if "address already in use" not in self.log(name).lower():
                self.exit_with_log(name, "has stopped")
        sys.exit(f"No port is free from {first} on.")

    def check_running(self) -> None:
        """Exit if any of our processes has stopped."""
        for name, process in self.running.items():
            if process.poll() is not None:
                self.exit_with_log(name, "has stopped")

    def exit_with_log(self, name: str, what: str) -> NoReturn:
        lines = [line.strip() for line in self.log(name).splitlines()]
        reason = [*filter(None, lines)][-1:] or ["its log is empty"]
        sys.exit("\n".join([*lines[-20:], "", f"The process called {name} {what}: {reason[0]}"]))

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")
