"""Stream a ZIP of unchanged label files with checksums, a list, and the names of missing ones."""

import datetime as dt
import io
import logging
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from orders.labels.fetching import want_spare
from orders.labels.printing import has_worthless_label
from orders.models import Label, LabelBytes, Order
from shipping_portal import sheets
from shipping_portal.accounts.models import Audit, User
from shipping_portal.db.bucket import OutOfReach

log = logging.getLogger(__name__)

FOLDERS = {"full": "full-page", "cropped": "cropped"}
WORTHLESS = "Its label is worthless: it was made with a test key, and no carrier takes it."
OTHER_SIZE = "The carrier hasn't given us this size. The other one is included."
HEADS = (
    "No",
    "File",
    "Reference",
    "Your order number",
    "To",
    "Suburb",
    "State",
    "Postcode",
    "Country",
    "SHA-256",
)


@dataclass
class Contents:
    """Collect what the three text files will say while the labels are read."""

    checksums: list[str] = field(default_factory=list)
    rows: list[tuple[object, ...]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def files(self) -> Iterator[tuple[str, str]]:
        yield "CHECKSUMS.txt", "".join(self.checksums)
        yield "LIST.csv", "".join(sheets.csv_lines(HEADS, self.rows))
        if self.missing:
            yield "NOT-INCLUDED.txt", "".join(f"{line}\n" for line in self.missing)


def stream_archive(
    orders: list[Order], sizes: tuple[str, ...], *, by: User, at: dt.datetime
) -> Iterator[bytes]:
    """Yield the archive piece by piece; each label is read, checked, audited and released in turn.

    `orders` have their labels and sender loaded. For a parcel without a label of these sizes, the
    label that it has is used.
    """
    outgoing, contents = Outgoing(), Contents()
    moment = at.astimezone(orders[0].sender.tzinfo).timetuple()[:6]
    with zipfile.ZipFile(outgoing, "w", zipfile.ZIP_STORED) as archive:
        for path, label, content in _label_files(orders, sizes, contents, at=at):
            _audit_label(label, by=by, at=at)
            archive.writestr(zipfile.ZipInfo(path, moment), content)
            yield outgoing.take()
        for path, text in contents.files():
            archive.writestr(zipfile.ZipInfo(path, moment), text.encode())
    yield outgoing.take()


def _label_files(
    orders: list[Order], sizes: tuple[str, ...], contents: Contents, *, at: dt.datetime
) -> Iterator[tuple[str, Label, bytes]]:
    for number, order in enumerate(orders, 1):
        name = file_name(order, number, of=len(orders))
        for label in _wanted_labels(order, sizes, contents, at=at):
            content = serve_label(label, order, contents, at=at)
            if content is not None:
                path = f"{FOLDERS[label.size]}/{name}"
                _note_file(contents, number, path, order, label)
                yield path, label, content


def _audit_label(label: Label, *, by: User, at: dt.datetime) -> None:
    order = label.order
    Audit.write(
        "label downloaded",
        order,
        by=by,
        sender=order.sender,
        reason=f"{label.size}, in a ZIP",
        at=at,
    )


def _wanted_labels(
    order: Order, sizes: tuple[str, ...], contents: Contents, *, at: dt.datetime
) -> list[Label]:
    """Return the stored labels of these sizes, otherwise of any size. A missing size is fetched."""
    ready = {label.size: label for label in order.labels.all() if label.is_printable}
    if not order.is_booked or not ready:
        contents.missing.append(f"{order}: {why_none(order)}")
        return []
    if missing := [FOLDERS[size] for size in sizes if size not in ready]:
        contents.missing.append(f"{order} {missing[0]}: {OTHER_SIZE}")
        want_spare(order, at)
    return [ready[size] for size in sizes if size in ready] or list(ready.values())


def why_none(order: Order) -> str:
    if not order.is_booked:
        return f"{order.get_status_display()}. It has no label to use."
    if has_worthless_label(order):
        return WORTHLESS
    if any(label.state == Label.State.WITHHELD for label in order.labels.all()):
        return (
            "We are asking the carrier whether it is still booked. Its label comes back after that."
        )
    if any(label.purged_at for label in order.labels.all()):
        return "Its label was kept for as long as we keep labels, and is gone."
    return "The carrier hasn't given us its label yet."


def serve_label(label: Label, order: Order, contents: Contents, *, at: dt.datetime) -> bytes | None:
    """Return the bytes as the carrier sent them, if the parcel is still booked.

    Otherwise return None, and note why in `contents`.
    """
    try:
        return label.serve(at=at)
    except LabelBytes.DoesNotExist:
        # It was cancelled, purged or withdrawn while the others were being sent.
        why = "It is no longer booked, or its label is gone."
    except OutOfReach:
        log.warning("label %s of order %s can't be read now", label.size, label.order_id)
        why = "We couldn't read the file right now. Download it again in a few minutes."
    except Label.Damaged:
        log.error("label %s of order %s does not match its sha256", label.size, label.order_id)
        why = (
            "The file no longer matches the carrier's original, so it is left out. Contact us and"
            " quote the reference."
        )
    contents.missing.append(f"{order} {FOLDERS[label.size]}: {why}")
    return None


def _note_file(contents: Contents, number: int, path: str, order: Order, label: Label) -> None:
    place = (
        order.receiver_suburb,
        order.receiver_state,
        order.receiver_postcode,
        order.receiver_country,
    )
    contents.checksums.append(f"{label.sha256}  {path}\n")
    contents.rows.append(
        (
            number,
            path,
            order.carrier_reference,
            order.customer_reference,
            order.receiver_name,
            *place,
            label.sha256,
        )
    )


def file_name(order: Order, number: int, *, of: int) -> str:
    """Return a name such as `01_S7K2QX_NAIR_3056.pdf`.

    List position, reference, surname, postcode.
    """
    surname = order.receiver_name.split()[-1:]
    parts = (order.carrier_reference or "", *surname, order.receiver_postcode)
    words = [word for word in map(_plain_text, parts) if word]
    return "_".join([f"{number:0{max(2, len(str(of)))}}", *words]) + ".pdf"


def _plain_text(text: str) -> str:
    """Return upper-case letters without accents, digits and hyphens.

    Other characters are dropped.
    """
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().upper()
    return re.sub(r"[^A-Z0-9-]", "", letters)[:30]


class Outgoing(io.RawIOBase):
    """Let zipfile rewind within one entry, and pass on each finished entry.

    So each entry starts with its length and checksum, which every unpacker can read, and only one
    label is in memory at a time.
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
