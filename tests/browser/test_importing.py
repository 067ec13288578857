"""An import in a real browser: few clicks for a known header, the grid by keyboard, and all of it without its
script.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.processes.portal import until

HEADER = "Name,Email,Address 1,Suburb,Postcode,Contents,Weight,Length,Width,Height,Order number"
COUNT_CLICKS = """document.addEventListener("pointerdown", () => {
    sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1;
}, true);"""
TIMEOUT = 60_000
LONG = 240_000  # fifty rows on a busy machine


def row(number: str, *, weight: str = "2.4", postcode: str = "7000") -> str:
    return f"Noor Tamsin,noor@example.net,4 Sample Street,Hobart,{postcode},Mugs,{weight},32,24,11,{number}"


def numbered(prefix: str, count: int, **changes: str) -> list[str]:
    return [row(f"{prefix}-{at}", **changes) for at in range(count)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "orders.csv"


def upload(page: Page, file: Path, rows: Sequence[str], *, has_script: bool = True) -> None:
    """Choose the file, which uploads it; without the script there is a button."""
    file.write_text("\r\n".join([HEADER, *rows]))
    page.goto("/imports/new/")
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Excel, CSV or TSV file").click()
    chooser.value.set_files(file)
    if not has_script:
        page.get_by_role("button", name="Upload").click()
    page.wait_for_url(re.compile(r"/(map|check)/"))


def match(page: Page) -> None:
    if page.get_by_role("heading", level=1).inner_text() == "Match columns":
        page.get_by_role("button", name="Check all rows").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders.csv")


def checked(page: Page, file: Path, rows: Sequence[str]) -> None:
    upload(page, file, rows)
    match(page)
    all_checked(page, len(rows))


def all_checked(page: Page, rows: int) -> None:
    expect(page.locator("#progress[data-done]")).to_contain_text(
        re.compile(rf"{rows} of {rows} rows?\s+checked\."), timeout=TIMEOUT
    )


def booked(stack: Stack, prefix: str) -> list[str]:
    """The order numbers in the carrier's ledger."""
    found = [str(line["parcel"]["body"]) for line in stack.carrier.ledger("booked")]
    return [number for body in found for number in re.findall(rf"{prefix}-\d+", body)]


