"""Files the way spreadsheets and shops really write them: hidden rows, stray quotation marks, errors, other encodings."""

import pytest
from django.utils import timezone

from shipping_portal.importing import checking, notes, reading, uploads
from shipping_portal.importing.models import Import
from tests.field.checking import FILES, checked, problems, ready, receiver, rows
from tests.orders.test_importing import work_off
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


def test_rows_hidden_by_a_filter_are_left_out_until_one_click_puts_them_back(carrier: SandboxCarrier) -> None:
    file = checked("../reading/hidden_rows_au.xlsx", "AU")
    assert ready(rows(file)) == {"HR1", "HR4", "HR6"}
    assert [row.state for row in rows(file).values()].count("skipped") == 3
    assert checking.take_all(file, notes.HIDDEN, timezone.now()) == 3
    work_off(file)
    assert len(ready(rows(file))) == 6


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("amazon_quote_opens_a_title_us.txt", ["Mug", '"Best Dad Mug', "Mug"]),
        ("amazon_quoted_words_us.txt", ["Mug", '"Best Dad" Mug', "Mug"]),
        ("amazon_quote_over_two_titles_us.txt", ["Mug", '"Cozy Mug', 'Dad"', "Mug"]),
    ],
)
def test_quotation_marks_mean_nothing_in_amazons_files(name: str, titles: list[str], carrier: SandboxCarrier) -> None:
    file = checked(f"../reading/{name}", "US")
    cells = [row.cells for row in rows(file).values()]
    assert [row[11] for row in cells] == titles
    assert [(row[16], row[17]) for row in cells] == [
        (f"Pat Doe {at}", f"{at}0 Example Rd") for at in range(1, len(titles) + 1)
    ]


def test_an_error_in_a_sheet_is_never_printed(carrier: SandboxCarrier) -> None:
    [row] = rows(checked("../reading/error_cells_au.xlsx", "AU")).values()
    assert row.state == "fix"
    assert {"receiver_company", "receiver_line2"} == set(row.problems)
    assert "couldn't compute" in problems(row)


def test_words_for_nothing_are_blank_and_mentioned_once(carrier: SandboxCarrier) -> None:
    file = checked("../reading/words_for_nothing_us.csv", "US")
    found = rows(file)
    assert ready(found) == {"NA2", "NA5"}
    assert {receiver(found[number])["company"] for number in ("NA2", "NA5")} == {""}
    assert set(found["NA1"].problems) == {"receiver_line2"}  # a spreadsheet's error is no word for nothing
    assert list(notes.reading_notes(file)) == ["2 cells say only “N/A”, “NULL”: read as blank."]


def test_letters_misread_as_windows_1252_are_repaired(carrier: SandboxCarrier) -> None:
    file = checked("../reading/utf8_read_as_windows_us.csv", "US")
    found = rows(file)
    assert ready(found) == set(found)
    assert [receiver(row)["name"] for row in found.values()] == ["François Björk", "Zoë Doe", "O’Brien"]
    [seen] = notes.reading_notes(file)
    assert "put them back: “François Björk”, “Zoë Doe”" in seen


def test_letters_from_an_older_mac_are_shown_before_anything_is_checked(carrier: SandboxCarrier) -> None:
    sheet = reading.read((FILES.parent / "reading" / "mac_os_roman_au.csv").read_bytes())
    before = checked("../reading/mac_os_roman_au.csv", "AU")  # its columns are known from now on
    file = uploads.store_upload(sheet, name="mac.csv", sender=before.sender, by=before.made_by, now=timezone.now())
    assert (file.encoding, file.state) == ("mac_roman", Import.State.MATCHING)
    [row] = rows(file).values()
    assert (row.cells[1:4:2], row.cells[2]) == (["Zoë Müller", "12 Señor St"], "Café José")
    [seen] = notes.reading_notes(file)
    assert "Mac OS Roman with commas: “Zoë Müller”, “Café José”" in seen
