"""What an account may do: its limits, its pages by role, its emails and when they are sent; and what nobody may read."""

import datetime as dt
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from orders import masking
from orders.booking import limit_words, limits
from shipping_portal.accounts import access
from shipping_portal.accounts.login import passwords
from shipping_portal.accounts.mail import outbox
from shipping_portal.accounts.models import Role, Sender
from shipping_portal.ops import logs
from tests.snapshots.carriers import OTHER, PLAIN
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines
from tests.test_access import OURS, ROLES, audience

NOW = dt.datetime(2026, 12, 31, 12, 59, tzinfo=dt.UTC)
TODAY = {"counted_on": dt.date(2026, 12, 31)}
NEW = {"approved_at": None}
ROOM: tuple[dict[str, Any], ...] = (
    {}, {"booked_today": 1999}, {"booked_today": 2000}, {"booked_today": 2000, "counted_on": dt.date(2026, 12, 30)},
    {"booked_today": 2000, "counted_on": dt.date(2027, 1, 1)}, {"own_bookings_a_day": 3, "booked_today": 2},
    {"own_bookings_a_day": 3, "booked_today": 3}, {"own_bookings_a_day": 0}, {"spent_today": Decimal("24990.00")},
    {"spent_today": Decimal("24990.01")}, {"spent_today": Decimal("25000")}, {"money_a_day": None,
    "spent_today": Decimal(99_999)},
    {"own_money_a_day": Decimal(20), "spent_today": Decimal("10.01")}, {"unbilled_limit": Decimal(100),
    "unbilled": Decimal(90)}, {"unbilled_limit": Decimal(100), "unbilled": Decimal("90.01")},
    {"unbilled": Decimal(-5), "unbilled_limit": Decimal(5)},
    NEW, NEW | {"booked_in_all": 4}, NEW | {"booked_in_all": 5}, NEW | {"spent_in_all": Decimal(90)},
    NEW | {"spent_in_all": Decimal("90.01")},
)  # fmt: skip


def account(**values: Any) -> Sender:
    plain = {"pk": 42, "name": "Quill", "country": "AU", "zone": "Australia/Melbourne", "approved_at": NOW}
    return Sender(**(plain | TODAY | values))


class Refused(Exception):
    """A limit that was reached, in the words its sender reads."""


def room(values: dict[str, Any], amount: Decimal | None, is_booking: bool) -> None:
    sender = account(**values)
    try:
        limits.refuse_unless_room(sender, NOW, amount, is_booking=is_booking)
    except limits.LimitReached as error:
        raise Refused(limit_words.refusal(error, sender)) from error


def shown(one: Sender) -> list[Any]:
    return [one.number, one.first_parcels, one.first_money, one.is_waiting, one.is_suspended, one.currency]


@pytest.mark.parametrize("sign_up", ["first_limit", "approve"])
def test_limits_are_counted_and_worded_as_expected(sign_up: str, settings: Any) -> None:
    settings.SIGN_UP = sign_up
    ten = Decimal(10)
    fields = ROOM if sign_up == "first_limit" else ROOM[-5:]
    used = [
        {},
        {"booked_today": 5, "spent_today": ten},
        {"counted_on": None, "booked_today": 5},
        {"unbilled_limit": ten, "own_money_a_day": ten, "own_bookings_a_day": 0},
        {"money_a_day": None},
        NEW,
    ]
    days = [dt.datetime(2026, 12, 31, hour, tzinfo=dt.UTC) for hour in (12, 13)]
    compare(
        f"reads-limits-{sign_up}",
        [
            *lines(room, list(product(fields, (ten, None), (True,)))),
            *lines(room, list(product(fields, (None,), (False,))), "room, of prices"),
            *lines(lambda values: [list(vars(one).values()) for one in limit_words.usage(account(**values), NOW)], used,
            "usage"),
            *lines(lambda at, counted: (limits.day_of(account(counted_on=counted), at),
            limits.next_day(account(counted_on=counted), at)), list(product(days, (None, dt.date(2026, 12, 30),
            dt.date(2027, 1, 2)))), "day_of, next_day"),
            *lines(Sender.pk_of, [account().number, "a-1042", " A-1042 ", "A-999", "A-1000", "1042", "A-1234567890",
            "A-10x2"]),
            *lines(lambda values: shown(account(**values)), [{}, NEW, {"country": "US"}, {"country": "NZ"}],
            "account"),
        ],
    )  # fmt: skip


