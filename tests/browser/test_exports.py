"""Exports in a real browser: one press, a wait, the file; with and without JavaScript."""

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import book, fill_parcel, label_files, reload_until, see_prices, sha256

TIMEOUT = 60_000


def download(page: Page, tmp_path: Path) -> zipfile.ZipFile:
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the ZIP").click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return zipfile.ZipFile(file)


@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without"])
def test_a_proof_pack_is_made_while_the_sender_waits_and_downloaded(
    log_in: Open, stack: Stack, tmp_path: Path, *, javascript: bool
) -> None:
    page = log_in("sender", javascript=javascript, width=360)
    fill_parcel(page, receiver_name=f"Proof {'Script' if javascript else 'Plain'}")
    see_prices(page)
    reference = book(page)
    reload_until(page, "Mark printed")
    page.get_by_role("button", name="Proof pack").click()
    expect(page.get_by_text("Your file is ready.")).to_be_visible(timeout=TIMEOUT)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Proof pack of {reference}")
    assert not has_sideways_scroll(page)
    if javascript:
        assert violations(page) == []
    archive = download(page, tmp_path)
    assert archive.testzip() is None
    made = {sha256(file.read_bytes()) for file in label_files(stack, reference)}
    assert {sha256(archive.read(name)) for name in archive.namelist() if name.endswith(".pdf")} == made
    assert reference in archive.read("summary.txt").decode()


def test_a_full_export_is_packed_in_the_background_and_found_again(log_in: Open, stack: Stack, tmp_path: Path) -> None:
    page = log_in("sender")
    page.goto("/settings/data/")
    page.get_by_role("button", name="Pack everything").click()
    page.fill("[name=password]", stack.people["sender"]["password"])
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url("**/exports/**")
    page.goto("/today/")
    page.goto("/settings/data/")
    page.get_by_role("link", name=re.compile("^Of ")).first.click()
    expect(page.get_by_text("Your file is ready.")).to_be_visible(timeout=TIMEOUT)
    assert violations(page) == []
    assert "parcels.csv" in download(page, tmp_path).namelist()
