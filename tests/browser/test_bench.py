"""The label bench by keyboard, in a real browser: print, confirm, skip, scan, reprint, or print all in one go."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import COUNT, book, counted, fill_parcel, label_files, reload_until, see_prices, sha256
from tests.processes.portal import until

pytestmark = pytest.mark.pdf_viewer

# A test can't close a print window, so this records what is printed, in each frame. Like a browser that prints without
# asking, it reports at once that printing is over.
NOTE_PRINTS = """
    if (window === top) window.printed = [];
    window.print = () => {
        top.printed.push(location.pathname);
        setTimeout(() => window.dispatchEvent(new Event("afterprint")));
    };
"""
# Copy a booked parcel, each copy with its own file; print the sha256 each was stored with.
COPIES = """
import hashlib, json
from django.utils import timezone
from orders.models import Label, LabelBytes, Order
from tests.factories import copy_of
found = {}
first = Order.objects.get(uuid="%s")
file = bytes(LabelBytes.objects.get(label__order=first, label__size="full").content)
for number in range(%d):
    made = copy_of(first, number)
    made.customer_reference, made.printed_at, made.printed_by = f"WC-{number:04}", None, None
    made.save()
    content = file + f"%% {number}".encode()
    sha256 = hashlib.sha256(content).hexdigest()
    label = Label.objects.create(
        order=made, size="full", state="stored", sha256=sha256, length=len(content), stored_at=timezone.now()
    )
    LabelBytes.objects.create(label=label, content=content)
    found[str(made.uuid)] = sha256
print(json.dumps(found))
"""
COPIED = 12


@pytest.fixture(scope="module")
def sent() -> list[str]:
    """The references this module's tests have booked, so each test books only what is still missing."""
    return []


def three_labels(page: Page, sent: list[str]) -> str:
    """The bench's address with three labels that are stored and chosen."""
    while len(sent) < 3:
        fill_parcel(page, customer_reference=f"SIM-NONE-{len(sent)}", receiver_name=f"Noor Tamsin{len(sent)}")
        see_prices(page)
        reference = book(page)
        reload_until(page, "Mark printed")
        sent.append(f"{reference} {page.url.rstrip('/').rsplit('/', 1)[-1]}")
    return "/parcels/print/?" + "&".join(f"order={one.split()[1]}" for one in sent)


@pytest.fixture(scope="module")
def copies(stack: Stack) -> dict[str, str]:
    """The uuids of more labels, made once, with the sha256 their files must have."""
    return {}


def many_labels(stack: Stack, first: str, copies: dict[str, str]) -> str:
    """The bench's address with enough labels for one batch, none of them printed."""
    if not copies:
        copies |= json.loads(stack.shell(COPIES % (first, COPIED)).splitlines()[-1])
    stack.shell(f"Order.objects.filter(uuid__in={list(copies)}).update(printed_at=None)")
    return "/parcels/print/?" + "&".join(f"order={uuid}" for uuid in copies)


def now_shown(page: Page) -> str:
    return page.locator("#bench-title").inner_text()


def scan(page: Page, text: str) -> None:
    """Type as a scanner does: no delay between characters, however slow this machine is."""
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    page.keyboard.type(f"{text}\n")
    page.clock.resume()


def prints(page: Page) -> int:
    return int(page.evaluate("top.printed.length"))


@pytest.mark.smoke
def test_a_queue_is_printed_by_keyboard_alone(stack: Stack, log_in: Open, sent: list[str]) -> None:
    page = log_in("sender")
    address = three_labels(page, sent)
    page.add_init_script(NOTE_PRINTS)
    page.goto(address)
    title = page.locator("#bench-title")
    expect(title).to_have_text("SIM-NONE-0")
    expect(page.locator("#bench-now .facts")).to_contain_text("Boxed ceramic mugs")
    assert violations(page) == []
    frame = page.locator("#bench-now iframe").get_attribute("src") or ""
    files = {sha256(path.read_bytes()) for path in label_files(stack, sent[0].split()[0])}
    assert sha256(page.request.get(frame).body()) in files

    page.keyboard.press("Enter")
    until(lambda: prints(page) == 1, seconds=10, what="a print window opened")
    page.keyboard.press("Space")
    expect(title).to_have_text("SIM-NONE-1")
    expect(page.locator("#bench-progress")).to_have_text("1 of 3 printed")
    page.keyboard.press("s")
    expect(title).to_have_text("SIM-NONE-2")
    page.keyboard.press("n")
    expect(title).to_have_text("SIM-NONE-1")
    page.keyboard.press("r")
    expect(title).to_have_text("SIM-NONE-2")
    until(lambda: prints(page) == 2, seconds=10, what="a print window opened")
    page.keyboard.press("n")
    expect(title).to_have_text("SIM-NONE-1")
    page.keyboard.press("n")
    expect(title).to_have_text("All 3 printed")
    expect(page.locator("#bench-progress")).to_have_text("3 of 3 printed")
    assert violations(page) == []

    page.locator(".queue .pick").nth(1).click()
    page.get_by_role("button", name="Not printed after all").click()
    expect(page.locator("#bench-progress")).to_have_text("2 of 3 printed")
    page.reload()
    expect(page.locator("#bench-progress")).to_have_text("2 of 3 printed")
    expect(page.locator(".queue .trail", has_text="Printed")).to_have_count(2)


