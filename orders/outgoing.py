"""A ZIP that is sent while it is written, one finished entry after the other."""

import io
from typing import IO


class Outgoing(io.RawIOBase):
    """What zipfile writes to: it may go back within one entry, and the finished entry is taken away to be sent.

    So each entry has its length and checksum in front, which every unpacker reads, and memory holds one label.
    """

    def __init__(self) -> None:
        self._sent = 0
        self._waiting: IO[bytes] = io.BytesIO()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._sent + self._waiting.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._sent + self._waiting.seek(offset - self._sent, whence)

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._waiting.write(data)

    def take(self) -> bytes:
        self._waiting.seek(0)
        taken = self._waiting.read()
        self._sent += len(taken)
        self._waiting = io.BytesIO()
        return taken