def digest(day: int, hour: int, zone: str, when: str) -> str:
    at = dt.datetime(2026, 11, day, hour, tzinfo=dt.UTC)
    fact = outbox.Event(sender=account(zone=zone), kind="booking", dedupe_key="x", line="y", path="/", happened_at=at)
    return f"{outbox._due_at(fact, when, at):%a %d %b %H:%M:%S %z}"


def test_each_role_gets_its_emails_at_the_expected_time() -> None:
    members = [details for _, details in OURS if "public" not in audience(details)]
    pages = {str(details.name): [role for role in ROLES if role in audience(details)] for details in members}
    groups = {tuple(roles): sorted(name for name, its in pages.items() if its == roles) for roles in pages.values()}
    told_roles = {name: sorted(getattr(access, name)) for name in ("EVERY_MEMBER", "BOOKERS", "SEE_MONEY")}
    moments = list(
        product(
            (22, 23, 24), (9, 19, 20, 21), ("Australia/Melbourne", "America/Los_Angeles"), ("now", "daily", "weekly")
        )
    )
    compare(
        "reads-roles-and-news",
        [
            *(f"{', '.join(roles)} -> {', '.join(names)}" for roles, names in sorted(groups.items())),
            *(f"{name} -> {', '.join(roles)}" for name, roles in told_roles.items()),
            *lines(lambda name: list(vars(outbox.KINDS[name]).values()), outbox.KINDS, "news"),
            *lines(lambda role: list(outbox.kinds_for(role)), [*Role.values, ""], "kinds_for"),
            *lines(digest, moments, "when news leave"),
        ],
    )  # fmt: skip


SAID = (
    "Authorization: Basic abc=", "authorization: xyz", "token=abc&x=1", '{"key": "v", "a": 1}', "signature=a;b",
    "sig=1 sig", "password=p'x", "monkey=1", "https://me:pw@a.example/x", "eyJhb.cd.ef g", "/webhooks/tracking/abc/",
    "/webhooks/tracking/abc?x",
    "/accounts/confirm-email/abc/", "/accounts/password/reset/key/a-b/", "/invitation/abc/",
    "?next=%2Finvitation%2Fabc%2F&y=1", "/unsubscribe/a:b/", "to ana@b.example now", "ana%40b.example", "ana@b",
    "plain words",
)  # fmt: skip
BODIES = (
    b"", b"x ana@b.example y",
    (b'{"sender": {"contact": {"name": "Ana", "email": "ana@b.example", "phone": "04"}, "n": 1, '
    b'"address": {"address_line1": "1 A St", "suburb": "C"}}, "note": "ana@b.example"}'),
    b'{"name": ["Ana", {"x": "Bo", "y": ""}], "street": "1 A St"}',
    b'{"url": "https://a.example/?token=1"}', b'{"a":  1}', b"[1, 2", b"\xff" * 3, b"x " * 4000 + b"y",
)  # fmt: skip
WORDS = (
    "password1234567",
    "Password!!",
    "shippingportal2026",
    " Parcels 2026 ",
    "correct horse battery",
    "12345678901234",
    "....",
    "carrier-label",
    "label",
    "qwerty!!2026",
    "xkqwvzpt",
)


@pytest.mark.django_db
def test_secrets_are_cut_out_of_texts_as_expected() -> None:
    compare(
        "reads-secrets",
        [
            *lines(logs.scrub_line, SAID),
            *lines(lambda body: (masking.masked_body(body, PLAIN), masking.masked_body(body, OTHER)), BODIES, "masked"),
            *lines(lambda body: masking.revealed_body(body, PLAIN), BODIES, "revealed"),
            *lines(passwords.DressedUpWordValidator().validate, WORDS),
        ],
    )  # fmt: skip
