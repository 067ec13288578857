"""What a sender reads about a refusal, about silence, and about a change to an order."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from orders.booking import answers, refused_fields
from orders.drafting import receivers
from orders.models import CarrierAccount, Order, OrderChange
from orders.models.statuses import MOVES, Progress
from orders.notices import notifications
from shipping_portal.accounts.models import Sender
from shipping_portal.carrier.errors import AccountStopped, Crowded, NotSent, OutcomeUnknown, Rejected
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of

AU = Sender(pk=1, name="AU", country="AU", zone="Australia/Melbourne")
US = Sender(pk=2, name="US", country="US", zone="America/Los_Angeles")
FIELDS = (
    "", "weight", "length", "contents", "cover", "product_code", "pickup_date", "receiver_instructions",
    "sender_instructions", "sender_suburb", "sender_postcode", "sender_phone", "receiver_suburb", "receiver_state",
    "receiver_postcode", "receiver_line1", "description", "customer_reference", "contents_type", "item_description",
    "item_value", "item_1_value", "item_2_value", "item_6_origin", "item_1_hs_code", "metadata.partner_id",
    "whatever", "weight_units",
)  # fmt: skip
REFUSED: tuple[tuple[int, str, dict[str, list[str]]], ...] = (
    (422, "", {}), (400, "", {}), (0, "", {}), (422, "No.", {}), (422, "No", {"weight": ["is heavy"]}), (405, "No.",
    {}), (413, "", {"weight": ["x"]}), (404, "Not there.", {}), (404, "", {"weight": ["x"]}), (409, "Too late", {}),
    (422, "", {"weight": ["a", "b"], "length": ["a"], "": ["c!"]}), (422, "", {"partner": ["bad"]}), (422, "",
    {"partner": ["bad"], "weight": ["x"]}), (422, "", {"weight": ["a", "b", "c"]}), (422, "", {"weight": ["a", "b",
    "c", "d"]}), (422, "", {"weight": ["x" * 600]}),
)  # fmt: skip


SENT = Order(sender=AU, pickup={"country": "AU"}, receiver_country="NZ")


def refused(status: int, text: str, messages: dict[str, list[str]]) -> Rejected:
    return Rejected(status, "code", text, messages)


def sorted_out(*how: Any) -> list[Any]:
    return [answers.split_rejection(refused(*how), operation=asked) for asked in ("book", "cancel")]


def problem_of(sender: Sender, to: str, fields: dict[str, list[str]]) -> Any:
    return answers.refusal_problem(refused(422, "", fields), sender, sender.country, to=to)["said"]


@pytest.mark.django_db
def test_a_refusal_is_worded_as_expected() -> None:
    errors = [
        Crowded(2.0),
        NotSent("x"),
        NotSent("x", 5.0, 429),
        OutcomeUnknown("x"),
        OutcomeUnknown("x", 500),
        OutcomeUnknown("x", 429),
        OutcomeUnknown("x", 200, late=True),
        AccountStopped(401),
        ValueError("x"),
    ]
    compare(
        "reads-answers",
        [
            *lines(sorted_out, REFUSED),
            *lines(lambda *how: answers.refusal_problem(refused(*how), AU, "AU")["text"], REFUSED, "problem"),
            *lines(lambda *how: answers.why_not_cancelled(refused(*how), SENT), REFUSED),
            *lines(lambda name: [refused_fields.is_known(name), *(problem_of(sender, to,
            {name: ["is bad"]})[0] for sender, to in ((AU, "NZ"), (US, "")))], FIELDS,
            "a field: known, abroad, in the US"),
            *lines(lambda error: (answers.why_silent(error), answers.why_unclear(error)), errors, "silence"),
            *lines(refused_fields.with_full_stop, ["a", "a.", "a!", "a?", "a…", "", "a:"]),
            *lines(lambda count: answers.first_sentences([f"{n}." for n in range(count)]), [0, 1, 3, 4, 5], "shortened"),
        ],
    )  # fmt: skip


def order(status: str, **values: Any) -> Order:
    made = Order(
        pk=1,
        uuid="00000000-0000-0000-0000-000000000001",
        status=status,
        receiver_name="Noor van Haddad",
        price=Decimal(10),
        currency="AUD",
        **values,
    )
    made.sender, made.account, made.pickup = (
        AU,
        CarrierAccount(pk=1),
        {"country": "AU", "state": "VIC", "postcode": "3065"},
    )
    return made


def words_of(old: str, new: str, kind: str) -> str | None:
    return notifications._describe_move(OrderChange(order=order(new, problem={"kind": kind}), old=old, new=new))


AT = dt.datetime(2026, 11, 23, 13, 30, tzinfo=dt.UTC)


@pytest.mark.django_db
def test_a_sender_reads_the_expected_sentences() -> None:
    moves = sorted((str(old), str(new)) for old in MOVES for new in MOVES[old])
    agreed = [("12.30", "AUD"), ("9.99", "NZD"), ("10", "AUD")]
    names = ["Priya Nair", "Priya", "Noor van Haddad", " Ann  Lee "]
    shown = order("booked", receiver_suburb="Hobart", receiver_state="TAS", receiver_postcode="7000")
    compare(
        "reads-news",
        [
            *lines(lambda old, new: [words_of(old, new, kind) for kind in ("", "ours", "gone")], moves, "a move"),
            *lines(fact, Progress.values),
            fact("pickup_missed", carrier_pickup_date=dt.date(2026, 12, 1), carrier_reference="S12345"),
            *lines(lambda price, currency: notifications.not_as_agreed(order("booked", unagreed_price=Decimal(price),
            unagreed_currency=currency)), agreed, "not_as_agreed"),
            *lines(lambda length: notifications.cut_words("x" * length)[-3:], [139, 140, 141], "cut"),
            *lines(receivers.masked_name, names),
            *lines(lambda role: (receivers.shown_receiver(shown, role), receivers.sees_contact(role)), ["owner", "shipper",
            "bookkeeper", "viewer"], "shown"),
        ],
    )  # fmt: skip


def fact(word: str, **values: Any) -> str:
    return text_of(notifications.progress_event(order("booked", progress=word, **values), word, AT))