def test_a_scanned_number_opens_its_parcel_and_a_wrong_one_changes_nothing(log_in: Open, sent: list[str]) -> None:
    """A scanner types each character at once and then Enter, wherever the focus is."""
    page = log_in("sender")
    address = three_labels(page, sent)
    page.clock.install()
    page.add_init_script(NOTE_PRINTS)
    page.goto(address)
    title, problem = page.locator("#bench-title"), page.locator("#bench-problem")
    for scanned, shown in ((sent[2].split()[0], "SIM-NONE-2"), ("#sim-none-1", "SIM-NONE-1")):
        scan(page, scanned)
        expect(title).to_have_text(shown)
    scan(page, "QP/C?N-99")  # each of them alone is a shortcut on some page
    expect(problem).to_contain_text("QP/C?N-99 isn't in this queue.")
    expect(title).to_have_text("SIM-NONE-1")
    scan(page, "SIM-NONE-2")  # the wrong text is selected, so the next scan replaces it
    expect(title).to_have_text("SIM-NONE-2")
    assert prints(page) == 0
    page.locator("#bench-now").focus()
    page.keyboard.press("q")
    expect(page).to_have_url(re.compile("/prices/$"))


def test_all_labels_are_printed_with_two_keys_each_as_the_carriers_own_file(
    stack: Stack, log_in: Open, sent: list[str], copies: dict[str, str]
) -> None:
    """In a browser that prints without asking: one key prints all, one confirms. No two files are merged."""
    page = log_in("sender")
    three_labels(page, sent)
    address = many_labels(stack, sent[0].split()[1], copies)
    page.add_init_script(NOTE_PRINTS)
    page.goto(address)
    page.evaluate(f"() => {{ {COUNT} }}")
    page.keyboard.press("a")
    question = page.get_by_role("heading", name=f"Did all {COPIED} come out?")
    expect(question).to_be_visible(timeout=COPIED * 2000)
    assert violations(page) == []
    printed = page.evaluate("top.printed")
    assert printed == [f"/parcels/{uuid}/label/full.pdf" for uuid in copies]
    assert [sha256(page.request.get(path).body()) for path in printed] == list(copies.values())
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"{COPIED} labels marked printed.")).to_be_visible()
    assert counted(page)["keys"] == 2
    page.goto(address)
    expect(page.locator("#bench-progress")).to_have_text(f"{COPIED} of {COPIED} printed")


def test_a_label_that_was_not_printed_stays_in_the_queue(
    stack: Stack, log_in: Open, sent: list[str], copies: dict[str, str]
) -> None:
    page = log_in("sender")
    three_labels(page, sent)
    many_labels(stack, sent[0].split()[1], copies)
    address = "/parcels/print/?" + "&".join(f"order={uuid}" for uuid in list(copies)[:2])
    page.add_init_script(NOTE_PRINTS)
    page.goto(address)
    page.get_by_role("button", name="Print all").click()
    page.get_by_text("No, some didn't").click()
    page.get_by_role("checkbox", name="WC-0001").uncheck()
    page.get_by_role("button", name="Mark the ticked ones printed").click()
    expect(page.get_by_text("1 label marked printed.")).to_be_visible()
    page.goto(address)
    expect(page.locator(".queue li:not(.printed)")).to_contain_text("WC-0001")


def test_shortcuts_do_nothing_while_a_control_has_the_focus(log_in: Open, sent: list[str]) -> None:
    page = log_in("sender")
    address = three_labels(page, sent)
    page.clock.install()
    page.add_init_script(NOTE_PRINTS)
    page.goto(address)
    shown = now_shown(page)
    before = page.locator("#bench-progress").inner_text()
    page.get_by_text("More ways to print").focus()
    for key in ("s", "n", "r", "a"):
        page.keyboard.press(key)
        page.clock.fast_forward(200)  # longer than a scanner waits between two characters
    page.get_by_role("searchbox").focus()
    page.keyboard.type("nsra ")
    assert (now_shown(page), page.locator("#bench-progress").inner_text()) == (shown, before)
    assert prints(page) == 0


def test_without_its_script_it_is_a_list_of_links_and_buttons(log_in: Open, sent: list[str]) -> None:
    three_labels(log_in("sender"), sent)
    page = log_in("sender", javascript=False, width=320)
    page.goto("/parcels/print/?order=" + sent[0].split()[1])
    assert not has_sideways_scroll(page)
    expect(page.locator("#bench-now")).to_be_hidden()
    link = page.get_by_role("link", name="SIM-NONE-0")
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


STATION = """
import datetime as dt
from django.utils import timezone
from shipping_portal.accounts.models import User
from tests.factories import print_station
print_station(User.objects.get(email="%s"), "Bench 1", seen_at=timezone.now() + dt.timedelta(days=1))
"""


@pytest.mark.parametrize("javascript", [True, False])
def test_with_a_station_online_a_scan_and_one_key_print_without_a_window(
    stack: Stack, log_in: Open, sent: list[str], copies: dict[str, str], *, javascript: bool
) -> None:
    three_labels(maker := log_in("sender"), sent)
    maker.close()
    page = log_in("sender", javascript=javascript)
    address = many_labels(stack, sent[0].split()[1], copies)
    stack.shell(STATION % stack.people["sender"]["email"])
    try:
        page.add_init_script(NOTE_PRINTS)
        page.goto(address)
        page.locator("#scan [name=q]").fill("WC-0003")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Bench 1 prints WC-0003.")).to_be_visible()
        page.goto(address)
        page.get_by_role("button", name=f"Print all {COPIED - 1} at Bench 1").click()
        expect(page.get_by_text(f"Bench 1 prints {COPIED - 1} labels.")).to_be_visible()
        assert not javascript or prints(page) == 0
        assert not javascript or violations(page) == []
        assert not has_sideways_scroll(page)
    finally:
        stack.shell(
            "from shipping_portal.accounts.models import ApiToken; ApiToken.objects.filter(scopes=['print']).delete()"
        )
