"""A separate broker and database that can be stopped or frozen without affecting other tests."""

import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.dev.processes import ChildProcesses
from tools.dev.servers import start_postgres, start_valkey


class Servers:
    """`with Servers(folder) as servers:` stops everything started in the block. Each server has a name."""

    def __init__(self, folder: Path) -> None:
        self.children = ChildProcesses(folder / "servers")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self.children.running:
            self.thaw(name)
        self.children.__exit__()

    def valkey(self) -> str:
        """Start a Valkey server. Return its address."""
        url: str = start_valkey(self.children)
        return url

    def postgres(self) -> str:
        url: str = start_postgres(self.children, durable=True)
        return url

    def freeze(self, name: str) -> None:
        """Send SIGSTOP: connections are accepted but never get a reply."""
        os.killpg(self.children.running[name].pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        os.killpg(self.children.running[name].pid, signal.SIGCONT)

    def stop(self, name: str) -> None:
        """Kill a server at once, as if its machine had died."""
        process = self.children.running.pop(name)
        # A database killed harder would leave its children; a broker asked to quit may save its memory first.
        process.send_signal(signal.SIGQUIT if name == "postgres" else signal.SIGKILL)
        process.wait(20)
        self.children.forget(process)

    def start(self, name: str) -> None:
        """Start a server again as it was."""
        argv, how = self.children.commands[name]
        self.children.start(name, argv, **how)
