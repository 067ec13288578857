"""A separate broker and database, which may be stopped or frozen without affecting other tests."""

import os
import signal
from pathlib import Path
from types import TracebackType
from typing import Self

from tools.dev.processes import ChildProcesses
from tools.dev.servers import start_postgres, start_valkey


class Servers:
    """`with Servers(folder) as servers:` stops what was started in the block. Each server has a name."""

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
        """Starts it; its address."""
        url: str = start_valkey(self.children)
        return url

    def postgres(self) -> str:
        url: str = start_postgres(self.children, durable=True)
        return url

    def freeze(self, name: str) -> None:
        """SIGSTOP: connections are taken, and nothing is ever answered."""
        os.killpg(self.children.running[name].pid, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        os.killpg(self.children.running[name].pid, signal.SIGCONT)

    def stop(self, name: str) -> None:
        """Kill it at once, as when its machine dies."""
        process = self.children.running.pop(name)
        # A database killed harder would leave its children; a broker asked to quit may save its memory first.
        process.send_signal(signal.SIGQUIT if name == "postgres" else signal.SIGKILL)
        process.wait(20)
        self.children.forget(process)

    def start(self, name: str) -> None:
        """Start it again, as it was."""
        argv, how = self.children.commands[name]
        self.children.start(name, argv, **how)
