"""Find rows that aren't parcels to send: hidden, a sum, left out by the shop, or odd."""

from shipping_portal.importing import duplicates, notes, shops, unread
from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.outliers import LEFT_OUT

OF_A_PARCEL = ("customer_reference", "receiver_line1", "receiver_email", "receiver_postcode")


def why_left_out(row: ImportRow) -> str:
    """Return why a row is left out unless somebody takes it all the same, else "".

    Nobody sees it in the workbook, it is a sum, or its shop would not send it.
    """
    if row.corrected.get(shops.STATUS):
        return ""
    if notes.is_hidden(row):
        return notes.HIDDEN
    if shops.is_a_sum(row.cells) and not _says_more_than_a_sum(row):
        return shops.NOT_A_PARCEL
    return shops.why_left_out(row.file.header, [one.cells for one in row.of_parcel])


def _says_more_than_a_sum(row: ImportRow) -> bool:
    """Return whether a field is filled other than the first filled cell, where sums are named."""
    first = next((place for place, cell in enumerate(row.cells) if cell.strip()), -1)
    places = [row.file.columns.get(name) for name in OF_A_PARCEL]
    return any(row.cell(place).strip() for place in places if place != first)


def odd_shape(row: ImportRow) -> str:
    """Return the problem of an unseen row with a cell too many or too few, or ""."""
    if row.corrected.keys() - {shops.STATUS, unread.SEEN}:
        return ""
    if notes.is_bad(row):
        return notes.BAD_LINE
    wanted, has = len(row.file.header), len(row.cells)
    if has >= wanted and not any(map(str.strip, row.cells[wanted:])):
        return ""
    return (
        f"This row has {has} cells; the first line has {wanted}. Check each value, then save the"
        " row."
    )


def let_through(row: ImportRow) -> dict[str, str]:
    """Return the correction that accepts a left-out row: it answers what was found, no more."""
    if shops.STATUS in row.problems:
        return {shops.STATUS: "yes"}
    if any(name.startswith(unread.KEY) for name in row.problems):
        return {unread.SEEN: "yes"}
    return {} if row.problems == LEFT_OUT else {duplicates.ANYWAY: "yes"}
