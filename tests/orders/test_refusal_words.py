"""Every reply of the carrier family to a booking or a cancellation, as each page and email puts it.

Each cell is a sentence: it starts with a capital, has a subject, and claims nothing the portal doesn't know.
"""

import datetime as dt
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.booking.refused_fields import VERB
from orders.cancelling import cancel_rules, cancels, replacing
from orders.models import Order
from orders.status.transitions import advance
from shipping_portal.accounts.models import Notification, Sender, User
from tests import factories
from tests.catalogue.meddling import Meddler, reply
from tests.orders.conftest import booked, submitted
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling
from tracking.models import Poll

__all__ = ["booked", "submitted"]  # pytest finds them here

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
OURS = "The carrier refused how we asked. We're putting that right."
WRAPPER = "Some of the supplied data is invalid; see messages."
STILL_BOOKED = ("still booked", "stays booked", "label is good", "labels are good")
MISSED = "The driver didn't come. Another driver is booked for"
FUTILE = "The driver came but couldn't collect it. Don't cancel:"


def no(messages: Any = None, *, status: int = 422, **more: Any) -> bytes:
    body = {"error": "unprocessable_entity", "error_description": WRAPPER, "messages": messages} | more
    return reply(status, {name: member for name, member in body.items() if member is not None})


# What the carrier replies, and what the sender reads in every place.
REFUSALS: dict[str, tuple[bytes, str]] = {
    "a sentence": (no({"base": ["Nothing is carried there."]}), "Nothing is carried there."),
    "a sentence as a bare text": (no("Nothing is carried there"), "Nothing is carried there."),
    "a list": (no(["Nothing is carried there"]), "Nothing is carried there."),
    "no subject": (no({"base": ["was refused"]}), "The parcel was refused."),
    "no subject, with a capital": (no({"base": ["Can't be moved."]}), "The parcel can't be moved."),
    "no subject, curly": (no({"base": ["isn’t allowed"]}), "The parcel isn’t allowed."),
    "no subject and no member": (reply(422, {"error": "unprocessable_entity", "error_description": "is too late"}),
                                 "The parcel is too late."),
    "no verb": (no({"base": ["too late for this driver"]}), "The carrier says “too late for this driver”."),
    "no capital": (no({"base": ["orders like this are not carried."]}),
                   "The carrier says “orders like this are not carried”."),
    "one word": (no({"base": ["Invalid"]}), "The carrier says “Invalid”."),
    "one word as the whole body": (reply(422, json.dumps("refused").encode()), "The carrier says “refused”."),
    "a month": (no({"base": ["May 5 is a holiday"]}), "May 5 is a holiday."),
    "at a field": (no({"pickup_date": ["has passed"]}), "Pickup day: has passed."),
    "at a field of the receiver": (no({"receiver_name": ["is odd"]}), "Name: is odd."),
    "beside base": (no({"base": ["was refused"]}, error_description="No batteries of <b>that</b> size."),
                    "The parcel was refused. The carrier also says “No batteries of <b>that</b> size”."),
    "the same beside base": (no({"base": ["Ask us."]}, error_description="Ask us"), "Ask us."),
    "beside a field": (no({"pickup_date": ["has passed"]}, error_description="No."), "Pickup day: has passed."),
    "two": (no({"base": ["was refused", "Ask us."]}), "The parcel was refused. Ask us."),
    "a name that we don't have": (no({"zebra": ["is odd"]}), OURS),
    "a code and no words": (reply(422, {"error": "unprocessable_entity"}), OURS),
    "a wrapper alone": (no(), WRAPPER),
    "nothing at all": (reply(400, b"", Content_Type="text/html"), OURS),
    "not by this method": (no(status=405), OURS),
    "not in this form": (no(status=415), OURS),
}  # fmt: skip
UNCLEAR: dict[str, tuple[bytes, str]] = {
    "a page": (reply(422, b"<html>No</html>", Content_Type="text/html"), "The carrier gave an answer we can't read"),
    "out of order": (reply(500, {"error": "oops"}), "The carrier gave an answer we can't read"),
    "a success without its words": (reply(200, b"<html>", Content_Type="text/html"),
                                    "The carrier gave an answer we can't read"),
}  # fmt: skip


def sentence(said: str) -> bool:
    """Return whether each of these sentences starts with a capital and with more than a verb."""
    return all(not one[0].islower() and not VERB.match(one) for one in re.split(r"(?<=[.!?]) ", said))


@pytest.mark.parametrize("said", [said for _, said in (REFUSALS | UNCLEAR).values()])
def test_each_cell_is_a_sentence(said: str) -> None:
    assert sentence(said)


