"""Export a whole account: a CSV for each kind of row, and every stored label, read in batches."""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db.models import QuerySet

from orders.calling import gateway
from orders.labels.originals import FOLDERS, WORTHLESS, file_name
from orders.list import export
from orders.models import Order
from shipping_portal.accounts.access import OWNER
from shipping_portal.accounts.models import Sender
from shipping_portal.exporting import rows
from shipping_portal.exporting.archive import Archive
from shipping_portal.exporting.parts import Lease
from shipping_portal.exporting.rows import CHARGE_HEADS, SCAN_HEADS
from shipping_portal.importing import progress

BATCH = 500  # rows in memory at once, and between two renewals of the lease

README = """Everything in the account of {name} ({number}), written {at}.

parcels.csv    what was booked or prepared, its price, and the checksums of its label files
scans.csv      the carrier's scans, oldest first within a parcel; times in UTC and in {zone}
charges.csv    the lines of the carrier's billing reports, and credits; above zero is charged
notes.csv      your notes on parcels
addresses.csv  receivers and pickup addresses
sizes.csv      saved sizes
imports.csv    imported files
team.csv       people of this account
labels/        the carrier's own files of booked parcels, unchanged; kept for a time, then deleted
CHECKSUMS.txt  the SHA-256 of each file: sha256sum -c CHECKSUMS.txt
"""


def pack_account(archive: Archive, lease: Lease, *, at: dt.datetime) -> int:
    """Write the archive; return how many parcels it has."""
    sender = lease.export.sender
    total = sender.orders.count()
    lease.renew(total=total)
    shown = {
        "name": rows.one_line(sender.name),
        "number": sender.number,
        "zone": sender.zone,
        "at": rows.utc_time(at),
    }
    archive.add_text("README.txt", README.format(**shown))
    packed = _add_parcels(archive, lease, total, at=at)
    for path, heads, batches, row in _other_sheets(sender, lease):
        sheet = archive.sheet(heads)
        for batch in batches:
            sheet.add_all(map(row, batch))
        archive.add_sheet(path, sheet)
    return packed


def _add_parcels(archive: Archive, lease: Lease, total: int, *, at: dt.datetime) -> int:
    """Add labels directly. Parcels, scans and notes wait in files, because a ZIP is sequential."""
    sender, packed = lease.export.sender, 0
    heads, cells = export.export_columns(OWNER, sender)
    parcels = archive.sheet([*heads, "Quoted", "Quoted price", "Inside", *_SHA256])
    scans = archive.sheet(SCAN_HEADS)
    notes = archive.sheet(("Reference", "Your order number", "To", "Note"))
    for batch in in_batches(sender.orders.prefetch_related("made_by", "size", "labels"), lease):
        for order in batch:
            order.sender = sender
            packed += 1
            parcels.add([*cells(order, at), *_extra_columns(order)])
            _add_labels(archive, order, packed, total)
        scans.add_all(
            row.values() for row in rows.scan_rows([order.pk for order in batch], sender.tzinfo)
        )
        notes.add_all(
            (order.carrier_reference, order.customer_reference, order.receiver_name, order.note)
            for order in batch
            if order.note
        )
        lease.renew(done=packed)
    for path, sheet in (("parcels.csv", parcels), ("scans.csv", scans), ("notes.csv", notes)):
        archive.add_sheet(path, sheet)
    return packed


_SHA256 = [f"SHA-256 of the label, {folder}" for folder in FOLDERS.values()]


def _extra_columns(order: Order) -> list[object]:
    sha256 = {label.size: label.sha256 for label in order.labels.all()}
    checksums = [sha256.get(size, "") for size in FOLDERS]
    return [rows.utc_time(order.quoted_at), order.price, order.description, *checksums]


def _add_labels(archive: Archive, order: Order, number: int, total: int) -> None:
    """Add a booked parcel's stored labels.

    A cancelled parcel's labels must not be used any more.
    """
    if order.is_booked:
        for label in order.labels.all():
            if label.is_printable:
                archive.add_label(label, order, file_name(order, number, of=max(total, number)))
            elif label.is_worthless:
                archive.labels.missing.append(f"{order} {FOLDERS[label.size]}: {WORTHLESS}")


def in_batches(found: QuerySet[Any], lease: Lease) -> Iterator[list[Any]]:
    """Yield all rows in creation order, in batches, renewing the lease for each batch."""
    last = 0
    while batch := list(found.filter(pk__gt=last).order_by("pk")[:BATCH]):
        lease.renew()
        yield batch
        last = batch[-1].pk


List = tuple[str, tuple[str, ...], Iterable[list[Any]], Callable[[Any], Iterable[object]]]


def _other_sheets(sender: Sender, lease: Lease) -> Iterator[List]:
    """Yield the other sheets: path, headings, rows in batches, and the function for one row."""

    def day(at: dt.datetime | None) -> str:
        return rows.local_time(at, sender.tzinfo) if at else ""

    titles = gateway.carrier_titles()
    yield (
        "charges.csv",
        (*CHARGE_HEADS, *(("Carrier",) if titles else ())),
        in_batches(sender.charges.posted().select_related("account"), lease),
        lambda line: [
            *rows.charge_row(line).values(),
            *([titles.get(line.account_id, "")] if titles else ()),
        ],
    )
    yield (
        "addresses.csv",
        ("Kind", *_ADDRESS, "Group", "Last used"),
        _pickup_addresses(sender, lease),
        _address_row(day),
    )
    yield (
        "sizes.csv",
        _SIZE,
        in_batches(sender.sizes.all(), lease),
        lambda size: (
            size.name,
            size.weight,
            size.weight_units,
            size.length,
            size.width,
            size.height,
            size.dimension_units,
            size.description,
        ),
    )
    files = progress.with_counts(sender.imports.select_related("made_by"))
    yield (
        "imports.csv",
        ("File", "Imported", "By", "Rows", "Booked"),
        in_batches(files, lease),
        lambda file: (
            file.file_name,
            day(file.created_at),
            file.made_by.get_full_name(),
            file.all_rows,
            file.booked_rows,
        ),
    )
    people = sender.memberships.select_related("user")
    yield (
        "team.csv",
        ("Name", "E-mail", "Role", "Since"),
        in_batches(people, lease),
        lambda member: (
            member.user.name,
            member.user.email,
            member.get_role_display(),
            day(member.created_at),
        ),
    )


_SIZE = (
    "Name",
    "Weight",
    "Unit of weight",
    "Length",
    "Width",
    "Height",
    "Unit of length",
    "Inside",
)
_ADDRESS = {
    "Name": "name",
    "Company": "company",
    "E-mail": "email",
    "Phone": "phone",
    "Address": "line1",
    "Address line 2": "line2",
    "Suburb": "suburb",
    "State": "state",
    "Postcode": "postcode",
    "Country": "country",
    "Instructions": "instructions",
}


def _pickup_addresses(sender: Sender, lease: Lease) -> Iterator[list[Any]]:
    yield from in_batches(sender.pickup_addresses.all(), lease)
    yield from in_batches(sender.receivers.all(), lease)


def _address_row(day: Callable[[dt.datetime | None], str]) -> Callable[[Any], Iterable[object]]:
    def row(address: Any) -> list[object]:
        saved = getattr(address, "is_saved", None)
        kind = "Pickup" if saved is None else "Receiver, saved" if saved else "Receiver, remembered"
        return [
            kind,
            *[getattr(address, name) for name in _ADDRESS.values()],
            getattr(address, "group", ""),
            day(getattr(address, "used_at", None)),
        ]

    return row
