"""The access matrix: every address of the portal, and who gets what. A new address without a row fails here."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.login import seeing_as
from shipping_portal.accounts.models import User
from shipping_portal.accounts.teams import team
from shipping_portal.billing.models import DisputePhoto
from shipping_portal.billing.pages import statements
from tests import factories
from tests.queries import sql_of
from tests.table import table

pytestmark = pytest.mark.django_db

# Libraries bring their own addresses; whole prefixes are listed with their rule.
LIBRARIES = {"accounts/": "allauth decides, log-in by default", "admin/": "operators with a second factor"}
PUBLIC_NAMES = {
    "webhook",
    "webhook_token",
    "webhook_bare",  # the same, as somebody may paste them, without the last slash
    "webhook_token_bare",
    "csp_report",  # browsers report without a log-in what a page tried against its policy
    "metrics",  # whoever sends METRICS_TOKEN
    "invitation",  # whoever has the link; it shows who invites, and no order
    "unsubscribe",  # whoever has the link; it turns the kinds of one e-mail off
    "brand_style",  # the partner's colours and logo, on the log-in page too
    "brand_colours",
    "brand_logo",
    "favicon",
    "demo_mail",  # with DEMO=1, from the machine itself: the mail that goes nowhere
    "demo_act",  # the same: what the pretend carrier does
    "home",  # leads on: to log in, to the desk or to one's parcels
}


# Who may open what, page by page, besides what is public: written here a second time, so that no page opens by itself.
ACCESS = {
    ("owner", "shipper", "bookkeeper", "viewer"): """
        appearance delete_view export keyboard more parcel parcel_by_reference parcels profile save_view security
        settings suggest_localities today watched watched_parcel""",
    ("owner", "shipper", "bookkeeper"): "notifications",
    ("owner", "shipper"): """
        add_receiver add_size addresses print_queue book book_import booking_progress cancel cancel_many change_size
        check_import check_price checked_price confirm_price delete_draft delete_receiver delete_size
        edit_receiver edit_size failed_rows fill_in
        import import_row import_template imports label label_size live_prices match_columns merge_receivers new_import
        new_parcel handover note_many originals pick_list printed printed_many quotes replace replace_prices replacing
        label_test_page save_draft send_again sizes start stop_watching choose_services decide_import remove_import
        shipped_rows
        answer_import price_import_again save_rows suggest_receivers take_left_out tracking_page unpaste""",
    ("owner", "bookkeeper"): """
        billing charge_is_wrong dispute_photo refunds refunds_file report_file reports statement statement_csv""",
    ("owner",): """
        add_pickup_address booking_rules business change_invitation change_member change_pickup_address close_account
        data edit_pickup_address export_file export_progress own_limits pack_everything pack_proof pickup_address
        pickup_addresses second_factor_rule team""",
}


def patterns(resolver: Any = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in (resolver or get_resolver()).url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from patterns(entry, route)
        else:
            yield route, entry


OURS = [(route, entry) for route, entry in patterns() if not route.startswith(tuple(LIBRARIES))]
ROLES = ["owner", "shipper", "bookkeeper", "viewer"]


def audience(entry: URLPattern) -> frozenset[str]:
    return getattr(entry.callback, "audience", frozenset())


def test_every_page_is_for_whom_the_matrix_names() -> None:
    declared = {str(entry.name): audience(entry) for _, entry in OURS if "public" not in audience(entry)}
    assert declared == {name: frozenset(roles) for roles, names in ACCESS.items() for name in names.split()}


@table(("route", "entry"), OURS, ids=[route for route, _ in OURS])
def test_every_address_declares_its_audience(route: str, entry: URLPattern) -> None:
    assert audience(entry), f"{route} says nothing about who it is for"
    assert audience(entry) <= {"public", *ROLES}
    if "public" in audience(entry):
        assert entry.name in PUBLIC_NAMES or route.startswith("help/"), f"{route} is public"


@dataclass
class World:
    """One of everything of Alice's, and the cookies of somebody of each kind who has logged in."""

    things: dict[str, Any]
    cookies: dict[str, str]

    def client(self, who: str) -> Client:
        return Client(headers={"cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookies[who]}"})


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Made once: each test is a savepoint inside this transaction."""
    with django_db_blocker.unblock(), transaction.atomic():
        quill, bolts = factories.sender(name="Quill & Co"), factories.sender(name="Bob's Bolts")
        alice, bob = factories.user("alice@quill.example"), factories.user("bob@bolts.example")
        for business, owner in ((quill, alice), (bolts, bob)):
            factories.member(business, owner)
            factories.pickup_address(business, email=owner.email)
        sam = factories.user("sam@portal.example", is_staff=True, is_superuser=True)
        factories.second_factor(sam)
        people = {"stranger": bob, "operator": sam}
        for role in ROLES:
            people[role] = factories.user(f"{role}@roles.example")
            factories.member(quill, people[role], role=role)
        yield World(things_of(quill, alice), {who: _logged_in(person) for who, person in people.items()})
        transaction.set_rollback(True)


def _logged_in(person: User) -> str:
    client = Client()
    client.force_login(person, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def things_of(sender: Any, person: User) -> dict[str, Any]:
    """One of everything that has an address, by the name its address gives it."""
    order = factories.order(sender, person, status="booked")
    factories.parcel(order)
    row = factories.import_row(sender, person)
    return {
        "file": row.file,
        "row": row,
        "export": factories.export(sender, person, order=order),
        "order": order,
        "quote": order.quote,
        "watch": factories.watch(sender, person),
        "label": factories.stored_label(order),
        "member": sender.memberships.get(user=person),
        "size": factories.size(sender),
        "draft": factories.draft(sender, person),
        "receiver": factories.saved_receiver(sender),
        "address": sender.pickup_address(),
        "charge": factories.charge(order, "under-declared", "4.13", measured_kg="3.6"),
        "photo": DisputePhoto.objects.create(sender=sender, kind="png", content=b"x"),
        "invitation": team.invite(sender, "new@quill.example", "viewer", by=person, now=timezone.now()),
    }


def address(route: str, things: dict[str, Any], *, foreign: bool = False) -> str:
    """The route with Alice's own objects in it, each by the name it has there; `foreign` ones exist nowhere."""
    fixed = {
        "str:size": "full",
        "str:token": "no-such-token",
        "str:reference": things["order"].carrier_reference,
        "slug:article": "fix-a-mistake",
        "slug:view": "late-ones",
        "str:week": statements.week_name(things["charge"].week),
        "slug:report": "spend",
        "slug:name": "driver-comes",
    }

    def value(found: re.Match[str]) -> str:
        if found[1] in fixed:
            return str(fixed[found[1]])
        kind, name = found[1].split(":")
        if foreign:
            return str(uuid.uuid4()) if kind == "uuid" else "999999999"
        return str(things[name].uuid if kind == "uuid" else things[name].pk)

    return "/" + re.sub(r"<([^>]+)>", value, route)


def answers(client: Client, url: str) -> set[int]:
    """What GET and POST answer: 401 for the way to the log-in; 405, which leaks nothing, is left out."""
    both = (client.get(url), client.post(url, {}))
    asked_in = [answer.get("Location", "").startswith("/accounts/login/") for answer in both]
    return {401 if asked else answer.status_code for asked, answer in zip(asked_in, both, strict=True)} - {405}


MEMBERS = [(route, entry) for route, entry in OURS if "public" not in audience(entry)]
WITH_OBJECT = [
    (route, entry) for route, entry in MEMBERS if re.search("<uuid|<str:reference|<str:week|<int:photo", route)
]


@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_a_visitor_is_sent_to_log_in(route: str, entry: URLPattern, world: World) -> None:
    answer = Client().get(address(route, world.things))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/")


@table("role", ROLES)
@table(("route", "entry"), MEMBERS, ids=[route for route, _ in MEMBERS])
def test_a_role_that_a_page_is_not_for_gets_404(route: str, entry: URLPattern, role: str, world: World) -> None:
    found = answers(world.client(role), address(route, world.things))
    if role not in audience(entry):
        assert found <= {404}
    else:
        assert not found & {401, 500, 503}


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