def test_a_file_too_big_is_refused_before_it_is_sent_and_a_smaller_one_goes(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    file.write_bytes(b"x" * 2_100_000)
    page.goto("/imports/new/")
    box = page.get_by_label("Excel, CSV or TSV file")
    box.set_input_files(file)
    assert box.evaluate("box => box.validationMessage") == "This file is 2.1 MB. Choose one of 2 MB or less."
    expect(page).to_have_url(re.compile("/imports/new/$"))
    upload(page, file, [row("SMALL-1")])


@pytest.mark.smoke
@pytest.mark.parametrize("rows", [6, pytest.param(50, marks=pytest.mark.nightly)])
def test_j3_a_file_with_a_known_header_is_booked_in_two_clicks(
    log_in: Open, stack: Stack, file: Path, rows: int
) -> None:
    page = log_in("sender")
    checked(page, file, numbered(f"FIRST{rows}", 1))
    page.add_init_script(COUNT_CLICKS)
    numbers = [f"JTHREE{rows}-{at}" for at in range(rows)]
    upload(page, file, [row(number) for number in numbers])
    page.get_by_role("button", name=re.compile(rf"^Book {rows} parcels")).click(timeout=LONG)
    expect(page.locator("#progress")).to_contain_text(f"{rows} booked.", timeout=LONG)
    assert int(page.evaluate("sessionStorage.clicks")) == 2
    assert sorted(booked(stack, f"JTHREE{rows}")) == sorted(numbers)
    assert violations(page) == []


DROP = """([name, text]) => { const data = new DataTransfer();
    data.items.add(new File([text], name, { type: "text/csv" }));
    document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true })); }"""


def test_a_dropped_file_is_uploaded_at_once(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/imports/new/")
    assert violations(page) == []
    page.evaluate(DROP, ["dropped.csv", "\r\n".join([HEADER, row("DROP-1")])])
    page.wait_for_url(re.compile(r"/(map|check)/"))
    expect(page.get_by_text("dropped.csv").first).to_be_visible()


def test_a_service_is_chosen_for_one_row_and_for_all(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, numbered("SERVICE", 2))
    total = page.locator("#book .sum b")
    before = total.inner_text()
    page.get_by_label("Service for row 2").select_option(index=1)
    expect(total).not_to_have_text(before)
    mixed = total.inner_text()
    expect(page.get_by_label("Service for row 3")).not_to_be_focused()
    page.get_by_label("Service for every row").select_option("fastest")
    expect(total).not_to_have_text(mixed)
    expect(page).to_have_url(re.compile("rule=fastest"))
    assert violations(page) == []


def test_rows_are_fixed_by_keyboard_and_the_total_follows(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, [*numbered("KEYS", 1), *numbered("WEIGHT", 3, weight="0")])
    weights = page.get_by_label("Weight, kg")
    expect(weights).to_have_count(3)
    assert violations(page) == []
    weights.first.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("1.5")
    page.keyboard.press("Enter")
    expect(weights).to_have_count(2)
    expect(weights.first).to_be_focused()
    page.keyboard.type("1.6")
    for _ in range(5):  # past Save, Apply, Leave out and All fields, to the next row's cell
        page.keyboard.press("Tab")
    expect(weights).to_have_count(1)
    expect(weights.first).to_be_focused()
    expect(page.get_by_role("button", name=re.compile("^Book 3 parcels"))).to_be_visible()
    page.keyboard.type("1.7")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Book 4 parcels"))).to_be_visible()


def test_the_chosen_pickup_day_stays_when_a_row_is_corrected(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, [*numbered("DAY", 1), *numbered("DAYFIX", 1, weight="0")])
    day = page.get_by_label("Pickup day")
    [chosen] = day.select_option(index=2)
    weight = page.get_by_label("Weight, kg")
    weight.fill("1.5")
    weight.blur()
    expect(page.get_by_role("button", name=re.compile("^Book 2 parcels"))).to_be_visible()
    expect(day).to_have_value(chosen)


def test_a_row_that_could_not_be_saved_is_sent_again_when_it_is_left_again(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, numbered("AGAIN", 1, weight="0"))
    # The script treats every refusal the same; a 503 would log a console error, which fails every test.
    page.route("**/rows/*/", lambda route: route.fulfill(status=409), times=1)
    weight = page.get_by_label("Weight, kg")
    with page.expect_response("**/rows/*/"):
        weight.fill("1.5")
        weight.blur()
    expect(page.locator(".fix[data-changed]")).to_be_visible()  # the reply has been read
    weight.focus()
    weight.blur()
    expect(page.get_by_role("button", name=re.compile("^Book 1 parcel"))).to_be_visible()


def test_a_field_that_was_changed_on_another_page_is_not_overwritten_unseen(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, numbered("BOTH", 2, weight="0"))
    other = page.context.new_page()
    other.goto(page.url)
    for one, weight in ((page, "1.5"), (other, "1.6")):
        field = one.get_by_label("Weight, kg").first
        field.fill(weight)
        field.blur()
        expect(page.get_by_label("Weight, kg")).to_have_count(1)  # it was saved there
    fix = other.locator(".fix[data-unsaved]")
    expect(fix).to_contain_text("Changed to “1.5” since you opened the page. Save it to replace that with “1.6”.")
    other.get_by_label("Service for every row").select_option(index=1)
    expect(other).to_have_url(re.compile("rule="))  # the rest of the page is new, and what was typed stays
    expect(fix.get_by_label("Weight, kg")).to_have_value("1.6")
    assert violations(other) == []
    fix.get_by_role("button", name="Save row 2").click()
    expect(other).to_have_url(re.compile(r"/check/\?show=fix#grid$"))
    expect(other.get_by_label("Weight, kg")).to_have_count(1)


def test_a_refused_booking_stays_at_the_address_of_the_check(log_in: Open, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, numbered("refused", 1))
    page.locator("#book-all [name=rule]").evaluate("rule => { rule.value = 'none'; }")
    page.get_by_role("button", name="Book 1 parcel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders.csv")
    expect(page).to_have_url(re.compile(r"/check/$"))


def test_one_place_is_applied_to_rows_like_it(log_in: Open, file: Path) -> None:
    page = log_in("sender", width=360)
    checked(page, file, numbered("PLACE", 3, postcode="3056"))
    assert not has_sideways_scroll(page)
    page.get_by_role("button", name=re.compile("^Hobart TAS 7000 to 3 rows like this", re.IGNORECASE)).first.click()
    all_checked(page, 3)
    expect(page.get_by_role("button", name=re.compile("^Book 3 parcels"))).to_be_visible(timeout=TIMEOUT)


def test_typed_text_stays_while_other_rows_are_checked(log_in: Open, stack: Stack, file: Path) -> None:
    page = log_in("sender")
    stack.carrier.trouble("quote", "503", count=4)
    upload(page, file, [*numbered("TYPING", 1, weight="0"), *numbered("LATE", 3)])
    match(page)
    page.goto(f"{page.url}?show=fix")
    weight = page.get_by_label("Weight, kg")
    until(lambda: weight.count() or page.reload() is None, seconds=20, what="the bad row is checked")
    weight.fill("7.5")
    all_checked(page, 4)
    expect(page.get_by_role("button", name=re.compile("^Book 3 parcels"))).to_be_visible(timeout=TIMEOUT)
    expect(weight).to_have_value("7.5")


def test_an_import_is_fixed_and_booked_without_its_script(log_in: Open, stack: Stack, file: Path) -> None:
    page = log_in("sender", javascript=False, width=360)
    upload(page, file, [*numbered("PLAIN", 2), *numbered("HEAVY", 1, weight="0")], has_script=False)
    match(page)
    until(
        lambda: "3 of 3 rows checked" in page.locator("#progress").inner_text() or page.reload() is None,
        seconds=30,
        what="every row is checked",
    )
    page.reload()
    page.get_by_label("Weight, kg").fill("3")
    page.get_by_role("button", name="Save row 4").click()
    page.get_by_role("button", name=re.compile("^Book 3 parcels")).click()
    until(
        lambda: "3 booked." in page.locator("#progress").inner_text() or page.reload() is None,
        seconds=30,
        what="every row is booked",
    )
    assert not has_sideways_scroll(page)
    assert len(booked(stack, "PLAIN") + booked(stack, "HEAVY")) == 3


def test_an_import_is_paused_and_resumed(log_in: Open, stack: Stack, file: Path) -> None:
    page = log_in("sender")
    checked(page, file, numbered("PAUSE", 4))
    stack.portal.kill_workers()
    page.get_by_role("button", name=re.compile("^Book 4 parcels")).click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused since")).to_be_visible()
    assert violations(page) == []
    stack.portal.start_workers()
    page.wait_for_timeout(2500)
    page.reload()
    expect(page.locator("#progress")).to_contain_text("0 booked, 4 to go.")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#progress")).to_contain_text("4 booked.", timeout=TIMEOUT)
    assert sorted(booked(stack, "PAUSE")) == [f"PAUSE-{at}" for at in range(4)]
