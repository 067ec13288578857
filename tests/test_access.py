"""The access matrix: every URL of the portal, and who gets what. A new URL without a row fails here."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern

from orders.models import Order
from shipping_portal.accounts.login import seeing_as
from tests.access import ACCESS, MEMBERS, OURS, PUBLIC_NAMES, ROLES, World, address, audience
from tests.access import _logged_in as _logged_in
from tests.access import world as world
from tests.queries import sql_of
from tests.savepoints import undone

pytestmark = pytest.mark.django_db


def test_every_page_is_only_for_the_roles_in_the_matrix() -> None:
    declared = {str(entry.name): audience(entry) for _, entry in OURS if "public" not in audience(entry)}
    assert declared == {name: frozenset(roles) for roles, names in ACCESS.items() for name in names.split()}


def test_every_url_declares_its_audience() -> None:
    for route, entry in OURS:
        assert audience(entry), f"{route} says nothing about who it is for"
        assert audience(entry) <= {"public", *ROLES}, route
        if "public" in audience(entry):
            assert entry.name in PUBLIC_NAMES or route.startswith("help/"), f"{route} is public"


def answers(client: Client, url: str) -> set[int]:
    """Return the statuses of GET and POST. A redirect to the login counts as 401; 405, which leaks nothing, is left out."""
    both = (client.get(url), client.post(url, {}))
    asked_in = [answer.get("Location", "").startswith("/accounts/login/") for answer in both]
    return {401 if asked else answer.status_code for asked, answer in zip(asked_in, both, strict=True)} - {405}


WITH_OBJECT = [
    (route, entry) for route, entry in MEMBERS if re.search("<uuid|<str:reference|<str:week|<int:photo", route)
]


def all_answers(world: World, who: str, routes: list[tuple[str, URLPattern]]) -> dict[str, set[int]]:
    """Return the response of each URL to somebody. After each one the database is as before."""
    found = {}
    for route, _ in routes:
        with undone():
            found[route] = answers(world.client(who), address(route, world.things))
    return found


@pytest.mark.parametrize("role", ROLES)
def test_a_role_gets_404_for_pages_not_meant_for_it(role: str, world: World) -> None:
    found = all_answers(world, role, MEMBERS)
    for route, entry in MEMBERS:
        if role not in audience(entry):
            assert found[route] <= {404}, route
        else:
            assert not found[route] & {401, 500, 503}, route


def test_a_stranger_gets_404_for_alices_objects(world: World) -> None:
    for route, entry in WITH_OBJECT:
        assert all_answers(world, "stranger", [(route, entry)])[route] <= {404}, route
        assert Order.objects.get().status == "booked", route


def test_an_operator_has_no_sender_pages(world: World) -> None:
    found = all_answers(world, "operator", MEMBERS)
    assert {route: codes for route, codes in found.items() if not codes <= {404, 302}} == {}


WRITES = re.compile('(INSERT INTO|UPDATE|DELETE FROM) "(?!accounts_session|accounts_audit)')


@pytest.fixture
def onlooker(world: World) -> Client:
    """An operator who sees the pages of Alice's account; see accounts/login/seeing_as.py."""
    browser, sender = world.client("operator"), world.things["order"].sender
    begun = browser.post(f"/admin/accounts/sender/{sender.pk}/see_as/", {"reason": "she can't find her parcel"})
    assert begun.status_code == 302
    return browser


def test_an_operator_viewing_as_a_sender_reads_only_the_listed_pages(world: World, onlooker: Client) -> None:
    for route, entry in MEMBERS:
        with CaptureQueriesContext(connection) as asked:
            page = onlooker.get(address(route, world.things))
        assert page.status_code in ({200, 302} if entry.name in seeing_as.PAGES else {403}), route
        assert [text for text in sql_of(asked) if WRITES.match(text)] == [], route
        assert not page.has_header("Content-Disposition"), route
        shown = page.content.decode()
        assert not re.search("token=|%PDF|/invitation/", shown), route
        assert page.status_code == 302 or "You see this as" in shown, route


def test_an_operator_viewing_as_a_sender_cannot_post(world: World, onlooker: Client) -> None:
    for route, _ in MEMBERS:
        with undone():
            assert onlooker.post(address(route, world.things), {}).status_code == 403, route
