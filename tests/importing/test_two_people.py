"""Two members correct one row: what the other changed since is kept, or shown where both changed it."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from shipping_portal.accounts.models import User
from shipping_portal.importing.models import Import, ImportRow
from tests.importing.test_answering import Take
from tests.importing.test_answering import take as take
from tests.orders.test_importing import GOOD, HEADER
from tests.pages.test_imports import check_page
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

EMAIL, LINE = "receiver_email", "receiver_line1"
SAID = "Changed to “p@example.net” since you opened the page. Save it to replace that with “q@"


@pytest.fixture
def file(take: Take) -> Import:
    return take(HEADER, GOOD.replace("priya@example.net", "priya@").replace("4 Sample Street", ""))


@pytest.fixture
def row(file: Import) -> ImportRow:
    row: ImportRow = file.rows.get()
    assert {EMAIL, LINE} == row.problems.keys()
    return row


@pytest.fixture
def page(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


def shown(page: Client, url: str) -> dict[str, str]:
    """Return every field of the page as a browser posts it untouched, and the value it showed."""
    return posted_by(page.get(url).content.decode())


def posted_by(html: str) -> dict[str, str]:
    inputs = [dict(re.findall(r'([\w-]+)="([^"]*)"', tag)) for tag in re.findall(r"<input ([^>]*)>", html)]
    return {
        unescape(one["name"]): unescape(one.get("value", ""))
        for one in inputs
        if "receiver" in one.get("name", "") and one.get("type") != "radio"
    }


def addresses(row: ImportRow) -> tuple[str, str, str]:
    """Return the page of the grid, the address that saves it, and the prefix of its names."""
    return f"{check_page(row.file)}?show=fix", reverse("save_rows", args=[row.file.uuid]), f"row-{row.pk}-"


def one_row(row: ImportRow) -> str:
    return reverse("import_row", args=[row.file.uuid, row.pk])


def way_to_save(row: ImportRow, way: str) -> tuple[str, str, str]:
    grid, save, prefix = addresses(row)
    if way == "the row's page":
        return one_row(row), one_row(row), ""
    return grid, save if way == "all" else one_row(row), prefix


@pytest.mark.parametrize("way", ["all", "one of the grid", "the row's page"])
def test_fields_that_only_one_of_them_changed_are_both_kept(page: Client, row: ImportRow, way: str) -> None:
    url, post, prefix = way_to_save(row, way)
    first, second = shown(page, url), shown(page, url)
    page.post(post, first | {f"{prefix}{EMAIL}": "p@example.net"})
    answer = page.post(post, second | {f"{prefix}{LINE}": "9 Other Road"})
    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.corrected[EMAIL], row.corrected[LINE]) == ("p@example.net", "9 Other Road")


@pytest.mark.parametrize("way", ["all", "one of the grid", "the row's page"])
def test_a_field_that_both_changed_is_shown_with_both_values_and_saved_again_on_purpose(
    page: Client, row: ImportRow, way: str
) -> None:
    url, post, prefix = way_to_save(row, way)
    first, second = shown(page, url), shown(page, url)
    page.post(post, first | {f"{prefix}{EMAIL}": "p@example.net"})
    answer = page.post(post, second | {f"{prefix}{EMAIL}": "q@example.net", f"{prefix}{LINE}": "9 Other Road"})
    assert answer.status_code == 409
    assert f"{SAID}example.net”." in text(answer)
    row.refresh_from_db()
    assert (row.corrected[EMAIL], row.corrected[LINE]) == ("p@example.net", "9 Other Road")
    again = posted_by(answer.content.decode())
    assert again[f"row-{row.pk}-{EMAIL}"] == "q@example.net"
    assert page.post(addresses(row)[1], again).status_code == 302
    row.refresh_from_db()
    assert row.corrected[EMAIL] == "q@example.net"


def test_both_typing_the_same_is_no_conflict(page: Client, row: ImportRow) -> None:
    grid, save, prefix = addresses(row)
    typed = shown(page, grid) | {f"{prefix}{EMAIL}": "p@example.net", f"{prefix}{LINE}": "9 Other Road"}
    assert [page.post(save, typed).status_code for _ in range(2)] == [302, 302]
    row.refresh_from_db()
    assert row.corrected == {EMAIL: "p@example.net", LINE: "9 Other Road"}


def test_a_row_that_somebody_left_out_stays_left_out(page: Client, row: ImportRow) -> None:
    grid, save, prefix = addresses(row)
    typed = shown(page, grid) | {f"{prefix}{EMAIL}": "p@example.net"}
    page.post(one_row(row), {"leave_out": "yes"})
    said = text(page.post(save, typed, follow=True))
    assert f"so nothing was saved there: row {row.number}." in said
    row.refresh_from_db()
    assert row.state == "skipped"


def test_a_cell_of_two_lines_is_not_taken_for_somebody_elses_change(page: Client, take: Take) -> None:
    """A browser posts the end of a line as two characters."""
    row = take(HEADER, GOOD.replace("priya@example.net", '"priya\n@"')).rows.get()
    grid, save, prefix = addresses(row)
    typed = {name: value.replace("\n", "\r\n") for name, value in shown(page, grid).items()}
    page.post(save, typed | {f"{prefix}{EMAIL}": "p@example.net"})
    row.refresh_from_db()
    assert row.corrected == {EMAIL: "p@example.net"}
