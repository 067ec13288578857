"""Write a ZIP to the database piece by piece, holding one entry at a time in memory and on disk."""

import hashlib
import tempfile
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from orders.labels.originals import Outgoing
from shipping_portal.exporting.models import Export, ExportPart


class Lost(Exception):
    """Raised when the lease ended and another worker has the export.

    This worker's writes must not count.
    """


@dataclass
class Lease:
    """The right to write one export's parts."""

    export: Export

    def renew(self, **changes: Any) -> None:
        """Renew the lease, and store these values with it. Raises Lost."""
        if not self.export.renew(**changes):
            raise Lost(str(self.export))

    def end(self, **changes: Any) -> None:
        """Finish the job. Raises Lost."""
        if not self.export.finish(**changes):
            raise Lost(str(self.export))


PART = 1_000_000  # bytes
IN_MEMORY = 4 * PART  # a longer entry is held in a temporary file


class Parts(Outgoing):
    """Stores finished entries as parts of an export, each under the lease."""

    def __init__(self, lease: Lease) -> None:
        super().__init__()
        self._waiting = _new_buffer()
        self._lease = lease
        self._count = 0
        self._sha256 = hashlib.sha256()

    def cut(self) -> None:
        """Store all complete parts; called between two entries."""
        if self._waiting_bytes() >= PART:
            self._store_down_to(PART)

    def close(self) -> None:
        self._waiting.close()
        super().close()

    def finish(self) -> tuple[int, str]:
        """Store the rest; return the file's length and checksum."""
        self._store_down_to(1)
        return self._sent, self._sha256.hexdigest()

    def _waiting_bytes(self) -> int:
        self._waiting.seek(0, 2)
        return self._waiting.tell()

    def _store_down_to(self, fewest: int) -> None:
        """Store parts until fewer bytes than this remain; the rest begins the next part."""
        left = self._waiting_bytes()
        self._waiting.seek(0)
        while left >= fewest:
            piece = self._waiting.read(PART)
            self._store(piece)
            left -= len(piece)
        rest = self._waiting.read()
        self._waiting.close()
        self._waiting = _new_buffer()
        self._waiting.write(rest)

    def _store(self, piece: bytes) -> None:
        # The lease and the part together, so that two workers' parts are never mixed.
        with transaction.atomic():
            self._lease.renew()
            ExportPart.objects.create(export=self._lease.export, number=self._count, content=piece)
        self._count += 1
        self._sent += len(piece)
        self._sha256.update(piece)


def _new_buffer() -> "tempfile.SpooledTemporaryFile[bytes]":
    return tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)
