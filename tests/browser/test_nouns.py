"""For each noun of the interface one walk: from a person's click to the carrier's ledger and back to the screen."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.test_main_job import book, fill_parcel, labels_of, see_prices

STILL = "SIM-NONE"  # the sandbox leaves such a parcel where it is


@pytest.fixture
def page(log_in: Open) -> Page:
    """The demo's sender, logged in."""
    return log_in("sender")


def sent(stack: Stack, reference: str) -> Any:
    """The booking as the carrier received it."""
    line = next(line for line in stack.carrier.ledger("booked") if line["reference"] == reference)
    bodies = [request["body"] for request in stack.carrier.requests() if request["operation"] == "book"]
    return next(json.loads(body) for body in bodies if line["order_key"] in body)


def reload_until(page: Page, text: str, *, seconds: int = 20) -> None:
    for _ in range(seconds * 2):
        if page.get_by_text(text).count():
            return
        page.wait_for_timeout(500)
        page.reload()
    expect(page.get_by_text(text).first).to_be_visible()


def booked_and_still(page: Page, service: str = "Standard Pickup", **typed: str) -> str:
    fill_parcel(page, customer_reference=STILL, **typed)
    see_prices(page)
    return book(page, service)


def cancelled(stack: Stack) -> list[str]:
    return [line["reference"] for line in stack.carrier.ledger("cancelled")]


def test_product_the_card_that_is_pressed_is_what_the_carrier_books(stack: Stack, page: Page) -> None:
    fill_parcel(page, customer_reference=STILL)
    see_prices(page)
    button = page.get_by_role("button", name=re.compile("Book Express Pickup"))
    price = button.inner_text().split("$")[1]
    reference = book(page, "Express Pickup")
    assert sent(stack, reference)["product_code"] == "EXPRESS-PICKUP"
    expect(page.get_by_text(f"Booked at ${price}")).to_be_visible()
    expect(page.get_by_text("Service charge")).to_be_visible()


def test_ddp_duties_are_quoted_by_post_shown_as_paid_and_booked(stack: Stack, page: Page) -> None:
    page.goto("/parcels/new/")
    page.locator("[name=receiver_country]").select_option("US")
    fill_abroad(page)
    see_prices(page)
    card = page.get_by_role("article").filter(has_text="Duties and taxes included – guaranteed total")
    expect(card).to_have_count(1)
    card.get_by_role("button", name=re.compile("^Book")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        re.compile("^S[A-Z0-9]{5,} to "), timeout=30_000
    )
    reference = page.get_by_role("heading", level=1).inner_text().split()[0]
    body = sent(stack, reference)
    assert body["product_code"] == "STANDARD-DDP-PICKUP"
    assert body["parcel_contents"][0]["hs_code"] == "6109.10.0012"
    assert body["receiver"]["contact"]["phone"]
    assert [r for r in stack.carrier.requests() if r["operation"] == "quote_contents"]
    expect(page.get_by_text("Duties", exact=True)).to_be_visible()


