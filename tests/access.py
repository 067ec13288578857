"""The access matrix, page by page, and a world with an object for each of its URLs."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from shipping_portal.accounts.models import User
from shipping_portal.accounts.teams import team
from shipping_portal.billing.models import DisputePhoto
from shipping_portal.billing.pages import statements
from tests import factories

# Libraries bring their own addresses; whole prefixes are listed with their rule.
LIBRARIES = {
    "accounts/": "allauth decides, log-in by default",
    "admin/": "operators with a second factor",
    "api/": "a bearer token; its matrix is made from its schema, in tests/api/test_access.py",
}
PUBLIC_NAMES = {
    "webhook",
    "webhook_token",
    "webhook_bare",  # the same, as somebody may paste them, without the last slash
    "webhook_token_bare",
    "csp_report",  # browsers report policy violations of a page without a login
    "metrics",  # anybody who sends METRICS_TOKEN
    "invitation",  # anybody with the link; it shows who invites, and no order
    "follow",  # anybody with the link; it shows where one parcel is, and no personal data
    "return_label",  # anybody with the link, once: the label of a return; a POST takes it
    "receiver_style",  # the style sheet of that page
    "unsubscribe",  # anybody who has the link; it switches off the kinds of one email
    "brand_style",  # the partner's colours and logo, on the login page too
    "brand_colours",
    "brand_logo",
    "favicon",
    "demo_mail",  # with DEMO=1, from the machine itself: the mail that goes nowhere
    "demo_act",  # the same: controls the sandbox carrier
    "home",  # redirects: to the login, to the admin or to one's parcels
}
# Who may open what, page by page, besides public pages: repeated here so no page becomes public by accident.
ACCESS = {
    ("owner", "shipper", "bookkeeper", "viewer"): """
        api_tokens appearance change_token choose_columns delete_view export keyboard more parcel parcel_by_reference parcels profile save_view security
        settings suggest_localities today watched watched_parcel""",
    ("owner", "shipper", "bookkeeper"): "notifications",
    ("owner", "shipper"): """
        add_receiver add_size addresses print_queue book book_import booking_progress cancel cancel_many change_size
        check_import check_price checked_price confirm_price delete_draft delete_receiver delete_size draft
        edit_receiver edit_size failed_rows
        import import_row import_template imports label label_size match_columns merge_receivers new_import
        new_parcel promise handover dismiss dismiss_many note_many older_book older_drafts older_live_prices older_paste older_quotes
        older_replacement originals packing_slips pick_list printed printed_many quotes replace replacing
        label_test_page print_at_station print_stations send_again sizes start station_program stop_station
        stop_watching choose_services decide_import remove_import
        shipped_rows receiver_page send_back return_link
        answer_import price_import_again save_rows suggest_receivers take_left_out tracking_page withdraw_prints""",
    ("owner", "bookkeeper"): """
        billing charge_is_wrong dispute_photo refunds refunds_file report_file reports statement statement_csv statement_pdf""",
    ("owner",): """
        add_pickup_address booking_rules business change_invitation change_member change_pickup_address close_account
        data edit_pickup_address export_file export_progress own_limits pack_everything pack_proof pickup_address
        pickup_addresses second_factor_rule team webhooks webhook_endpoint rotate_webhook change_webhook""",
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


@dataclass
class World:
    """Alice's account with one of everything, and the cookies of one logged-in person of each kind."""

    things: dict[str, Any]
    cookies: dict[str, str]

    def client(self, who: str) -> Client:
        return Client(headers={"cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookies[who]}"})


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The world, created once. Each test is a savepoint inside this transaction."""
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
    """Create one of everything that has a URL. Return them by their names in the URLs."""
    order = factories.order(sender, person, status="booked")
    factories.parcel(order)
    row = factories.import_row(sender, person)
    label, station = factories.stored_label(order), factories.print_station(person, seen_at=None)
    return {
        "file": row.file,
        "row": row,
        "export": factories.export(sender, person, order=order),
        "order": order,
        "quote": order.quote,
        "watch": factories.watch(sender, person),
        "label": label,
        "station": station,
        "job": factories.print_job(station, order, state="taken"),
        "member": sender.memberships.get(user=person),
        "size": factories.size(sender),
        "draft": factories.draft(sender, person, order.quote),
        "receiver": factories.saved_receiver(sender),
        "token": factories.api_token(person),
        "endpoint": factories.webhook_endpoint(sender, person),
        "address": sender.pickup_address(),
        "charge": factories.charge(order, "under-declared", "4.13", measured_kg="3.6"),
        "photo": DisputePhoto.objects.create(sender=sender, kind="png", content=b"x"),
        "invitation": team.invite_person(sender, "new@quill.example", "viewer", by=person, now=timezone.now()),
    }


def address(route: str, things: dict[str, Any], *, foreign: bool = False) -> str:
    """Return the route's URL with Alice's own objects. With `foreign`, the objects don't exist."""
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


MEMBERS = [(route, entry) for route, entry in OURS if "public" not in audience(entry)]
