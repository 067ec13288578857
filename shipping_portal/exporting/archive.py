"""Pack the ZIP: files with checksums, spreadsheet-safe sheets, and a list of what is missing."""

import csv
import datetime as dt
import hashlib
import io
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from io import BufferedRandom
from typing import Self

from django.utils import timezone

from orders.labels.originals import FOLDERS, Contents, serve_label
from orders.models import Label, Order
from shipping_portal import sheets
from shipping_portal.exporting.parts import Parts


class SheetWriter:
    """A CSV for an archive, written row by row to a temporary file."""

    def __init__(self, file: BufferedRandom, heads: Sequence[str]) -> None:
        self._file = file
        self.text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self.text.write(sheets.BYTE_ORDER_MARK)
        self._writer = csv.writer(self.text, quoting=csv.QUOTE_ALL)
        self.add(heads)

    def add(self, row: Iterable[object]) -> None:
        self._writer.writerow(map(sheets.safe_cell, row))

    def add_all(self, rows: Iterable[Iterable[object]]) -> None:
        for row in rows:
            self.add(row)

    def end(self) -> BufferedRandom:
        """Return the whole sheet, ready to be read."""
        self.text.flush()
        self._file.seek(0)
        return self._file


class Archive:
    """A ZIP written to an export's parts, entry by entry.

    If the block is left early, no file stays behind.
    """

    def __init__(self, parts: Parts, at: dt.datetime) -> None:
        """Start an archive. `at` is the time of every file in it, in the sender's zone."""
        self._parts, self._moment = parts, at.timetuple()[:6]
        self.labels = Contents()

    def __enter__(self) -> Self:
        with ExitStack() as files:
            self._zip = files.enter_context(zipfile.ZipFile(self._parts, "w"))
            self._checksums = files.enter_context(tempfile.TemporaryFile())
            self._files = files.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def sheet(self, heads: Sequence[str]) -> SheetWriter:
        """Return a CSV to fill and then add."""
        file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the archive)
        sheet = SheetWriter(self._files.enter_context(file), heads)
        self._files.enter_context(sheet.text)
        return sheet

    def add(self, path: str, content: bytes, *, is_packed: bool = True) -> None:
        """Add a whole file."""
        self._zip.writestr(self._entry(path, is_packed=is_packed), content)
        self._add_checksum(path, hashlib.sha256(content).hexdigest())

    def add_text(self, path: str, text: str) -> None:
        self.add(path, text.encode())

    def add_sheet(self, path: str, sheet: SheetWriter) -> None:
        sha256 = hashlib.file_digest(sheet.end(), "sha256").hexdigest()
        self._copy(path, sheet.end())
        self._add_checksum(path, sha256)

    def add_label(self, label: Label, order: Order, name: str) -> bool:
        """Add the carrier's own file, byte for byte.

        Returns False, and records it in the archive, if the file is missing or damaged.
        """
        content = serve_label(label, order, self.labels, at=timezone.now())
        if content is not None:
            self.add(f"labels/{FOLDERS[label.size]}/{name}", content, is_packed=False)
        return content is not None

    def finish(self) -> None:
        """Add the list of missing files, and the checksums of all others."""
        if self.labels.missing:
            self.add_text("NOT-INCLUDED.txt", "".join(f"{line}\n" for line in self.labels.missing))
        self._checksums.seek(0)
        self._copy("CHECKSUMS.txt", self._checksums)

    def _copy(self, path: str, content: BufferedRandom) -> None:
        with self._zip.open(self._entry(path), "w", force_zip64=True) as entry:
            shutil.copyfileobj(content, entry)

    def _add_checksum(self, path: str, sha256: str) -> None:
        self._checksums.write(f"{sha256}  {path}\n".encode())
        self._parts.cut()

    def _entry(self, path: str, *, is_packed: bool = True) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(path, self._moment)
        info.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
        return info
