"""The access matrix of the API, made from its schema: every operation, and everybody who may not use it."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone

from orders.models import Order, PrintStation
from shipping_portal.accounts.api_tokens import PARTNERS, SCOPES, STATIONS
from shipping_portal.accounts.models import ApiToken, EntryLink, Membership, Role, Sender, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.api.reference import openapi
from tests import factories
from tests.access import things_of
from tests.api.conftest import PARCEL, V1, Program
from tests.log_lines import lines as lines
from tests.queries import sql_of

pytestmark = pytest.mark.django_db
Operation = tuple[str, str, str]  # method, path, scope
OPERATIONS: list[Operation] = [
    (method.upper(), path.removeprefix(V1), declared["security"][0]["Bearer"][0])
    for path, methods in openapi()["paths"].items()
    for method, declared in methods.items()
]
WITH_OBJECT = [one for one in OPERATIONS if "{" in one[1]]
WRITES = re.compile('(INSERT INTO|UPDATE|DELETE FROM) "')
CHOSEN = {"quote": "6f1c7c2e-7d0e-4b0a-9d53-3c9a5b0d8a11", "product": "STANDARD-PICKUP"}
# The body sent to each operation that has one.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/quotes"): PARCEL,
    ("POST", "/drafts"): PARCEL,
    ("PUT", "/drafts/{draft}"): PARCEL,
    ("POST", "/parcels"): CHOSEN,
    ("POST", "/parcels/{parcel}/replace"): CHOSEN,
    ("POST", "/parcels/{parcel}/confirm"): {"amount": "12.08", "currency": "AUD"},
    ("PUT", "/imports/{file}/columns"): {"values": {}},
    ("PATCH", "/imports/{file}/rows/{row}"): {"values": {"weight_kg": 2}},
    ("POST", "/entry-links"): {"purpose": "settings"},
    ("POST", "/parcels/{parcel}/share"): {"contact": "1300 555 014"},
    ("POST", "/print/take"): {"installation": "0c1f8e04-3c2b-4f5e-9a76-0d6f2f4f9b11", "printer": "Zebra"},
    ("POST", "/print/jobs/{job}/report"): {"outcome": "printed"},
    ("POST", "/addresses"): {name: value for name, value in PARCEL.items() if name.startswith("receiver_")},
    ("PUT", "/addresses/{receiver}"): {name: value for name, value in PARCEL.items() if name.startswith("receiver_")},
}


@pytest.fixture
def things(alice: User, localities: None) -> dict[str, Any]:
    made = things_of(alice.membership.sender, alice)
    return made | {"parcel": made["order"]}


def program_for(operation: Operation, person: User) -> Program:
    """Return a program with this person's token, or a partner's or station's if only they may have the scope."""
    if SCOPES[operation[2]].holders == (PARTNERS,):
        return Program(factories.api_token().text, {"Acts-For": person.email})
    if SCOPES[operation[2]].holders == (STATIONS,):
        own = PrintStation.objects.filter(sender=person.membership.sender).first()
        return Program(text_of(own or factories.print_station(person)))
    return Program(factories.api_token(person).text)


def text_of(station: PrintStation) -> str:
    """Give the station's token a new text and return it, as the first one was shown only once."""
    text = f"portal_{uuid.uuid4().hex}"
    ApiToken.objects.filter(pk=station.token_id).update(token_hash=token_hash(text))
    return text


def call(program: Program, operation: Operation, things: dict[str, Any]) -> Any:
    method, path, _ = operation
    url = re.sub(r"{(\w+)}", lambda found: str(_key(things[found[1]])), path)
    return program.call(method, url, BODIES.get((method, path)), idempotency_key="key")


def _key(thing: Any) -> Any:
    return getattr(thing, "uuid", None) or thing.number


def kind(answer: Any) -> str:
    assert answer["Content-Type"] == "application/problem+json", answer.content
    return str(answer.json()["type"]).partition("#")[2]


