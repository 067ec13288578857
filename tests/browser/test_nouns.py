"""One walk for each noun of the interface: from a click to the carrier's ledger and back to the screen.

The carrier never moves a parcel booked here (`SIM-NONE`), and each walk undoes what it changed.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.walking import (
    TO_PORTLAND,
    book,
    booking_of,
    fact,
    fill_parcel,
    label_files,
    lines_of,
    open_label_files,
    price_of,
    reload_until,
    see_prices,
    sha256,
)
from tests.processes.portal import until


@pytest.fixture
def page(log_in: Open) -> Page:
    """The demo's sender, logged in."""
    return log_in("sender")


def ask_prices(page: Page, **typed: str) -> None:
    fill_parcel(page, customer_reference="SIM-NONE", **typed)
    see_prices(page)


def send(page: Page, **typed: str) -> str:
    """A booked parcel's reference; its page is open."""
    ask_prices(page, **typed)
    return book(page)


def card_of(page: Page, service: str) -> Locator:
    return page.get_by_role("article").filter(has=page.get_by_role("heading", name=service, exact=True))


def test_product_the_carrier_books_the_card_whose_button_is_pressed(stack: Stack, page: Page) -> None:
    ask_prices(page)
    card = card_of(page, "Express Pickup")
    code = card.locator("[name=product]").get_attribute("value")
    price = card.locator(".big").inner_text().split()[0]
    sold = booking_of(stack, book(page, "Express Pickup"))["quote"]
    assert (sold["code"], f"${sold['gross']}") == (code, price)
    expect(fact(page, "Service")).to_have_text(sold["name"])
    expect(price_of(page, "Total")).to_have_text(f"{price} AUD")


def test_ddp_contents_give_a_price_that_includes_duties(stack: Stack, page: Page) -> None:
    ask_prices(page, **TO_PORTLAND)
    asked = [request for request in stack.carrier.requests() if request["operation"] == "quote_contents"]
    assert {(request["method"], request["path"]) for request in asked if "knitted" in request["body"]} == {
        ("POST", "/products")
    }
    card = page.get_by_role("article").filter(has_text="Duties and taxes included – guaranteed total")
    booking = booking_of(stack, book(page, card.get_by_role("heading").inner_text().strip()))
    duties = booking["quote"]["breakdown"]["duties"]
    assert (booking["quote"]["code"], Decimal(duties) > 0) == ("STANDARD-DDP-PICKUP", True)
    assert booking["body"]["parcel_contents"][0]["hs_code"] == "6109.10.0012"
    expect(fact(page, "Service")).to_contain_text("duties and taxes included")
    expect(price_of(page, "Duties")).to_have_text(f"${duties}")


def test_pickup_the_driver_comes_on_the_day_chosen_on_the_card(stack: Stack, page: Page) -> None:
    ask_prices(page)
    another_day = card_of(page, "Standard Pickup").locator("label").last
    words = another_day.inner_text().strip()
    day = another_day.locator("input").get_attribute("value")
    another_day.click()
    booking = booking_of(stack, book(page))
    assert (booking["body"]["pickup_date"], booking["pickup_date"]) == (day, day)
    expect(fact(page, "Pickup")).to_contain_text(words)


def test_drop_off_asks_for_no_day_and_sends_no_day(stack: Stack, page: Page) -> None:
    ask_prices(page)
    card = card_of(page, "Standard Drop Off")
    expect(card).to_contain_text("No pickup day is needed")
    expect(card.locator("[name=pickup_date]")).to_have_count(0)
    booking = booking_of(stack, book(page, "Standard Drop Off"))
    assert (booking["quote"]["code"], booking["pickup_date"]) == ("STANDARD-DROPOFF", None)
    assert "pickup_date" not in booking["body"]
    expect(fact(page, "Drop-off")).to_have_text("At any of the carrier's drop-off points")
    expect(fact(page, "Pickup")).to_have_count(0)


def test_extra_cover_is_asked_for_priced_and_booked(stack: Stack, page: Page) -> None:
    booking = booking_of(stack, send(page, cover_amount="300"))
    cover = booking["quote"]["breakdown"]["cover"]
    assert (booking["body"]["cover"]["total_cover"]["amount"], Decimal(cover) > 0) == (300, True)
    expect(fact(page, "Extra Cover")).to_have_text("up to $300.00")
    expect(price_of(page, "Cover")).to_have_text(f"${cover}")