def stands_alone(said: str, words: str) -> bool:
    """Return whether these words are a sentence on their own, with at most an introduction before it."""
    return re.search(rf"(?:^|[.!?:”] |\w ){re.escape(said)}", words) is not None


def places(page: Client, order: Order) -> dict[str, str]:
    found = {
        "parcel": text(page.get(f"/parcels/{order.uuid}/")),
        "today": text(page.get("/today/")),
        "list": text(page.get("/parcels/")),
        "mail": " ".join(Notification.objects.values_list("line", flat=True)),
    }
    if order.status == "rejected":
        found["booking"] = text(page.get(f"/parcels/{order.uuid}/booking/"))
    else:
        found["cancel"] = text(page.get(f"/parcels/{order.uuid}/cancel/"))
    if order.replacements.exists():
        found["replacing"] = text(page.get(f"/parcels/{order.uuid}/replacing/"))
    return found


def cancelled(order: Order, by: User) -> Order:
    cancels.ask_to_cancel(order, by=by, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    return order


def replaced(order: Order, by: User) -> Order:
    replacing.ask_to_replace(
        order, quote=factories.quote(order.sender, by), code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(),
        pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    if order.status == "booked":
        replacing.replace_due_parcel(order.replacements.get().pk)
    return order


WAYS = {"cancel": cancelled, "replace": replaced}
# Both ways use the same functions for the words: one of each kind before a merge, all of them each night.
OF_EACH_KIND = {"a sentence", "at a field", "a wrapper alone", "nothing at all"}
REFUSED_CANCELLATIONS = [
    pytest.param(answer, way, marks=[] if way == "cancel" or answer in OF_EACH_KIND else pytest.mark.nightly)
    for answer in REFUSALS
    for way in WAYS
]


@pytest.mark.parametrize(("answer", "way"), REFUSED_CANCELLATIONS)
def test_a_refused_cancellation_is_worded_in_sentences(
    booked: Callable[..., Order], line: Meddler, alice: User, visit: Visit, answer: str, way: str
) -> None:
    order = booked()
    line.says("cancel", REFUSALS[answer][0])
    said = REFUSALS[answer][1]
    assert WAYS[way](order, alice).status == "booked"
    found = places(visit(alice), order)
    assert {place: stands_alone(said, words) for place, words in found.items()} == dict.fromkeys(found, True)
    if said != WRAPPER:
        assert not [place for place, words in found.items() if WRAPPER in words]


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refused_booking_is_worded_in_sentences(
    submitted: Callable[..., Order], line: Meddler, alice: User, visit: Visit, answer: str
) -> None:
    order = submitted()
    line.says("book", REFUSALS[answer][0])
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "rejected"
    found = places(visit(alice), order)
    said = REFUSALS[answer][1].split(". ")[0]  # the page of the booking has a list of them
    assert {place: stands_alone(said, words) for place, words in found.items()} == dict.fromkeys(found, True)


# -- Every status ----------------------------------------------------------------------------------

SAID = {"error": "some_code", "error_description": "was not <i>possible</i>", "messages": {"base": ["was refused"]}}
REFUSED, STOPPED, BUSY = (400, 404, 405, 413, 415, 422), (401, 402, 403, 412), (429,)
NO_ANSWER = (300, 301, 302, 304, 307, 408, 409, 410, 418, 423, 425, 426, 428, 431, 451, 500, 501, 502, 503, 504, 599)
BODIES = {
    "words": SAID,
    "words without an object": "was refused",
    "a list": ["was refused"],
    "numbers": {"error": 1, "messages": [2, None, {"base": 3}]},
    "nothing": b"",
    "a page": b"<html>was refused</html>",
    "another name": {"messages": {"zebra": ["was refused"], "Base": ["isn't so"]}},
}
# Each status that is a reply with its words, each body with one status of each kind; all of them each night.
ALWAYS = {REFUSED[-1], STOPPED[0], BUSY[0], NO_ANSWER[-3]}
ANSWERED = {*REFUSED, *STOPPED, *BUSY}
ANSWERS = [
    pytest.param(
        status, body, marks=[] if status in ALWAYS or (body == "words" and status in ANSWERED) else pytest.mark.nightly
    )
    for status in (*REFUSED, *STOPPED, *BUSY, *NO_ANSWER)
    for body in BODIES
]
TORN = re.compile(r"(?:^|[.!?:] )(?:was refused|isn't so|was not)", re.MULTILINE)
NOT_BOOKED = ("It wasn't booked", "you weren't charged")


def claims(found: dict[str, str], *words: str) -> list[tuple[str, str]]:
    return [(place, claim) for place, recorded in found.items() for claim in words if claim in recorded]


def shows_no_torn_words(found: dict[str, str]) -> None:
    assert not [(place, torn[0]) for place, recorded in found.items() if (torn := TORN.search(recorded))]


@pytest.mark.parametrize(("status", "body"), ANSWERS)
def test_a_booking_says_only_what_its_reply_says(
    submitted: Callable[..., Order], line: Meddler, alice: User, visit: Visit, status: int, body: str
) -> None:
    order = submitted()
    line.says("book", reply(status, BODIES[body]))
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    waits = "booking" if status in (*STOPPED, *BUSY) else "unconfirmed"
    assert order.status in ("rejected", "unconfirmed") if status in REFUSED else order.status == waits
    found = places(visit(alice), order)
    shows_no_torn_words(found)
    if order.status != "rejected":
        assert not claims(found, *NOT_BOOKED, "was refused")


@pytest.mark.parametrize(("status", "body"), ANSWERS)
def test_a_cancellation_says_only_what_its_reply_says(
    booked: Callable[..., Order], line: Meddler, alice: User, visit: Visit, status: int, body: str
) -> None:
    order = booked()
    line.says("cancel", reply(status, BODIES[body]))
    line.edits("view", lambda seen: seen.update(state="Booked"))
    cancelled(order, alice)
    found = places(visit(alice), order)
    shows_no_torn_words(found)
    assert order.status in {"booked", "cancelling", "cancel_unconfirmed"}
    if order.status != "booked":
        assert not claims(found, *STILL_BOOKED, "was refused")
    assert not claims(found, "It's cancelled", "was cancelled", MISSED, FUTILE)


# -- Nobody knows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", UNCLEAR)
def test_a_cancellation_without_a_clear_reply_is_shown_as_neither(
    booked: Callable[..., Order], line: Meddler, alice: User, visit: Visit, answer: str, way: str
) -> None:
    order = booked()
    line.says("cancel", UNCLEAR[answer][0])
    assert WAYS[way](order, alice).status == "cancel_unconfirmed"
    found = places(visit(alice), order)
    assert stands_alone(f"{UNCLEAR[answer][1]}, so it may or may not be cancelled.", found["parcel"])
    assert not [(place, claim) for place, words in found.items() for claim in STILL_BOOKED if claim in words]


GONE = no(status=404, error="not_found", error_description="The requested resource does not exist.")


@pytest.mark.parametrize("way", WAYS)
def test_a_carrier_that_twice_doesnt_know_the_parcel_is_an_operators_case(
    booked: Callable[..., Order], line: Meddler, alice: User, visit: Visit, way: str
) -> None:
    order = booked()
    line.says("cancel", GONE)
    line.says("view", GONE)
    WAYS[way](order, alice)
    assert (order.status, order.due_at, order.cancels.get().state) == ("cancel_unconfirmed", None, "unknown")
    found = places(visit(alice), order)
    said = "The carrier says that it doesn't know this parcel, so it may or may not be cancelled."
    assert stands_alone(said, found["parcel"])
    assert not [(place, claim) for place, words in found.items() for claim in STILL_BOOKED if claim in words]


def test_a_carrier_that_forgot_it_after_a_lost_reply_is_an_operators_case(
    booked: Callable[..., Order], line: Meddler, carrier: SandboxCarrier, alice: User
) -> None:
    order = booked()
    carrier.trouble("cancel", "commit-close")
    assert cancelled(order, alice).status == "cancel_unconfirmed"
    line.says("cancel", GONE)
    line.says("view", GONE)
    Order.objects.update(due_at=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert (order.status, order.due_at) == ("cancel_unconfirmed", None)
    assert order.problem["text"] == "The carrier says that it doesn't know this parcel"


def test_a_404_for_a_cancellation_of_an_existing_order_is_our_fault(
    booked: Callable[..., Order], line: Meddler, alice: User, visit: Visit
) -> None:
    order = booked()
    line.says("cancel", GONE)
    line.edits("view", lambda seen: seen.update(state="Booked"))
    line.asked.clear()
    assert cancelled(order, alice).status == "booked"
    assert line.asked[-2:] == ["cancel", "view"]
    found = places(visit(alice), order)
    assert {place: stands_alone(OURS, words) for place, words in found.items()} == dict.fromkeys(found, True)
    order.account.refresh_from_db()
    assert "The requested resource does not exist." in order.account.fault


def test_a_404_for_an_order_that_turns_out_cancelled_is_a_yes(
    booked: Callable[..., Order], line: Meddler, alice: User
) -> None:
    order = booked()
    line.says("cancel", GONE)  # the sandbox still cancels it
    assert cancelled(order, alice).status == "cancelled"


# -- What the newest scans say ---------------------------------------------------------------------

SCANS = {
    "Missed Pickup": (MISSED, ("couldn't collect", "new day", "move the day")),
    "Futile Pickup": (FUTILE, ("didn't come", "Another driver")),
    "Pickup": ("It's already been picked up, so it can't be cancelled.", ("driver didn't", "couldn't collect")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("word", SCANS)
def test_a_scan_found_by_polling_shows_as_what_it_is(
    booked: Callable[..., Order], carrier: SandboxCarrier, alice: User, visit: Visit, word: str, way: str
) -> None:
    order = booked()
    carrier.scan(order.carrier_reference, word, push=False)
    said, never = SCANS[word]
    assert WAYS[way](order, alice).status == "booked"
    found = places(visit(alice), order)
    assert {place: stands_alone(said, words) for place, words in found.items()} == dict.fromkeys(found, True)
    found["cancel"] = found["cancel"].split("What would you like to change?")[0]  # which offers a choice of reasons
    assert not [(place, claim) for place, words in found.items() for claim in never if claim in words]
    assert not [r for r in carrier.requests() if r["method"] == "DELETE"]


@pytest.mark.parametrize("link", [True, False])
def test_missed_and_futile_pickups_share_no_sentence(quill: Sender, alice: User, request: Any, link: bool) -> None:
    if link:
        request.getfixturevalue("parcel_tools")
    order = factories.order(quill, alice, status="booked")
    now = timezone.now()
    missed, futile = (
        set(re.split(r"(?<=[.:;]) ", cancel_rules.why_not_cancelled_now(order, word, now, now=now)))
        for word in ("pickup_missed", "pickup_futile")
    )
    assert missed.isdisjoint(futile)


def test_a_missed_pickup_names_the_next_day_only_if_the_carrier_did(quill: Sender, alice: User) -> None:
    now = timezone.now()
    order = factories.order(quill, alice, status="booked", carrier_pickup_date=now.astimezone(quill.tzinfo).date())

    def recorded() -> str:
        return re.search(
            r"booked for (.*?)\. Leave", cancel_rules.why_not_cancelled_now(order, "pickup_missed", now, now=now)
        )[1]  # type: ignore[index]

    assert recorded() == "the next business day"
    order.carrier_pickup_date += dt.timedelta(days=3)
    assert (
        recorded() == f"{order.carrier_pickup_date:%a} {order.carrier_pickup_date.day} {order.carrier_pickup_date:%b}"
    )


@pytest.mark.parametrize(
    ("first_mile", "said"),
    [("pickup", "It's already been picked up, so it can't be cancelled."),
     ("drop-off", "It's already with the carrier, so it can't be cancelled.")],
)  # fmt: skip
def test_a_dropped_off_parcel_is_not_called_picked_up(quill: Sender, alice: User, first_mile: str, said: str) -> None:
    order = factories.order(quill, alice, status="booked", first_mile=first_mile)
    assert cancel_rules.why_not_cancelled_now(order, "in_transit", timezone.now(), now=timezone.now()) == said


def test_the_scan_that_prevented_it_is_on_its_page_a_moment_later(
    booked: Callable[..., Order], carrier: SandboxCarrier, alice: User, visit: Visit
) -> None:
    order = booked()
    polling.open_parcel(order.pk)
    carrier.scan(order.carrier_reference, "Missed Pickup", push=False)
    cancelled(order, alice)
    polling.open_parcel(order.pk)
    poll = Poll.objects.get()
    assert poll.due_at <= timezone.now()
    polling.poll_due_parcel(poll.pk)
    words = places(visit(alice), order)
    assert "You don't need to cancel" in words["cancel"]
    assert "Cancel it so the driver doesn't come" not in words["parcel"]


# -- A refusal that is out of date ------------------------------------------------------------------


def test_a_refusal_is_dropped_once_the_parcel_has_moved_on(
    booked: Callable[..., Order], carrier: SandboxCarrier, line: Meddler, alice: User, visit: Visit
) -> None:
    order = booked()
    carrier.scan(order.carrier_reference, "Missed Pickup", push=False)
    cancelled(order, alice)
    found = places(visit(alice), order)
    assert "and not cancelled:" in found["cancel"]
    advance(order, "collected", at=timezone.now())
    found = places(visit(alice), order)
    found["parcel"] = found["parcel"].split("Booking history")[0]
    assert [place for place, words in found.items() if MISSED in words] == ["mail"]
    assert "and not cancelled" not in found["cancel"]
    assert "It's already been picked up" in found["cancel"]
