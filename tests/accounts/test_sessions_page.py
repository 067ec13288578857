"""Where somebody is logged in, and logging out from somewhere else."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from shipping_portal.accounts.login import sessions
from shipping_portal.accounts.login.session_store import OLD_BACKEND
from shipping_portal.accounts.models import Membership, Session, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Mobile/15E148"
URL = "/settings/security/"


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def test_each_session_is_listed_and_can_be_ended(alice: User, visit: Visit) -> None:
    here, phone = visit(alice), visit(alice)
    phone.get("/settings/", headers={"User-Agent": PHONE})
    here.get("/settings/", headers={"User-Agent": "Mozilla/5.0 (Windows NT 10.0)"})
    page = here.get(URL)
    assert "Computer This one" in text(page)
    assert "Phone" in text(page)
    assert here.session.session_key not in page.content.decode()
    name = next(place.name for place in page.context["places"] if not place.is_this)
    assert "Logged out of 1 place." in text(here.post(URL, {"end": name}, follow=True))
    assert is_in(here)
    assert not is_in(phone)


def test_all_other_sessions_can_be_ended_at_once(alice: User, visit: Visit) -> None:
    here, others = visit(alice), [visit(alice), visit(alice)]
    assert "Logged out of 2 places." in text(here.post(URL, {"end_others": "yes"}, follow=True))
    assert is_in(here)
    assert not any(is_in(other) for other in others)


def test_nobody_ends_somebody_elses_session_or_their_own_by_mistake(alice: User, bob: User, visit: Visit) -> None:
    alices, bobs = visit(alice), visit(bob)
    for client in (alices, bobs):
        name = sessions.live_sessions(alice, this_key=alices.session.session_key)[0].name
        assert "Logged out of 0 places." in text(client.post(URL, {"end": name}, follow=True))
    assert is_in(alices)


def test_the_page_lists_your_own_sessions_in_the_same_queries_for_many(
    alice: User, bob: User, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cost() -> tuple[int, int]:
        read.clear()
        with CaptureQueriesContext(connection) as captured:
            here.get(URL)
        return len(captured), len(read)

    read: list[str] = []
    inside = Session.get_decoded
    monkeypatch.setattr(Session, "get_decoded", lambda row: read.append(row.pk) or inside(row))
    here = visit(alice)
    here.get(URL)
    few, _ = cost()
    for _ in range(3):
        visit(bob)
    assert cost() == (few, 1)
    for _ in range(3):
        visit(alice)
    assert cost() == (few, 4)


def test_a_session_stays_listed_when_its_key_changes(alice: User, visit: Visit) -> None:
    session = visit(alice).session
    session.cycle_key()  # as a login and a new password do
    assert [place.is_this for place in sessions.live_sessions(alice, this_key=session.session_key)] == [True]


def test_a_visitor_has_no_row_and_gets_a_new_key_at_login(alice: User) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Client(enforce_csrf_checks=True)
    token = browser.get("/accounts/login/").context["csrf_token"]
    before = browser.cookies["session"].value
    assert not Session.objects.exists()
    typed = {"login": alice.email, "password": factories.PASSWORD, "csrfmiddlewaretoken": str(token)}
    assert browser.post("/accounts/login/", typed).status_code == 302
    after = browser.cookies["session"].value
    assert after != before
    assert Session.objects.get().whose == alice.pk
    assert not is_in(Client(headers={"cookie": f"session={before}"}))


def test_a_login_from_before_the_portals_own_backend_stays(alice: User) -> None:
    client = Client()
    client.force_login(alice, backend=OLD_BACKEND)
    assert client.session[BACKEND_SESSION_KEY] == settings.AUTHENTICATION_BACKENDS[0]
    assert is_in(client)


def test_a_copy_of_the_database_does_not_give_a_login(alice: User, visit: Visit) -> None:
    cookie = visit(alice).session.session_key
    assert Session.objects.get().pk != cookie
    row = Session.objects.get()
    for stolen in (row.pk, row.session_data, f"visitor:{row.session_data}"):
        assert not is_in(Client(headers={"cookie": f"session={stolen}"}))


@pytest.mark.parametrize("cookie", ["visitor:", "visitor:e30:1abc:forged", "visitor:" + "a" * 3000, "x" * 40])
def test_a_forged_or_old_cookie_logs_nobody_in(alice: User, cookie: str) -> None:
    assert Client(headers={"cookie": f"session={cookie}"}).get("/accounts/login/").status_code == 200


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        (PHONE, "Phone"),
        ("Mozilla/5.0 (Linux; Android 15; Pixel 9) Mobile Safari", "Phone"),
        ("Mozilla/5.0 (Linux; Android 15; SM-X910) Safari", "Tablet"),
        ("Mozilla/5.0 (iPad; CPU OS 19_0)", "Tablet"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Computer"),
        ("", "Unknown device"),
    ],
)
def test_a_device_is_named_as_its_browser_says(says: str, kind: str) -> None:
    assert sessions.device_name(says) == kind


def test_a_login_that_ends_during_its_own_request_leads_to_the_login_page(alice: User, ana: User, visit: Visit) -> None:
    """Its first request writes to the session. Django calls this a bad request, and ours said that nothing was done."""
    ana.membership.role = "owner"
    ana.membership.save()
    own = f"/settings/team/members/{alice.membership.pk}/"
    answer = factories.gave_password(visit(alice), alice).post(own, {"remove": "1"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert not Membership.objects.filter(user=alice).exists()


def test_an_operator_who_logs_out_everywhere_is_sent_to_the_login_page(sam: User, visit: Visit) -> None:
    own = f"/admin/accounts/user/{sam.pk}/acts/log-out/"
    answer = visit(sam).post(own, {"reason": "my laptop was stolen"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert not Session.objects.filter(whose=sam.pk).exists()