def test_every_operation_takes_a_token_and_nothing_else_is_routed() -> None:
    """Every operation in the schema has a scope. Every address under /api/ is an operation or the description."""
    assert len(OPERATIONS) == 33
    assert {scope for _, _, scope in OPERATIONS} == set(SCOPES)
    api = next(entry for entry in get_resolver().url_patterns if str(entry.pattern) == "api/v1/")
    routes = {re.sub(r"<\w+:(\w+)>", r"{\1}", str(entry.pattern)) for part in api.url_patterns for entry in
              getattr(part, "url_patterns", [part])}  # fmt: skip
    assert routes == {path.removeprefix("/") for _, path, _ in OPERATIONS} | {"", "openapi.json"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: " ".join(one[:2]))
def test_nobody_without_a_valid_token_gets_in(operation: Operation, things: dict[str, Any], alice: User) -> None:
    """Nothing is written and no order appears; the same person's session cookie doesn't help."""
    now, every = timezone.now(), list(SCOPES)
    ended = factories.api_token(alice, ends_at=now).text
    revoked = factories.api_token(alice, revoked_at=now).text
    partner = factories.api_token().text
    elsewhere = factories.api_token(alice, scopes=[scope for scope in every if scope != operation[2]]).text
    before = list(Order.objects.values())
    for text, wanted in (
        ("", "token"),
        ("portal_" + "x" * 43, "token"),
        (ended, "token"),
        (revoked, "token"),
        (partner, "member"),
        (elsewhere, "scope"),
    ):
        with CaptureQueriesContext(connection) as asked:
            answer = call(Program(text), operation, things)
        assert kind(answer) == wanted
        assert answer.status_code == (401 if wanted == "token" else 403)
        assert answer.has_header("WWW-Authenticate") is (wanted == "token")
        written = [sql for sql in sql_of(asked) if WRITES.match(sql) and "accounts_apitoken" not in sql]
        assert written == [], text
    assert list(Order.objects.values()) == before


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: " ".join(one[:2]))
def test_a_role_may_use_only_the_operations_of_its_scopes(
    operation: Operation, things: dict[str, Any], alice: User
) -> None:
    program = program_for(operation, alice)
    for role in Role.values:
        Membership.objects.filter(user=alice).update(role=role)
        answer = call(program, operation, things)
        if role in SCOPES[operation[2]].roles:
            assert answer.status_code not in {401, 403, 500}, (role, answer.content)
        else:
            assert kind(answer) == "role"


@pytest.mark.parametrize("operation", WITH_OBJECT, ids=lambda one: " ".join(one[:2]))
def test_another_accounts_objects_do_not_exist(operation: Operation, things: dict[str, Any], bob: User) -> None:
    answer = call(program_for(operation, bob), operation, things)
    assert (answer.status_code, kind(answer)) == (404, "not-found")
    partner = Program(factories.api_token().text, {"Acts-For": bob.email})
    assert call(partner, operation, things).status_code == (403 if operation[2] == "print" else 404)
    assert Order.objects.get().status == "booked"


LISTS = [one for one in OPERATIONS if one[0] == "GET" and "{" not in one[1]]


@pytest.mark.parametrize("operation", LISTS, ids=lambda one: " ".join(one[:2]))
def test_a_list_has_nothing_of_another_account(operation: Operation, things: dict[str, Any], bob: User) -> None:
    answer = call(Program(factories.api_token(bob).text), operation, things)
    assert answer.status_code == 200
    assert [rows for name, rows in answer.json().items() if name != "next"] == [[]]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: " ".join(one[:2]))
def test_a_suspended_account_starts_nothing(operation: Operation, things: dict[str, Any], alice: User) -> None:
    """It can still read, cancel and edit its address book, as on the pages."""
    program = program_for(operation, alice)
    Sender.objects.update(suspended_at=timezone.now(), suspension="terms", suspension_text="Unpaid bill.")
    method, path, _ = operation
    status = call(program, operation, things).status_code
    begins = path in {
        "/quotes",
        "/imports",
        "/drafts",
        "/drafts/{draft}",
        "/drafts/{draft}/quotes",
        "/parcels/{parcel}/return",
    }
    begins = begins and method in {"POST", "PUT"}
    assert status == 403 if begins else status not in {401, 403, 500}
    assert not Order.objects.filter(status="booking").exists()


