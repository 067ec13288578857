"""Store the keys of everything erased on purpose in ERASED_FILE, outside the database's backup.

There is one line per key, such as `2026-11-24T21:40:00Z order 17`. The file contains no names and
only grows. `after_restore` reads it.
"""

import datetime as dt
import os
from collections import defaultdict
from pathlib import Path

from django.conf import settings

from shipping_portal.jobs.erasing import Chosen


class NoErasedFile(Exception):
    """Raised when ERASED_FILE can't be used. The text is for the operator."""


def write_down(chosen: Chosen, *, at: dt.datetime) -> None:
    """Append these keys and sync to disk, as the last step of the transaction that erases them.

    If the transaction fails, the keys are still erased after a restore, as somebody requested.
    Raises NoErasedFile.
    """
    if not settings.ERASED_FILE:
        return
    path, when = Path(settings.ERASED_FILE), f"{at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    lines = "".join(
        f"{when} {kind} {key}\n" for kind, keys in chosen.items() for key in sorted(keys)
    )
    try:
        with path.open("ab+") as file:
            file.seek(max(file.tell() - 1, 0))
            if file.read() not in {b"", b"\n"}:
                # otherwise two lines would become one, and half a key could be somebody else's
                lines = f" (cut off)\n{lines}"
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise NoErasedFile(
            f"ERASED_FILE cannot be written: {error}. Nothing was erased."
        ) from error


def read_erased_keys() -> dict[str, set[int]]:
    """Return every key, by kind, except a line cut off by a full disk. Raises NoErasedFile."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    path = Path(settings.ERASED_FILE)
    try:
        lines = path.read_text().split("\n")[:-1] if settings.ERASED_FILE and path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise NoErasedFile(f"ERASED_FILE cannot be read: {error}.") from error
    for parts in map(str.split, lines):
        if len(parts) == 3 and parts[2].isdecimal():
            found[parts[1]].add(int(parts[2]))
    return dict(found)