def fill_abroad(page: Page) -> None:
    values = {
        "receiver_name": "Avery Lund",
        "receiver_line1": "500 Placeholder Ave",
        "receiver_suburb": "Portland",
        "receiver_state": "OR",
        "receiver_postcode": "97205",
        "receiver_email": "avery.lund@example.org",
        "receiver_phone": "+1 503 226 0142",
        "description": "Cotton shirts",
        "weight_kg": "0.6",
        "length_cm": "30",
        "width_cm": "22",
        "height_cm": "4",
        "customer_reference": STILL,
        "item_1_description": "Cotton t-shirt, knitted",
        "item_1_value": "28.00",
        "item_1_quantity": "2",
        "item_1_origin": "BD",
        "item_1_hs_code": "6109.10.0012",
        "contents_type": "Merchandise",
    }
    for name, value in values.items():
        control = page.locator(f"[name={name}]")
        if control.evaluate("control => control.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)


def test_pickup_another_day_reaches_the_carrier_and_the_page(stack: Stack, page: Page) -> None:
    fill_parcel(page, customer_reference=STILL)
    see_prices(page)
    card = page.get_by_role("article").filter(has_text="Standard Pickup")
    choice = card.locator("[name=pickup_date]").nth(1)
    day = choice.get_attribute("value")
    words = card.locator("label").nth(1).inner_text().strip()
    choice.check()
    card.get_by_role("button", name=re.compile("^Book")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        re.compile("^S[A-Z0-9]{5,} to "), timeout=30_000
    )
    reference = page.get_by_role("heading", level=1).inner_text().split()[0]
    assert sent(stack, reference)["pickup_date"] == day
    expect(page.get_by_text(f"before pickup on {words}")).to_be_visible()


def test_drop_off_asks_for_no_day_and_sends_none(stack: Stack, page: Page) -> None:
    fill_parcel(page, customer_reference=STILL)
    see_prices(page)
    card = page.get_by_role("article").filter(has_text="Standard Drop Off")
    assert card.locator("[name=pickup_date]").count() == 0
    reference = book(page, "Standard Drop Off")
    body = sent(stack, reference)
    assert body["product_code"] == "STANDARD-DROPOFF"
    assert "pickup_date" not in body


def test_extra_cover_is_asked_for_priced_and_booked(stack: Stack, page: Page) -> None:
    reference = booked_and_still(page, cover_amount="300")
    assert sent(stack, reference)["cover"]["total_cover"]["amount"] == 300
    cover = page.get_by_role("row").filter(has_text=re.compile(r"^\s*(Extra )?[Cc]over\s*\$")).first
    expect(cover).not_to_contain_text("$0.00")


def test_label_formats_both_are_the_carriers_files_and_a_changed_byte_is_never_served(
    stack: Stack, page: Page
) -> None:
    reference = booked_and_still(page)
    reload_until(page, "Original file from the carrier, unchanged")
    links = page.locator("a[href*='/label/']:not([href*=download])")
    addresses = {href for href in (link.get_attribute("href") for link in links.all()) if href}
    assert {href.rsplit("/", 1)[1] for href in addresses} == {"full.pdf", "cropped.pdf"}
    served = {hashlib.sha256(page.request.get(href).body()).hexdigest() for href in addresses}
    assert served == {hashlib.sha256(path.read_bytes()).hexdigest() for path in labels_of(stack, reference)}

    full = next(href for href in addresses if href.endswith("full.pdf"))
    change_one_byte(stack, reference)
    answer = page.request.get(full)
    assert answer.status >= 500
    assert b"%PDF" not in answer.body()


def change_one_byte(stack: Stack, reference: str) -> None:
    """A flipped byte in the stored full-page label, as a failing disk would leave it."""
    with sqlite3.connect(stack.portal.folder / "portal.sqlite3", timeout=20) as database:
        [(pk, content)] = database.execute(
            "SELECT b.id, b.content FROM orders_labelbytes b JOIN orders_label l ON l.id = b.label_id"
            " JOIN orders_order o ON o.id = l.order_id WHERE o.carrier_reference = ? AND l.size = 'full'",
            (reference,),
        ).fetchall()
        changed = content[:-1] + bytes([content[-1] ^ 1])
        database.execute("UPDATE orders_labelbytes SET content = ? WHERE id = ?", (changed, pk))


def test_cancel_asks_why_first_and_another_day_never_cancels(stack: Stack, page: Page) -> None:
    reference = booked_and_still(page)
    page.get_by_role("link", name="Cancel or change").click()
    page.get_by_label(re.compile("another pickup day|another day", re.IGNORECASE)).check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You don't need to cancel")
    page.get_by_role("link", name="Keep parcel").click()
    assert reference not in cancelled(stack)

    page.get_by_role("link", name="Cancel or change").click()
    page.get_by_label(re.compile("not sending it", re.IGNORECASE)).check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name=f"Cancel parcel {reference}").click()
    reload_until(page, "Destroy the printed label")
    assert cancelled(stack).count(reference) == 1


