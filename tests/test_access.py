"""The access matrix: every address of the portal, and who gets what. A new address without a row fails here."""

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
from tests.table import table

pytestmark = pytest.mark.django_db


def test_every_page_is_for_whom_the_matrix_names() -> None:
    declared = {str(entry.name): audience(entry) for _, entry in OURS if "public" not in audience(entry)}
    assert declared == {name: frozenset(roles) for roles, names in ACCESS.items() for name in names.split()}


@table(("route", "entry"), OURS, ids=[route for route, _ in OURS])
def test_every_address_declares_its_audience(route: str, entry: URLPattern) -> None:
    assert audience(entry), f"{route} says nothing about who it is for"
    assert audience(entry) <= {"public", *ROLES}
    if "public" in audience(entry):
        assert entry.name in PUBLIC_NAMES or route.startswith("help/"), f"{route} is public"


def answers(client: Client, url: str) -> set[int]:
    """What GET and POST answer: 401 for the way to the log-in; 405, which leaks nothing, is left out."""
    both = (client.get(url), client.post(url, {}))
    asked_in = [answer.get("Location", "").startswith("/accounts/login/") for answer in both]
    return {401 if asked else answer.status_code for asked, answer in zip(asked_in, both, strict=True)} - {405}


WITH_OBJECT = [
    (route, entry) for route, entry in MEMBERS if re.search("<uuid|<str:reference|<str:week|<int:photo", route)
]


@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_a_visitor_is_sent_to_log_in(route: str, entry: URLPattern, world: World) -> None:
    answer = Client().get(address(route, world.things))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/")


SHUT = [(route, role) for route, entry in MEMBERS for role in ROLES if role not in audience(entry)]
OPEN = [(route, role) for route, entry in MEMBERS for role in ROLES if role in audience(entry)]


@table(("route", "role"), SHUT, ids=[f"{route} {role}" for route, role in SHUT])
def test_a_role_that_a_page_is_not_for_gets_404(route: str, role: str, world: World) -> None:
    assert answers(world.client(role), address(route, world.things)) <= {404}


@pytest.mark.nightly  # by day, the tests of each page open it as those it is for
@table(("route", "role"), OPEN, ids=[f"{route} {role}" for route, role in OPEN])
def test_a_role_that_a_page_is_for_gets_an_answer(route: str, role: str, world: World) -> None:
    assert not answers(world.client(role), address(route, world.things)) & {401, 500, 503}


@table(("route", "entry"), WITH_OBJECT, ids=[route for route, _ in WITH_OBJECT])
def test_a_stranger_gets_404_for_what_is_alices(route: str, entry: URLPattern, world: World) -> None:
    assert answers(world.client("stranger"), address(route, world.things)) <= {404}
    assert Order.objects.get().status == "booked"


@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_an_operator_has_no_sender_pages(route: str, entry: URLPattern, world: World) -> None:
    assert answers(world.client("operator"), address(route, world.things)) <= {404, 302}


WRITES = re.compile('(INSERT INTO|UPDATE|DELETE FROM) "(?!accounts_session|accounts_audit)')


@pytest.fixture
def onlooker(world: World) -> Client:
    """An operator who sees the pages of Alice's account; see accounts/login/seeing_as.py."""
    browser, sender = world.client("operator"), world.things["order"].sender
    begun = browser.post(f"/admin/accounts/sender/{sender.pk}/see_as/", {"reason": "she can't find her parcel"})
    assert begun.status_code == 302
    return browser


@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_an_operator_who_looks_reads_the_pages_named_and_nothing_else(
    route: str, entry: URLPattern, world: World, onlooker: Client
) -> None:
    url = address(route, world.things)
    with CaptureQueriesContext(connection) as asked:
        page = onlooker.get(url)
    assert page.status_code in ({200, 302} if entry.name in seeing_as.PAGES else {403})
    assert [text for text in sql_of(asked) if WRITES.match(text)] == []
    assert not page.has_header("Content-Disposition")
    shown = page.content.decode()
    assert not re.search("token=|%PDF|/invitation/", shown)
    assert page.status_code == 302 or "You see this as" in shown


@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_an_operator_who_looks_posts_nothing(route: str, entry: URLPattern, world: World, onlooker: Client) -> None:
    assert onlooker.post(address(route, world.things), {}).status_code == 403