def test_label_formats_are_the_carriers_exact_files_the_preferred_one_first(stack: Stack, page: Page) -> None:
    reference = send(page)
    parcel = page.url
    reload_until(page, "Mark printed")
    page.get_by_role("link", name="Get it now").click()  # the size that isn't printed: the other opens by itself
    page.goto(parcel)
    downloads = page.locator("a", has_text="Download")
    until(lambda: page.reload() and downloads.count() == 2, seconds=20, what="the other size")
    files = open_label_files(page)
    expect(files.get_by_role("link", name=re.compile("^Download"))).to_have_count(2)
    kept = {sha256(path.read_bytes()) for path in label_files(stack, reference)}
    assert len(kept) == 2
    assert {sha256(page.request.get(f"{parcel}label/{size}.pdf").body()) for size in ("full", "cropped")} == kept

    with printing_first(page, "Cropped"):
        page.goto(parcel)
        expect(page.get_by_role("link", name="Print", exact=True)).to_have_attribute("href", re.compile("cropped"))
    with one_byte_changed(stack, reference):
        answer = page.request.get(f"{parcel}label/full.pdf")
        assert (answer.status, b"%PDF" in answer.body()) == (500, False)
        assert "This label can't be used" in answer.text().replace("&#x27;", "'")


@contextmanager
def printing_first(page: Page, size: str) -> Iterator[None]:
    """Make the account print this size until the test ends, then full page again."""
    _choose_label_size(page, size)
    try:
        yield
    finally:
        _choose_label_size(page, "Full page")


def _choose_label_size(page: Page, size: str) -> None:
    page.goto("/settings/label-size/")
    page.get_by_label(size).check()
    page.locator("main").get_by_role("button", name="Save", exact=True).click()
    expect(fact(page, "Size")).to_contain_text(size)


@contextmanager
def one_byte_changed(stack: Stack, reference: str) -> Iterator[None]:
    """Damage the stored full-page label for a while, as a failing disk would."""
    _flip_last_byte(stack, reference)
    try:
        yield
    finally:
        _flip_last_byte(stack, reference)


def _flip_last_byte(stack: Stack, reference: str) -> None:
    with sqlite3.connect(stack.portal.folder / "portal.sqlite3", timeout=20) as database:
        [(pk, content)] = database.execute(
            "SELECT b.id, b.content FROM orders_labelbytes b JOIN orders_label l ON l.id = b.label_id"
            " JOIN orders_order o ON o.id = l.order_id WHERE o.carrier_reference = ? AND l.size = 'full'",
            (reference,),
        )
        changed = content[:-1] + bytes([content[-1] ^ 1])
        database.execute("UPDATE orders_labelbytes SET content = ? WHERE id = ?", (changed, pk))


def test_cancel_asks_what_is_needed_first_and_cancels_once(stack: Stack, page: Page) -> None:
    reference = send(page)
    open_cancel(page)
    page.get_by_role("link", name="I need another pickup day").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You don't need to cancel")
    page.get_by_role("link", name="Keep parcel").click()
    assert lines_of(stack, "cancelled", reference) == []

    open_cancel(page)
    page.get_by_role("button", name=f"Cancel parcel {reference}").click()
    expect(page.get_by_text("Throw away the label.")).to_be_visible(timeout=15_000)
    assert [line["after"] for line in lines_of(stack, "cancelled", reference)] == [""]
    expect(page.locator("main").get_by_role("link", name=re.compile("^Print"))).to_have_count(0)


def open_cancel(page: Page) -> None:
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Cancel parcel").click()


