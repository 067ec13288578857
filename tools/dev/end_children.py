"""The process that ends the children of a supervisor once it has gone, however it ended, even by kill -9.

It is started as a separate file (see processes.py), so it imports only the standard library.
"""

import os
import shutil
import signal
import sys
import time


def main() -> None:
    """Read what the supervisor started until the pipe closes, then end and remove what is left of it.

    A line on standard input is `+GROUP` (a process group has started), `-GROUP` (it has ended), or the path of a
    folder to remove.
    """
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    lines = [line.strip() for line in sys.stdin]
    started = {line[1:] for line in lines if line.startswith("+")}
    groups = [int(group) for group in started if lines.count(f"+{group}") > lines.count(f"-{group}")]
    for name, seconds in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 1.0)):
        groups = [group for group in groups if send_signal(group, name)]
        give_up_at = time.monotonic() + seconds
        while groups and time.monotonic() < give_up_at:
            time.sleep(0.05)
            groups = [group for group in groups if send_signal(group, 0)]
    for line in lines:
        if line.startswith("/"):
            shutil.rmtree(line, ignore_errors=True)


def send_signal(group: int, name: int) -> bool:
    """Send a signal to a process group (0 sends none). Return whether the group exists."""
    try:
        os.killpg(group, name)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
