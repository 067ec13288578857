"""The label bench by keys, in a real browser: print, say so, skip, print again; and what it is without its script."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import book, fill_parcel, label_files, reload_until, see_prices, sha256
from tests.processes.portal import until

# A print window can't be closed by a test, so printing is counted; every frame has its own.
COUNT_PRINTS = "window.print = () => { top.printed = (top.printed || 0) + 1; };"


@pytest.fixture(scope="module")
def sent() -> list[str]:
    """The references booked by this module's tests, so that each books only what it lacks."""
    return []


def three_labels(page: Page, sent: list[str]) -> str:
    """The bench's address with three labels that are stored and chosen."""
    while len(sent) < 3:
        fill_parcel(page, customer_reference="SIM-NONE", receiver_name=f"Noor Tamsin{len(sent)}")
        see_prices(page)
        reference = book(page)
        reload_until(page, "Print full page")
        sent.append(f"{reference} {page.url.rstrip('/').rsplit('/', 1)[-1]}")
    return "/parcels/print/?" + "&".join(f"order={one.split()[1]}" for one in sent)


def now_shown(page: Page) -> str:
    return page.locator("#bench-title .ref").inner_text()


@pytest.mark.smoke
def test_a_queue_is_printed_by_keys_alone(stack: Stack, log_in: Open, sent: list[str]) -> None:
    page = log_in("sender")
    address = three_labels(page, sent)
    first, second, third = (one.split()[0] for one in sent)
    page.add_init_script(COUNT_PRINTS)
    page.goto(address)
    expect(page.locator("#bench-title .ref")).to_have_text(first)
    assert violations(page) == []
    frame = page.locator("#bench-now iframe").get_attribute("src") or ""
    assert sha256(page.request.get(frame).body()) in {sha256(path.read_bytes()) for path in label_files(stack, first)}

    page.keyboard.press("Enter")
    until(lambda: page.evaluate("top.printed") == 1, seconds=10, what="a print window opened")
    page.keyboard.press("Space")
    expect(page.locator("#bench-title .ref")).to_have_text(second)
    expect(page.locator("#bench-progress")).to_have_text("1 of 3 printed")
    page.keyboard.press("s")
    expect(page.locator("#bench-title .ref")).to_have_text(third)
    page.keyboard.press("n")
    expect(page.locator("#bench-title .ref")).to_have_text(second)
    page.keyboard.press("r")
    expect(page.locator("#bench-title .ref")).to_have_text(third)
    until(lambda: page.evaluate("top.printed") == 2, seconds=10, what="a print window opened")
    page.keyboard.press("n")
    expect(page.locator("#bench-title .ref")).to_have_text(second)
    page.keyboard.press("n")
    expect(page.locator("#bench-title")).to_have_text("All 3 labels are printed")
    expect(page.locator("#bench-progress")).to_have_text("3 of 3 printed")
    assert violations(page) == []

    page.get_by_role("button", name=f"Not printed after all {second}").click()
    expect(page.locator("#bench-progress")).to_have_text("2 of 3 printed")
    page.reload()
    expect(page.locator("#bench-progress")).to_have_text("2 of 3 printed")
    expect(page.get_by_text(re.compile("^Printed by "))).to_have_count(2)


def test_no_key_acts_while_a_control_has_the_focus(log_in: Open, sent: list[str]) -> None:
    page = log_in("sender")
    address = three_labels(page, sent)
    page.add_init_script(COUNT_PRINTS)
    page.goto(address)
    shown = now_shown(page)
    before = page.locator("#bench-progress").inner_text()
    page.get_by_label("Order").focus()
    for key in ("s", "n", "r"):
        page.keyboard.press(key)
    page.get_by_role("searchbox").focus()
    page.keyboard.type("nsr ")
    assert (now_shown(page), page.locator("#bench-progress").inner_text()) == (shown, before)
    assert page.evaluate("top.printed") is None


def test_without_its_script_it_is_a_list_of_links_and_buttons(log_in: Open, sent: list[str]) -> None:
    three_labels(log_in("sender"), sent)
    page = log_in("sender", javascript=False, width=320)
    page.goto("/parcels/print/?order=" + sent[0].split()[1])
    assert not has_sideways_scroll(page)
    expect(page.locator("#bench-now")).to_be_hidden()
    link = page.get_by_role("link", name=f"{sent[0].split()[0]} Print label")
    assert page.request.get(link.get_attribute("href") or "").headers["content-type"] == "application/pdf"
    button = page.locator(".queue button .word")
    words = button.inner_text()
    button.click()
    expect(button).not_to_have_text(words)
    button.click()
    expect(button).to_have_text(words)


def test_the_bench_is_accessible_and_fits(log_in: Open, sent: list[str]) -> None:
    page = log_in("sender", width=320)
    page.goto(three_labels(page, sent))
    assert violations(page) == []
    assert not has_sideways_scroll(page)


def test_the_printers_lines_are_100_mm_and_4_in_apart(log_in: Open) -> None:
    page = log_in("sender")
    page.goto("/labels/test-page/")
    page.emulate_media(media="print")
    high = [ruler.evaluate("ruler => ruler.getBoundingClientRect().height") for ruler in page.locator(".ruler").all()]
    assert high == pytest.approx([100 / 25.4 * 96, 4 * 96], abs=0.02)
    expect(page.get_by_text("This is not a shipping label.")).to_be_visible()