@pytest.mark.parametrize(
    ("scanned", "says"),
    [
        ("Missed Pickup", "The driver didn't come. Another driver is booked"),
        ("Pickup Attempted", "The driver came but couldn't collect the parcel."),
    ],
    ids=["missed", "futile"],
)
def test_missed_and_futile_pickups_are_explained_and_an_old_cancel_button_is_refused(
    stack: Stack, page: Page, scanned: str, says: str
) -> None:
    reference = send(page)
    now = page.context.new_page()
    now.goto(page.url)
    open_cancel(page)
    stack.carrier.scan(reference, scanned)
    reload_until(now, says)
    expect(now.get_by_role("link", name=re.compile("Cancel"))).to_have_count(0)
    now.goto(f"{now.url.partition('?')[0]}cancel/")
    expect(now.get_by_role("heading", level=1)).to_have_text("You don't need to cancel")
    expect(now.get_by_role("button", name=re.compile("Cancel"))).to_have_count(0)

    with page.expect_response(lambda answer: answer.request.method == "POST") as pressed:
        page.get_by_role("button", name=f"Cancel parcel {reference}").click()
    assert pressed.value.status == 409
    expect(page.get_by_role("heading", level=1)).to_have_text("You don't need to cancel")
    assert lines_of(stack, "cancelled", reference) == []


def test_subscription_a_reference_booked_elsewhere_is_tracked_until_stopped(stack: Stack, page: Page) -> None:
    stack.carrier.foreign("SELSEWHERE9")
    page.goto("/watch/")
    page.get_by_label("Carrier reference").fill("selsewhere9")
    page.get_by_role("button", name="Watch this parcel").click()
    until(lambda: lines_of(stack, "subscribed", "SELSEWHERE9"), seconds=15, what="the carrier has subscribed us")
    stack.carrier.scan("SELSEWHERE9", "Pickup", description="Parcel picked up far away")
    reload_until(page, "Parcel picked up far away")
    expect(page.get_by_role("heading", level=1)).to_contain_text("SELSEWHERE9")
    page.get_by_role("button", name="Stop watching").click()
    expect(page.get_by_text("Stopped watching SELSEWHERE9.")).to_be_visible()


def test_authorised_link_opens_the_carriers_page_with_the_senders_tools(stack: Stack, page: Page) -> None:
    reference = send(page)
    assert "token=" not in page.content()
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Change delivery or pickup").click()
    page.get_by_role("link", name="Open the carrier's page").click()
    expect(page).to_have_url(re.compile(f"^{re.escape(stack.carrier.url)}/t/"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Parcel {reference}, for the sender")
    expect(page.get_by_text("You may move the pickup")).to_be_visible()
    page.goto(page.url.replace(reference, "SFOREIGN1"))
    expect(page.get_by_role("heading", level=1)).to_have_text("This link is not good any more")


def test_suspension_turns_booking_off_with_its_reason_and_leaves_tracking_on(
    stack: Stack, log_in: Open, page: Page
) -> None:
    reference = send(page)
    parcel = page.url
    ask_prices(page, receiver_name="Nobody Yet")
    booked = len(stack.carrier.ledger("booked"))
    with suspended(log_in("operator"), "The parcels we opened held fuel."):
        page.get_by_role("button", name=re.compile("^Book Standard Pickup")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Booking is off for this account")
        expect(page.get_by_text("Nothing was booked.")).to_contain_text("The parcels we opened held fuel.")
        stack.carrier.scan(reference, "Pickup", description="Parcel picked up all the same")
        page.goto(parcel)
        reload_until(page, "Parcel picked up all the same")
        assert len(stack.carrier.ledger("booked")) == booked
    page.goto("/parcels/new/")
    expect(page.get_by_role("button", name="See prices").last).to_be_visible()


@contextmanager
def suspended(staff: Page, why: str) -> Iterator[None]:
    """Suspend the demo's sender as the operator, and reinstate it at the end."""
    _open_act(staff, "Suspend")
    staff.get_by_label("Category").select_option("dangerous_goods")
    staff.get_by_label("Message to the sender").fill(why)
    staff.get_by_role("button", name="Suspend").click()
    expect(staff.get_by_text("Suspend: done for")).to_be_visible()
    try:
        yield
    finally:
        _open_act(staff, "Reinstate")
        staff.get_by_label("Reason").fill("They told us what was inside.")
        staff.get_by_role("button", name="Reinstate").click()
        expect(staff.get_by_text("Reinstate: done for")).to_be_visible()


def _open_act(staff: Page, act: str) -> None:
    staff.goto("/admin/accounts/sender/")
    staff.get_by_role("link", name="Marlow Candles").click()
    staff.get_by_role("link", name=act, exact=True).click()
