"""Small settings: profile, appearance, keyboard, business, booking, and who may change which."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from shipping_portal.accounts.models import Audit, Membership, Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]

OWN = ["profile", "appearance", "keyboard", "security"]
OF_THE_ACCOUNT = ["business", "booking", "limits", "data", "pickup-addresses", "pickup-addresses/new"]


@pytest.fixture
def browser(alice: User, visit: Visit) -> Client:
    return visit(alice)


def test_everybody_changes_their_own_name(vic: User, visit: Visit) -> None:
    assert visit(vic).post("/settings/profile/", {"name": "  Vic   Tor "})["Location"] == "/settings/"
    vic.refresh_from_db()
    assert vic.name == "Vic Tor"


@pytest.mark.parametrize("name", ["", "a\x00b", "x" * 121])
def test_a_name_is_one_line_that_can_be_read(browser: Client, alice: User, name: str) -> None:
    assert browser.post("/settings/profile/", {"name": name}).status_code == 422
    alice.refresh_from_db()
    assert alice.name == "Alice Quill"


def test_a_chosen_theme_sets_the_class_of_every_page(browser: Client, alice: User) -> None:
    assert '<html lang="en-AU">' in browser.get("/settings/").content.decode()
    browser.post("/settings/appearance/", {"theme": "dark"})
    for page in ("/settings/", "/parcels/", "/help/contact/", "/nowhere/"):
        assert '<html lang="en-AU" class="dark">' in browser.get(page).content.decode()
    assert browser.post("/settings/appearance/", {"theme": "pink"}).status_code == 422
    browser.post("/settings/appearance/", {"theme": "system"})
    assert '<html lang="en-AU">' in browser.get("/settings/").content.decode()


def test_single_keys_are_turned_off_by_a_form_without_its_tick(browser: Client, alice: User) -> None:
    browser.post("/settings/keyboard/")
    alice.refresh_from_db()
    assert not alice.has_shortcuts
    browser.post("/settings/keyboard/", {"has_shortcuts": "on"})
    alice.refresh_from_db()
    assert alice.has_shortcuts


@pytest.mark.parametrize(("role", "keys"), [("owner", ["N", "Q", "/", "P", "C"]), ("bookkeeper", ["/", "?"])])
def test_the_list_of_keys_names_those_that_do_something(ana: User, visit: Visit, role: str, keys: list[str]) -> None:
    Membership.objects.filter(user=ana).update(role=role)
    page = visit(ana).get("/settings/keyboard/").content.decode()
    assert re.findall(r"<dt><kbd>(.)</kbd></dt>", page)[:5] == keys
    assert ("When printing labels" in page) == (role == "owner")


def test_the_business_has_a_name_and_a_zone_of_its_country(browser: Client, quill: Sender, alice: User) -> None:
    browser.post("/settings/business/", {"name": "Quill Ltd", "zone": "Australia/Perth", "country": "US"})
    quill.refresh_from_db()
    assert (quill.name, quill.zone, quill.country) == ("Quill Ltd", "Australia/Perth", "AU")
    assert Audit.objects.filter(action="business settings saved", actor=alice, sender=quill).exists()
    answer = browser.post("/settings/business/", {"name": "Quill Ltd", "zone": "America/Toronto"})
    assert (answer.status_code, "Choose one from the page." in text(answer)) == (422, True)


def test_a_business_keeps_a_zone_outside_its_country(browser: Client, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(zone="Pacific/Auckland")
    browser.post("/settings/business/", {"name": "Quill Ltd", "zone": "Pacific/Auckland"})
    quill.refresh_from_db()
    assert (quill.name, quill.zone) == ("Quill Ltd", "Pacific/Auckland")


def test_the_booking_rule_and_the_first_size_are_chosen(browser: Client, quill: Sender, bob: User) -> None:
    size = factories.size(quill)
    foreign = factories.size(bob.membership.sender)
    browser.post("/settings/booking/", {"service_rule": "fastest", "default_size": size.pk})
    quill.refresh_from_db()
    assert (quill.service_rule, quill.default_size) == ("fastest", size)
    typed = {"service_rule": "fastest", "default_size": foreign.pk}
    assert browser.post("/settings/booking/", typed).status_code == 422
    browser.post("/settings/booking/", {"service_rule": "last", "default_size": ""})
    quill.refresh_from_db()
    assert (quill.service_rule, quill.default_size) == ("last", None)


def test_the_owner_sets_their_own_limits_and_sees_what_is_used(browser: Client, quill: Sender, alice: User) -> None:
    today = timezone.now().astimezone(quill.tzinfo).date()
    Sender.objects.update(counted_on=today, booked_today=3, spent_today="36.24", unbilled="99.50")
    page = text(browser.get("/settings/limits/"))
    for words in ("3 of 2,000", "$36.24 AUD of $25,000.00 AUD", "$99.50 AUD, no limit", "in AUD"):
        assert words in page
    browser.post("/settings/limits/", {"own_bookings_a_day": "50", "own_money_a_day": "600"})
    quill.refresh_from_db()
    assert (quill.own_bookings_a_day, quill.own_money_a_day, quill.booked_today) == (50, 600, 3)
    assert "3 of 2,000; your own limit is 50" in text(browser.get("/settings/"))
    assert Audit.objects.filter(action="limits settings saved", actor=alice, sender=quill).exists()
    for wrong in ({"own_bookings_a_day": "-1"}, {"own_money_a_day": "-0.01"}, {"own_money_a_day": "lots"}):
        assert browser.post("/settings/limits/", wrong).status_code == 422
    browser.post("/settings/limits/", {"own_bookings_a_day": "", "own_money_a_day": ""})
    quill.refresh_from_db()
    assert (quill.own_bookings_a_day, quill.own_money_a_day) == (None, None)


def test_yesterdays_use_does_not_count_today(browser: Client, quill: Sender) -> None:
    Sender.objects.update(counted_on="2026-01-01", booked_today=3, spent_today="36.24", unbilled="36.24")
    page = text(browser.get("/settings/limits/"))
    assert "0 of 2,000" in page
    assert "$36.24 AUD, no limit" in page


def test_labels_open_the_print_window_only_if_asked_to(browser: Client, quill: Sender) -> None:
    browser.post("/settings/label-size/", {"label_size": "cropped", "prints_at_once": "on"})
    quill.refresh_from_db()
    assert (quill.label_size, quill.prints_at_once) == ("cropped", True)


def test_the_page_about_your_data_links_to_closing_the_account(browser: Client) -> None:
    page = browser.get("/settings/data/")
    assert 'href="/settings/data/close/"' in page.content.decode()
    assert "Original labels (ZIP)" in text(page)


@pytest.mark.parametrize("page", OF_THE_ACCOUNT)
def test_only_the_owner_changes_account_settings(page: str, ana: User, bea: User, vic: User, visit: Visit) -> None:
    for member in (ana, bea, vic):
        assert visit(member).get(f"/settings/{page}/").status_code == 404
        assert visit(member).post(f"/settings/{page}/").status_code in {404, 405}


def test_the_more_menu_lists_what_each_role_may_open(alice: User, ana: User, vic: User, visit: Visit) -> None:
    def offered(person: User) -> str:
        return visit(person).get("/more/").content.decode().split("<main")[1]

    for address in ("/sizes/", "/settings/team/", "/watch/", "/help/", "/settings/"):
        assert f'href="{address}"' in offered(alice)
    assert 'href="/sizes/"' in offered(ana)
    assert 'href="/settings/team/"' not in offered(ana)
    assert 'href="/sizes/"' not in offered(vic)
    assert 'href="/watch/"' in offered(vic)


@pytest.mark.parametrize("page", [*OWN, *OF_THE_ACCOUNT])
def test_a_page_takes_few_queries_and_asks_a_visitor_to_log_in(browser: Client, page: str) -> None:
    address = f"/settings/{page}/"
    browser.get(address)
    with CaptureQueriesContext(connection) as seen:
        assert browser.get(address).status_code == 200
    assert len(seen) <= 8
    assert Client().get(address)["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize(
    ("page", "typed"),
    [
        ("profile", {"name": "Alice Renamed"}),
        ("appearance", {"theme": "dark"}),
        ("keyboard", {}),
        ("business", {"name": "Renamed", "zone": "Australia/Perth"}),
        ("booking", {"service_rule": "fastest", "default_size": ""}),
        ("limits", {"own_bookings_a_day": "50", "own_money_a_day": "600"}),
        ("label-size", {"label_size": "cropped", "prints_at_once": "on"}),
    ],
)
def test_saving_a_setting_does_not_change_anybody_elses(
    browser: Client, ana: User, bob: User, page: str, typed: dict[str, str]
) -> None:
    def others() -> list[object]:
        people = User.objects.filter(pk__in=[ana.pk, bob.pk]).order_by("pk")
        return [*people.values(), *Sender.objects.filter(memberships__user=bob).values()]

    before = others()
    assert browser.post(f"/settings/{page}/", typed)["Location"] == "/settings/"
    assert others() == before
