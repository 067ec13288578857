"""A partner's server requests entry links; a member's token or another purpose gets none."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Draft
from shipping_portal.accounts import api_tokens
from shipping_portal.accounts.models import Audit, EntryLink, Membership, Role, Sender, User
from tests import factories
from tests.api.conftest import PARCEL, Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def partner(alice: User, localities: None) -> Program:
    return Program(factories.api_token().text, {"Acts-For": alice.email})


def open_link(answer: Any) -> Any:
    assert answer.status_code == 201, answer.content
    assert answer["Cache-Control"] == "private, no-store"
    return Client().get(answer.json()["url"].removeprefix("http://127.0.0.1:8000"))


def test_a_link_to_a_new_parcel_fills_its_form_in(partner: Program, alice: User) -> None:
    opened = open_link(partner.post("/entry-links", {"purpose": "new_parcel", "values": PARCEL}))
    draft = Draft.objects.get()
    assert opened["Location"] == f"/parcels/drafts/{draft.uuid}/"
    assert {name: str(value) for name, value in PARCEL.items()}.items() <= draft.values.items()
    made = Audit.objects.get(action="entry link made")
    assert (made.actor, made.reason) == (alice, "new_parcel by the token Order desk")


def test_a_link_to_a_parcel_and_to_the_settings(partner: Program, alice: User, quill: Sender) -> None:
    order = factories.order(quill, alice)
    sent = {"purpose": "parcel", "parcel": str(order.uuid)}
    assert open_link(partner.post("/entry-links", sent))["Location"] == f"/parcels/{order.uuid}/"
    assert open_link(partner.post("/entry-links", {"purpose": "settings"}))["Location"] == "/settings/"


def test_no_link_leads_to_a_page_the_member_may_not_see(partner: Program, bob: User, alice: User) -> None:
    theirs = factories.order(bob.membership.sender, bob)
    assert partner.post("/entry-links", {"purpose": "parcel", "parcel": str(theirs.uuid)}).status_code == 404
    Membership.objects.filter(user=alice).update(role=Role.VIEWER)
    refused = partner.post("/entry-links", {"purpose": "new_parcel"})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["purpose"])
    assert partner.post("/entry-links", {"purpose": "billing"}).json()["errors"].keys() == {"purpose"}
    assert not EntryLink.objects.exists()


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"purpose": "settings", "parcel": "00000000-0000-0000-0000-000000000001"}, "parcel"),
        ({"purpose": "new_parcel", "parcel": "00000000-0000-0000-0000-000000000001"}, "parcel"),
        ({"purpose": "parcel", "parcel": "00000000-0000-0000-0000-000000000001", "values": {}}, "values"),
        ({"purpose": "settings", "values": PARCEL}, "values"),
        ({"purpose": "parcel"}, "parcel"),
        ({"purpose": "new_parcel", "values": PARCEL | {"weight_lb": 3}}, "weight_lb"),
    ],
)
def test_a_field_that_a_link_would_ignore_or_lacks_is_refused(partner: Program, sent: Any, field: str) -> None:
    answer = partner.post("/entry-links", sent)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])
    assert not EntryLink.objects.exists()
    assert not Draft.objects.exists()


def test_without_a_pickup_address_there_is_no_new_parcel(partner: Program, quill: Sender) -> None:
    quill.pickup_addresses.all().delete()
    for more in ({}, {"values": PARCEL}):
        answer = partner.post("/entry-links", {"purpose": "new_parcel", **more})
        assert (answer.status_code, answer.json()["type"].partition("#")[2]) == (409, "start")


def test_a_members_token_makes_no_link_even_with_the_scope(
    program: Callable[..., Program], alice: User, localities: None
) -> None:
    refused = program(alice).post("/entry-links", {"purpose": "settings"})
    assert (refused.status_code, EntryLink.objects.count()) == (403, 0)


def test_a_member_cannot_be_given_the_scope(alice: User) -> None:
    now = timezone.now()
    member = alice.membership
    made, _ = api_tokens.make_token("Mine", list(api_tokens.SCOPES), days=30, by=alice, member=member, now=now)
    assert "enter" not in made.scopes
    partners, _ = api_tokens.make_token("Theirs", ["enter"], days=30, by=alice, now=now)
    assert partners.scopes == ["enter"]
