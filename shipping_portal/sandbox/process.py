"""Run a sandbox carrier as a separate process: the shared options, and when it stops."""

import argparse
import os
import signal
import threading
from pathlib import Path
from typing import Protocol


class Running(Protocol):
    """A listening server."""

    @property
    def url(self) -> str: ...

    def stop(self) -> None:
        """Close it."""


def common_options(prog: str, description: str, port: int) -> argparse.ArgumentParser:
    """Return the options of any sandbox carrier."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=port, help="0 picks a free port")
    parser.add_argument(
        "--fd", type=int, help="the number of a socket that listens already, instead of a port"
    )
    parser.add_argument(
        "--state", type=Path, required=True, help="directory of the ledger and what it makes"
    )
    # It holds a secret, which in the environment doesn't appear in process lists.
    parser.add_argument(
        "--listener",
        default=os.environ.get("SANDBOX_LISTENER", ""),
        help="where tracking webhooks are sent",
    )
    parser.add_argument(
        "--speed", type=float, default=1.0, help="0 stands still, 1 takes two minutes per parcel"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--trouble", default="", help='for example "book:commit-close=0.1,track:500=0.05"'
    )
    parser.add_argument("--parent", type=int, help="exit when this process is gone")
    return parser


def run_until_stopped(running: Running, parent: int | None) -> None:
    """Serve until SIGTERM, SIGINT or the end of the parent process."""
    finished = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: finished.set())
    is_child = os.getppid() == parent
    print(f"sandbox ready {running.url}", flush=True)
    while not finished.wait(1.0):
        if parent and not is_alive(parent, is_ours=is_child):
            break
    running.stop()


def is_alive(pid: int, *, is_ours: bool) -> bool:
    """Return whether the parent is alive.

    A dead process that wasn't reaped still has its number.
    """
    if is_ours and os.getppid() != pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