def test_a_member_who_needs_a_second_factor_must_set_it_up_first(things: dict[str, Any], alice: User) -> None:
    token = factories.api_token(alice)
    Sender.objects.update(needs_second_factor=True)
    for operation in OPERATIONS:
        assert kind(call(program_for(operation, alice), operation, things)) == "second-factor"
    factories.second_factor(alice)
    assert Program(token.text).get("/parcels").status_code == 200


def test_a_partners_token_cannot_act_for_somebody_without_their_required_second_factor(
    things: dict[str, Any], alice: User
) -> None:
    """Not even to get an entry link: the person must log in and set it up. Nothing is written either."""
    Sender.objects.update(needs_second_factor=True)
    partner = Program(factories.api_token().text, {"Acts-For": alice.email})
    for operation in OPERATIONS:
        if operation[2] == "print":  # not a partner's
            continue
        answer = call(partner, operation, things)
        assert (answer.status_code, kind(answer)) == (403, "second-factor"), operation
        assert answer.json()["detail"] == "The member logs in on the pages and sets it up first."
    assert not EntryLink.objects.exists()
    factories.second_factor(alice)
    assert partner.get("/parcels").status_code == 200
    assert partner.post("/entry-links", {"purpose": "settings"}).status_code == 201


def test_an_account_without_its_dangerous_goods_promise_can_only_open_pages(
    things: dict[str, Any], alice: User
) -> None:
    """Interface §1; an account opened by sign-on starts without its promise about dangerous goods."""
    Sender.objects.update(dangerous_goods_acknowledged_at=None)
    for operation in OPERATIONS:
        answer = call(program_for(operation, alice), operation, things)
        assert answer.status_code == 201 if operation[2] == "enter" else kind(answer) == "promise", operation


def test_a_stations_token_works_only_for_the_operations_of_stations(things: dict[str, Any], alice: User) -> None:
    station = Program(text_of(things["station"]))
    for operation in OPERATIONS:
        answer = call(station, operation, things)
        assert answer.status_code == 200 if operation[2] == "print" else kind(answer) == "scope", operation


def test_a_members_token_with_the_print_scope_is_not_a_stations_token(alice: User, things: dict[str, Any]) -> None:
    for operation in (one for one in OPERATIONS if one[2] == "print"):
        assert kind(call(Program(factories.api_token(alice, scopes=["print"]).text), operation, things)) == "scope"


@pytest.mark.parametrize("role", ["bookkeeper", "viewer"])
def test_a_role_sees_no_more_of_a_receiver_than_on_the_pages(role: str, things: dict[str, Any], alice: User) -> None:
    token, order = factories.api_token(alice), things["order"]
    factories.event(order.parcel, description="left with Noor Tamsin")
    Membership.objects.filter(user=alice).update(role=role)
    program = Program(token.text)
    shown = "".join(
        program.get(url).content.decode()
        for url in ("/parcels", f"/parcels/{order.uuid}", f"/parcels/{order.uuid}/tracking")
    )
    hidden = [order.receiver_email, order.receiver_phone, order.receiver_line1, order.receiver_company]
    hidden += ["Noor"] if role == "bookkeeper" else []
    assert [word for word in hidden if word in shown] == []
    assert order.receiver_postcode in shown


def test_a_session_cookie_gives_no_access(visit: Callable[[User], Client], alice: User) -> None:
    browser = visit(alice)
    assert kind(browser.get(f"{V1}/parcels")) == "token"
    assert kind(browser.post(f"{V1}/quotes", PARCEL, content_type="application/json")) == "token"


def test_a_token_gives_no_access_to_pages(alice: User) -> None:
    text = factories.api_token(alice).text
    answer = Client(headers={"Authorization": f"Bearer {text}"}).get("/parcels/")
    assert answer["Location"].startswith("/accounts/login/")


def test_neither_the_log_nor_the_database_contains_a_token(
    things: dict[str, Any], alice: User, lines: Callable[[], list[str]]
) -> None:
    text = factories.api_token(alice).text
    program = Program(text)
    program.get("/parcels")
    program.get(f"/parcels?q={text}")
    program.get(f"/nowhere/{text}")
    Program(text + "x").get("/parcels")
    written = "\n".join(lines())
    assert "API token refused" in written
    assert '"caller": ' in written
    assert text not in written
    assert not ApiToken.objects.filter(token_hash__contains=text).exists()
