"""A partner's server logs people in: each link opens once, within a minute, for one person, to one page."""

import datetime as dt
from collections.abc import Callable

import pytest
import time_machine
from django.http import Http404
from django.test import Client
from django.utils import timezone

from orders import entering
from orders.models import Draft
from shipping_portal.accounts.login import entry_links
from shipping_portal.accounts.models import Audit, EntryLink, Role, Sender, User
from shipping_portal.ops import logs
from shipping_portal.refused import Refused
from tests import factories
from tests.accounts.forms import code

pytestmark = pytest.mark.django_db
SITE = "http://127.0.0.1:8000"
FROM_THE_PARTNER = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
VALUES = {
    "receiver_name": "Lena Weiss",
    "receiver_line1": "4 Harbour St",
    "receiver_suburb": "Sydney",
    "receiver_postcode": "2000",
    "weight_kg": "1.5",
}


def path_of(link: str) -> str:
    assert link.startswith(f"{SITE}/accounts/enter/")
    return link.removeprefix(SITE)


def to_settings(user: User) -> str:
    return path_of(entry_links.link_to_settings(user, now=timezone.now()))


def is_logged_in(browser: Client) -> bool:
    return "_auth_user_id" in browser.session


def test_a_new_parcel_is_filled_in_without_a_password(alice: User) -> None:
    link = path_of(entering.link_to_new_parcel(alice, VALUES, now=timezone.now()))
    browser = Client(headers=FROM_THE_PARTNER)
    answer = browser.get(link)
    draft = Draft.objects.get()
    assert answer["Location"] == f"/parcels/drafts/{draft.uuid}/"
    page = browser.get(answer["Location"]).content.decode()
    assert all(f'value="{value}"' in page for value in VALUES.values())
    assert (draft.made_by, Audit.objects.filter(action="entry link used").count()) == (alice, 1)


def test_a_link_opens_a_parcel_or_the_settings(alice: User, quill: Sender) -> None:
    order = factories.order(quill, alice)
    link = path_of(entering.link_to_parcel(alice, order.uuid, now=timezone.now()))
    assert Client().get(link)["Location"] == f"/parcels/{order.uuid}/"
    assert Client().get(to_settings(alice))["Location"] == "/settings/"


def test_a_link_never_opens_twice_late_for_somebody_else_or_in_another_site(
    alice: User, bob: User, visit: Callable[[User], Client]
) -> None:
    opened = 0
    for number in range(100):
        link, stranger = to_settings(alice), Client(headers=FROM_THE_PARTNER)
        match number % 4:
            case 0:  # twice
                assert Client().get(link).status_code == 302
                opened += stranger.get(link).status_code != 410
            case 1:  # late
                with time_machine.travel(timezone.now() + dt.timedelta(seconds=60 + number)):
                    opened += stranger.get(link).status_code != 410
            case 2:  # by another user, who stays logged in
                browser = visit(bob)
                opened += browser.get(link).status_code != 409
                opened += browser.session["_auth_user_id"] != str(bob.pk)
            case 3:  # inside another site's page, or prefetched
                inside = [
                    {"sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate"},
                    {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"},
                    {"sec-fetch-dest": "empty", "sec-fetch-mode": "cors"},
                    {"sec-purpose": "prefetch;prerender"},
                ][number // 4 % 4]
                opened += stranger.get(link, headers=inside).status_code != 410
        opened += is_logged_in(stranger)
    assert opened == 0
    assert EntryLink.objects.exclude(used_at=None).count() == 25


def test_an_unopened_link_still_opens_for_its_person(alice: User, bob: User, visit: Callable[[User], Client]) -> None:
    link = to_settings(alice)
    assert visit(bob).get(link).status_code == 409
    assert Client().get(link, headers={"sec-fetch-dest": "iframe"}).status_code == 410
    assert Client().get(link)["Location"] == "/settings/"


def test_somebody_already_logged_in_goes_straight_there(alice: User, visit: Callable[[User], Client]) -> None:
    browser = visit(alice)
    assert browser.get(to_settings(alice))["Location"] == "/settings/"


def test_only_the_hash_is_stored_and_the_url_is_not_passed_on(alice: User) -> None:
    link = to_settings(alice)
    token = link.split("/")[-2]
    assert token not in str(EntryLink.objects.values())
    answers = [Client().get(link), Client().get(link)]
    for answer in answers:
        assert answer["Referrer-Policy"] == "strict-origin"
        assert "no-store" in answer["Cache-Control"]
        assert token not in answer.content.decode()
    assert token not in logs.scrub_line(f"GET {link} HTTP/1.1")


def test_no_link_lasts_longer_than_a_minute(alice: User) -> None:
    now = timezone.now()
    entry_links.create_link(alice, EntryLink.Purpose.SETTINGS, "/settings/", now=now)
    assert EntryLink.objects.get().expires_at == now + dt.timedelta(seconds=60)


def test_a_second_factor_is_still_asked_for(alice: User) -> None:
    secret = factories.second_factor(alice)
    browser = Client()
    assert browser.get(to_settings(alice))["Location"] == "/accounts/2fa/authenticate/"
    assert not is_logged_in(browser)
    assert browser.post("/accounts/2fa/authenticate/", {"code": code(secret)})["Location"] == "/settings/"


def test_a_login_disabled_meanwhile_stays_disabled(alice: User) -> None:
    link, browser = to_settings(alice), Client()
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert browser.get(link)["Location"] == "/accounts/inactive/"
    assert not is_logged_in(browser)


def test_nobody_else_is_logged_in(alice: User, sam: User, bob: User, quill: Sender) -> None:
    now = timezone.now()
    stranger = factories.user("new@nowhere.example")
    for person in (sam, stranger):
        with pytest.raises(Refused):
            entry_links.link_to_settings(person, now=now)
    with pytest.raises(Http404):
        entering.link_to_parcel(bob, factories.order(quill, alice).uuid, now=now)
    quill.memberships.filter(user=alice).update(role=Role.VIEWER)
    with pytest.raises(Refused):
        entering.link_to_new_parcel(alice, VALUES, now=now)
    for path in ("https://evil.example/", "//evil.example/", "evil"):
        with pytest.raises(Refused):
            entry_links.create_link(alice, EntryLink.Purpose.SETTINGS, path, now=now)
    assert (EntryLink.objects.count(), Draft.objects.count()) == (0, 0)


def test_links_are_deleted_a_day_after_they_expire(alice: User) -> None:
    to_settings(alice)
    now = timezone.now()
    assert entry_links.purge_entry_links(now + dt.timedelta(hours=23)) == 0
    assert entry_links.purge_entry_links(now + dt.timedelta(hours=25)) == 1