@pytest.mark.parametrize(
    ("word", "says"),
    [("Missed Pickup", "The driver didn't come."), ("Pickup Attempted", "couldn't collect the parcel")],
    ids=["missed", "futile"],
)
def test_missed_and_futile_pickups_are_explained_and_never_cancelled(
    stack: Stack, page: Page, word: str, says: str
) -> None:
    reference = booked_and_still(page)
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    address = page.url
    stack.carrier.scan(reference, word)
    reload_until(page, says)
    page.goto(f"{address}cancel/?need=not_sending")
    expect(page.get_by_role("heading", level=1)).to_have_text("You don't need to cancel")
    assert page.get_by_role("button", name=re.compile("Cancel parcel")).count() == 0
    forced = page.request.post(
        f"{address}cancel/",
        form={"need": "not_sending", "csrfmiddlewaretoken": token},
        headers={"Referer": address},
    )
    assert forced.status == 409
    assert reference not in cancelled(stack)


def test_subscription_a_reference_booked_elsewhere_is_followed(stack: Stack, page: Page) -> None:
    stack.carrier.foreign("SELSEWHERE9")
    page.goto("/watch/")
    page.get_by_label(re.compile("reference", re.IGNORECASE)).first.fill("selsewhere9")
    page.locator("main form button").first.click()
    for _ in range(30):
        if [line for line in stack.carrier.ledger("subscribed") if line["reference"] == "SELSEWHERE9"]:
            break
        page.wait_for_timeout(300)
    stack.carrier.scan("SELSEWHERE9", "Pickup", description="Parcel picked up far away")
    page.goto("/watch/")
    page.get_by_role("link", name=re.compile("SELSEWHERE9")).first.click()
    reload_until(page, "Parcel picked up far away")
    assert [line for line in stack.carrier.ledger("subscribed") if line["reference"] == "SELSEWHERE9"]


def test_authorised_link_opens_the_carriers_tools_for_the_sender(stack: Stack, page: Page) -> None:
    reference = booked_and_still(page)
    page.get_by_role("link", name="Open parcel tools").click()
    link = page.locator("main a[rel~=noreferrer]").get_attribute("href") or ""
    assert link.startswith(f"{stack.carrier.url}/t/")
    answer = page.request.get(link)
    assert answer.status == 200
    assert reference in answer.text()
    assert page.request.get(link[:-4] + "AAAA").status in {401, 403}


@pytest.fixture
def reinstated(stack: Stack) -> Iterator[None]:
    """Whatever happens, the demo's sender may book again afterwards."""
    yield
    with sqlite3.connect(stack.portal.folder / "portal.sqlite3", timeout=20) as database:
        database.execute(
            "UPDATE accounts_sender SET suspended_at = NULL, suspension = '', suspension_text = ''"
        )


def test_suspension_turns_booking_off_with_its_reason_and_leaves_tracking(
    stack: Stack, log_in: Open, reinstated: None
) -> None:
    page = log_in("sender")
    reference = booked_and_still(page)
    parcel = page.url
    operator = log_in("operator")
    operator.goto("/admin/accounts/sender/")
    operator.get_by_role("link", name="Marlow Candles").first.click()
    operator.get_by_role("link", name=re.compile("Suspend")).first.click()
    operator.locator("[name=category]").select_option("dangerous_goods")
    operator.locator("[name=text]").fill("Dangerous-goods review")
    operator.locator("[name=note]").fill("The carrier asked on the phone.")
    operator.locator("#content form button, #content form input[type=submit]").last.click()

    page.goto("/parcels/new/")
    expect(page.get_by_text("Booking is off for this account").first).to_be_visible()
    expect(page.get_by_text("Dangerous-goods review").first).to_be_visible()
    assert page.get_by_role("button", name="See prices").count() == 0
    before = len(stack.carrier.ledger("booked"))
    page.goto(parcel)
    expect(page.get_by_role("heading", level=1)).to_contain_text(reference)
    assert len(stack.carrier.ledger("booked")) == before
