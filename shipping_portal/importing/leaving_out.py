"""Find rows that aren't parcels to send: hidden, sums, left out by the shop, or odd."""

from shipping_portal.importing import duplicates, notes, shops, unread
from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.outliers import LEFT_OUT

OF_A_PARCEL = ("customer_reference", "receiver_line1", "receiver_email", "receiver_postcode")


def why_left_out(row: ImportRow) -> str:
    """Return why a row is left out unless somebody accepts it anyway, otherwise "".

    Reasons are that it is hidden in the workbook, is a sum, or that the shop wouldn't send it.
    """
    if row.corrected.get(shops.STATUS):
        return ""
    if notes.is_hidden(row):
        return notes.HIDDEN
    if shops.is_a_sum(row.cells) and not _says_more_than_a_sum(row):
        return shops.NOT_A_PARCEL
    return shops.why_left_out(row.file.header, [one.cells for one in row.of_parcel])


def _says_more_than_a_sum(row: ImportRow) -> bool:
    """Return whether any field of a parcel holds more than the word for the sum."""
    cells = [row.cell(row.file.columns.get(name)).strip() for name in OF_A_PARCEL]
    return any(cell and not shops.is_a_sum([cell]) for cell in cells)


def cell_count_problem(row: ImportRow) -> str:
    """Return the problem if a row has too many or too few cells and nobody has seen that, or ""."""
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


def accepting_correction(row: ImportRow) -> dict[str, str]:
    """Return the correction that accepts a left-out row, for just the reason found."""
    if shops.STATUS in row.problems:
        return {shops.STATUS: "yes"}
    if any(name.startswith(unread.KEY) for name in row.problems):
        return {unread.SEEN: "yes"}
    return {} if row.problems == LEFT_OUT else {duplicates.ANYWAY: "yes"}
