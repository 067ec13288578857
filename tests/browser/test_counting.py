"""J4, J6, J9 to J11: how many clicks and keys a job takes. R6: however often Book is pressed, one parcel is booked."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack
from tests.browser.parcel_form import PASTED, paste, save_default_size
from tests.browser.walking import count_clicks, counted, fill_parcel, see_prices, start_counting
from tests.processes.portal import until

pytestmark = pytest.mark.xdist_group("gallery")  # a second portal that has the gallery
BOOKED = re.compile(r"^S[A-Z0-9]{5,} to ")


@pytest.fixture
def today(walk_in: Open, gallery: Any) -> Page:
    page = walk_in()
    page.goto(gallery["typical"]["pages"]["today"])
    return page


@pytest.mark.pdf_viewer
def test_j4_a_label_is_printed_from_today_with_one_click_and_one_key(today: Page) -> None:
    clicks = count_clicks(today)
    today.add_init_script("window.print = () => { top.printed = (top.printed || 0) + 1; };")
    today.locator("main").get_by_role("link", name=re.compile(r"^Print \d+ labels?$")).click()
    expect(today.locator("#bench-title")).to_be_visible()
    today.wait_for_load_state("domcontentloaded")  # the bench appears before its script listens
    today.keyboard.press("Enter")
    until(lambda: today.evaluate("top.printed") == 1, seconds=10, what="a print window opened")
    assert len(clicks) == 1


def test_j4_a_label_is_opened_from_its_parcel_with_one_key(walk_in: Open, gallery: Any) -> None:
    page = walk_in()
    page.goto(gallery["typical"]["pages"]["parcel booked"])
    with page.expect_request(re.compile(r"/label/full\.pdf$")):
        page.keyboard.press("p")


def test_j6_what_to_do_about_a_futile_pickup_is_one_click_from_today(today: Page) -> None:
    expect(today.get_by_text("another driver is booked for").first).to_be_visible()  # missed: there is nothing to press
    clicks = count_clicks(today)
    today.get_by_role("link", name=re.compile("^Change delivery or pickup of")).first.click()
    expect(today.get_by_role("link", name="Open the carrier's page")).to_be_visible()
    assert len(clicks) == 1


@pytest.mark.parametrize("mail", ["mail of one charge", "mail of several charges"])
def test_j9_the_reason_for_an_extra_charge_is_one_click_from_the_email(
    stack: Stack, walk_in: Open, gallery: Any, mail: str
) -> None:
    page = walk_in()
    clicks = count_clicks(page)
    link = f"<a href='{stack.url}{gallery['typical']['pages'][mail]}'>Open the portal</a>"
    page.goto(f"data:text/html,{quote(link)}")
    page.get_by_role("link", name="Open the portal").click()
    why = page.get_by_text("You declared 2.4 kg. The carrier measured 3.6 kg.").first
    expect(why).to_be_in_viewport()
    assert len(clicks) == 1


def test_j10_a_price_is_six_keys_and_no_click(log_in: Open) -> None:
    page = log_in()
    save_default_size(page)
    page.goto("/today/")
    start_counting(page)
    page.keyboard.press("q")
    expect(page.get_by_label("Suburb or postcode")).to_be_focused()
    page.keyboard.type("7000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("^To .* TAS 7000$"))).to_be_visible()
    expect(page.locator(".rows .num").first).to_have_text(re.compile(r"^\$\d+\.\d\d$"))
    assert counted(page) == {"keys": 6, "clicks": 0}


def test_j11_a_pasted_address_is_booked_with_five_taps_on_a_phone(log_in: Open) -> None:
    save_default_size(log_in())
    page = log_in(width=360, touch=True)
    page.goto("/today/")
    taps = count_clicks(page)
    page.get_by_role("link", name=re.compile("^New (parcel|package)$")).first.tap()
    page.locator("#smart").tap()
    page.wait_for_load_state("domcontentloaded")
    paste(page, PASTED.replace("Rosa", "Tilda"))
    button = page.locator("#prices .book button")
    expect(button).to_contain_text("Book ")
    button.tap()
    expect(page).to_have_title(BOOKED, timeout=30_000)
    print_link = page.locator("main").get_by_role("link", name=re.compile("^Print ")).first
    until(lambda: print_link.count() or not page.wait_for_timeout(300), seconds=20, what="its label is there")
    print_link.tap(no_wait_after=True)
    assert len(taps) <= 5, taps


DELIVERED = """
from django.utils import timezone
from shipping_portal.accounts.models import User
from tests import factories
user = User.objects.get(email={email!r})
made = factories.order(user.membership.sender, user, receiver_name="Sent Backwards", status="booked",
    progress="delivered", progress_at=timezone.now())
print(made.uuid)
"""


def test_a_delivered_parcel_is_sent_back_with_two_clicks(stack: Stack, log_in: Open) -> None:
    uuid = stack.shell(DELIVERED.format(email=stack.people["sender"]["email"])).split()[-1]
    page = log_in()
    page.goto(f"/parcels/{uuid}/")
    clicks = count_clicks(page)
    page.get_by_role("button", name="Send it back").click()
    page.get_by_role("button", name=re.compile("^Book ")).first.click()
    expect(page).to_have_title(re.compile("^S[A-Z0-9]{5,} from Sent Backwards"), timeout=30_000)
    assert len(clicks) == 2


@pytest.mark.smoke
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_r6_book_pressed_in_every_way_books_one_parcel(stack: Stack, log_in: Open, javascript: bool) -> None:
    page = log_in(javascript=javascript)
    fill_parcel(page, receiver_name=f"Once Only{javascript}")
    see_prices(page)
    prices = page.url
    second = page.context.new_page()
    second.goto(prices)
    before = len(stack.carrier.ledger("booked"))
    button(page).dblclick()
    button(second).focus()
    second.keyboard.press("Enter", delay=0)
    expect(page).to_have_title(BOOKED, timeout=30_000)
    expect(second).to_have_title(BOOKED, timeout=30_000)
    page.reload()
    page.go_back()
    if button(page).count():
        button(page).click()
        expect(page).to_have_title(BOOKED, timeout=30_000)
    second.goto(prices)
    expect(second.get_by_text("You booked this parcel.")).to_be_visible()
    assert len(stack.carrier.ledger("booked")) == before + 1


def button(page: Page) -> Any:
    return page.get_by_role("button", name=re.compile("^Book Standard Pickup,"))
