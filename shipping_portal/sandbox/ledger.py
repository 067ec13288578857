"""Record every effect in an append-only file, as a JSON line that is on disk before any reply."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Ledger:
    """A file of JSON lines. ``write`` returns only after the line is on the disk.

    Without ``is_synced`` a line outlives its process, but not the machine.
    """

    def __init__(self, path: Path, *, is_synced: bool = True) -> None:
        self.path, self._is_synced = path, is_synced
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._drop_torn_line()
        self._file = path.open("ab")

    def write(self, line: dict[str, Any]) -> None:
        """Append one effect durably."""
        raw = json.dumps(line, ensure_ascii=False, default=str).encode() + b"\n"
        with self._lock:
            self._file.write(raw)
            self._file.flush()
            if self._is_synced:
                os.fsync(self._file.fileno())

    def lines(self) -> Iterator[dict[str, Any]]:
        """Return every effect so far, oldest first."""
        with self.path.open("rb") as file:
            for raw in file:
                if raw.endswith(b"\n"):
                    yield json.loads(raw)

    def close(self) -> None:
        self._file.close()

    def _drop_torn_line(self) -> None:
        """Remove the partial line of a process killed while writing: nobody has seen its effect."""
        if not self.path.exists():
            return
        raw = self.path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            os.truncate(self.path, whole)
