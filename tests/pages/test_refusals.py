"""Each kind of refusal shows the carrier's own words in each place; our own faults go to the operator."""

import datetime as dt
import re
import uuid
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings
from orders.cancelling import cancels, replacing
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.importing import checking, finishing
from shipping_portal.importing.models import Import
from shipping_portal.staff import queues
from tests import factories
from tests.catalogue.meddling import Meddler, reply
from tests.pages.refusing import WRAPPER, no
from tests.pages.typed import ABROAD, AT_HOME, messages_at, text

pytestmark = pytest.mark.django_db

OURS = "The carrier refused how we asked. We're putting that right."
OURS_CANCEL = "The carrier refused how we asked. We're putting that right."
PARTNER = {"metadata": [{"partner_id": ["can't be blank"]}]}
NAME = {"receiver_name": ["must be written in Latin letters"]}
NO_WAY = "Order can not be cancelled; contact support for help."


def refused_booking(sender: Sender, by: User) -> Order:
    order = bookings.submit(
        quote=factories.quote(sender, by), code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(),
        pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "rejected"
    return order


def refused_cancellation(sender: Sender, by: User) -> Order:
    order = factories.order(sender, by, status="booked")
    cancels.ask_to_cancel(order, by=by, why="not sending it", now=timezone.now())
    cancels.process_cancel(order.pk)
    order.refresh_from_db()
    assert order.status == "booked"
    return order


def refused_replacement(sender: Sender, by: User) -> Order:
    order = factories.order(sender, by, status="booked")
    quote = factories.quote(sender, by)
    replacing.ask_to_replace(
        order, quote=quote, code="STANDARD-PICKUP", by=by, form_token=uuid.uuid4(), pickup_date=None,
        now=timezone.now(),
    )  # fmt: skip
    cancels.process_cancel(order.pk)
    replacing.replace_due_parcel(order.replacements.get().pk)
    order.refresh_from_db()
    assert order.status == "booked"
    return order


def places(page: Client, order: Order) -> dict[str, str]:
    """Return what a booker reads about an order, by place."""
    found = {
        "parcel": text(page.get(f"/parcels/{order.uuid}/")),
        "today": text(page.get("/today/")),
        "list": text(page.get("/parcels/")),
        "mail": " ".join(Notification.objects.values_list("line", flat=True)),
    }
    if order.status == "rejected":
        found["booking"] = text(page.get(f"/parcels/{order.uuid}/booking/"))
        found["form"] = text(page.get(f"/parcels/new/?again={order.uuid}", follow=True))
    else:
        found["cancel"] = text(page.get(f"/parcels/{order.uuid}/cancel/"))
    if order.replacements.exists():
        found["replacing"] = text(page.get(f"/parcels/{order.uuid}/replacing/"))
    return found


BOOKING = [
    ("at a field", NAME, "Name: must be written in Latin letters."),
    ("of the parcel", {"base": ["Nothing is carried there."]}, "Nothing is carried there."),
    ("as a bare string", "Nothing is carried there", "Nothing is carried there."),
    ("of the service", {"product_code": ["is not available"]}, "Service: is not available."),
    ("of the pickup", {"sender_suburb": ["is unknown"]}, "Pickup address, Suburb: is unknown."),
    ("of three fields", {"dimensions": ["can't be blank"]}, "Length, Width, Height: can't be blank."),
]
CANCELLING = [
    ("of the order", {"base": [NO_WAY]}, NO_WAY),
    ("as a bare string", NO_WAY, NO_WAY),
    ("at a field", {"pickup_date": ["has passed"]}, "has passed."),
]
KINDS: dict[str, tuple[str, Callable[[Sender, User], Order], list[Any]]] = {
    "booking": ("book", refused_booking, BOOKING),
    "cancel": ("cancel", refused_cancellation, CANCELLING),
    "replace": ("cancel", refused_replacement, CANCELLING),
}


@pytest.mark.parametrize(
    ("kind", "messages", "said"),
    [(kind, *case[1:]) for kind, (_, _, cases) in KINDS.items() for case in cases],
    ids=[f"{kind} {case[0]}" for kind, (_, _, cases) in KINDS.items() for case in cases],
)
def test_the_carriers_words_show_in_each_place_and_its_wrapper_in_none(
    line: Meddler, listed: Client, quill: Sender, alice: User, kind: str, messages: Any, said: str
) -> None:
    operation, refuse, _ = KINDS[kind]
    line.says(operation, no(messages))
    order = refuse(quill, alice)
    found = places(listed, order)
    if len(messages) == 1 and "dimensions" in messages:  # one sentence for three controls, but one at each
        found["form"] = found["form"].replace("Length: can't", "Length, Width, Height: can't")
    assert {place: said in words for place, words in found.items()} == dict.fromkeys(found, True)
    assert {place: WRAPPER in words for place, words in found.items()} == dict.fromkeys(found, False)
    assert said in order.changes.last().reason
    assert CarrierAccount.objects.get().fault_at is None


@pytest.mark.parametrize(
    "answer",
    [
        no(PARTNER),
        no({"hide_pickup_address": ["is odd"]}),
        no({"weight_units": ["is not included in the list"]}),
        no(None, status=404),
        no(None, status=415),
        reply(400, b"", Content_Type="text/html"),
    ],
    ids=["partner id", "a name we don't have", "no field of the form", "404", "415", "empty 400"],
)
def test_a_booking_refused_for_our_fault_goes_to_the_operator_and_asks_its_sender_nothing(
    line: Meddler, listed: Client, quill: Sender, alice: User, answer: bytes
) -> None:
    line.says("book", answer)
    found = places(listed, refused_booking(quill, alice))
    said = {place: OURS in words for place, words in found.items() if place != "form"}
    assert said == dict.fromkeys(said, True)
    assert "Nothing is wrong with what you typed." in found["form"]
    for words in found.values():
        for wrong in ("Put it right", "Fix it", "Fix and book", "partner_id", "hide_pickup", WRAPPER):
            assert wrong not in words
    account = CarrierAccount.objects.get()
    assert account.fault_at
    assert account.fault
    assert fault_queue() == 1


def fault_queue() -> int:
    return next(queue.count for queue in queues.waiting_queues(timezone.now()) if queue.title == "Refused: our setup")


def test_a_refusal_with_two_causes_tells_operator_and_sender_their_own(
    line: Meddler, listed: Client, quill: Sender, alice: User
) -> None:
    line.says("book", no({**NAME, **PARTNER}))
    found = places(listed, refused_booking(quill, alice))
    for place in ("parcel", "booking", "today", "list", "mail", "form"):
        assert "Name: must be written in Latin letters." in found[place]
        assert "It also refused how we asked; we're putting that right." in found[place]
    assert CarrierAccount.objects.get().fault == "metadata.partner_id: can't be blank"


def test_a_cancellation_refused_for_our_fault_goes_to_the_operator(
    line: Meddler, listed: Client, quill: Sender, alice: User
) -> None:
    line.says("cancel", no(None, status=415))
    found = places(listed, refused_cancellation(quill, alice))
    assert {place: OURS_CANCEL in words for place, words in found.items()} == dict.fromkeys(found, True)
    assert fault_queue() == 1


def test_a_refused_parcel_is_corrected_at_its_field(line: Meddler, listed: Client, quill: Sender, alice: User) -> None:
    """The field says what is wrong, the summary is focused and links to it, and nothing typed is lost."""
    line.says("book", no(NAME))
    answer = listed.get(f"/parcels/new/?again={refused_booking(quill, alice).uuid}", follow=True)
    assert answer.status_code == 200
    assert messages_at(answer, "receiver_name") == ["Name: must be written in Latin letters."]
    page = unescape(answer.content.decode())
    control = re.search(r'<input[^>]*name="receiver_name"[^>]*>', page)
    assert control
    for said in ('aria-invalid="true"', 'aria-describedby="id_receiver_name_error"', 'value="Noor Tamsin"'):
        assert said in control[0]
    summary = page[page.index('class="note bad error-summary"') :]
    assert "autofocus" in summary[: summary.index(">")]
    assert '<a href="#id_receiver_name">Name: must be written in Latin letters.</a>' in summary
    assert "<title>Error: New parcel" in page


CUSTOMS = [
    ({"item_hs_code": ["must have 10 digits for duties paid"]}, "item_1_hs_code"),
    ({"parcel_contents": [{"hs_code": ["must have 10 digits for duties paid"]}]}, "item_1_hs_code"),
    ({"parcel_contents": [{}, {"hs_code": ["must have 10 digits"]}]}, "item_2_hs_code"),
]
PRICE = [
    (AT_HOME, NAME, "receiver_name", "Name: must be written in Latin letters."),
    (AT_HOME, {"weight": ["is more than 25 kg"]}, "weight_kg", "Weight: is more than 25 kg."),
    (AT_HOME, {"receiver_instructions": ["is too long"]}, "delivery_place",
     "Delivery instructions: is too long."),
    (ABROAD, CUSTOMS[0][0], "item_1_hs_code", "HS code: must have 10 digits for duties paid."),
    (ABROAD, CUSTOMS[2][0], "item_2_hs_code", "Item 2, HS code: must have 10 digits."),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "messages", "name", "said"), PRICE, ids=[case[2] for case in PRICE])
def test_a_refused_price_shows_at_the_field(
    line: Meddler, listed: Client, typed: dict[str, Any], messages: Any, name: str, said: str
) -> None:
    line.says("quote", no(messages))
    answer = listed.post("/parcels/new/", typed)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [said]
    assert f'<a href="#id_{name}">{said}</a>' in unescape(answer.content.decode())
    assert WRAPPER not in text(answer)


@pytest.mark.parametrize(
    ("messages", "said"),
    [(NAME, "Name: must be written in Latin letters. Nothing was booked."), (PARTNER, OURS)],
    ids=["the sender's", "ours"],
)
def test_a_price_checked_again_and_refused_shows_beside_the_old_one(
    line: Meddler, listed: Client, quill: Sender, alice: User, messages: Any, said: str
) -> None:
    line.says("quote", no(messages))
    quote = factories.quote(quill, alice)
    answer = listed.post(factories.prices_of(quote), follow=True)
    assert said in text(answer)
    assert WRAPPER not in text(answer)


def test_a_price_refused_before_the_booking_was_sent_shows_in_each_place(
    line: Meddler, listed: Client, quill: Sender, alice: User
) -> None:
    order = factories.order(
        quill, alice, status="booking", due_at=timezone.now(), quoted_at=timezone.now() - dt.timedelta(hours=1)
    )
    line.says("quote", no(NAME))
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.status == "draft"
    found = places(listed, order)
    del found["cancel"]
    found["booking"] = text(listed.get(f"/parcels/{order.uuid}/booking/"))
    said = {place: "Name: must be written in Latin letters." in words for place, words in found.items()}
    assert said == dict.fromkeys(found, True)


@pytest.mark.parametrize("answer", [no(PARTNER), no(None, status=404)], ids=["partner id", "404"])
def test_a_price_refused_for_our_fault_goes_to_the_operator(line: Meddler, listed: Client, answer: bytes) -> None:
    line.says("quote", answer)
    words = text(listed.post("/parcels/new/", AT_HOME))
    assert f"{OURS} Nothing was booked." in words
    assert "partner_id" not in words
    assert fault_queue() == 1


def test_a_price_refused_for_the_account_goes_to_the_operator(line: Meddler, listed: Client) -> None:
    line.says("quote", reply(403, {"error": "forbidden", "error_description": "blocked"}))
    assert "The carrier gives this portal no prices just now." in text(listed.post("/parcels/new/", AT_HOME))
    assert CarrierAccount.objects.get().fault == "account stopped (403): blocked"


@pytest.mark.parametrize(
    ("messages", "said"),
    [(NAME, "Name: must be written in Latin letters."), (PARTNER, OURS)],
    ids=["the sender's", "ours"],
)
def test_a_refused_row_says_so_in_the_grid_on_its_page_and_in_the_failed_rows_file(
    line: Meddler, listed: Client, quill: Sender, alice: User, messages: Any, said: str
) -> None:
    line.says("quote", no(messages))
    row = factories.import_row(quill, alice, state="new", problems={}, due_at=timezone.now())
    row.cells[6] = "1.2"
    row.save()
    checking.check_row(row.pk)
    row.refresh_from_db()
    assert row.state == "fix"
    file = f"/imports/{row.file.uuid}"
    for words in (
        text(listed.get(f"{file}/check/?show=fix")),
        text(listed.get(f"{file}/rows/{row.pk}/")),
        listed.get(f"{file}/failed.csv").getvalue().decode(),
    ):
        assert said in words
        assert WRAPPER not in words
        assert "partner_id" not in words
    assert fault_queue() == (messages == PARTNER)


def test_a_row_refused_when_booked_is_in_the_imports_result(
    line: Meddler, listed: Client, quill: Sender, alice: User
) -> None:
    line.says("book", no(NAME))
    order = refused_booking(quill, alice)
    row = factories.import_row(quill, alice, state="booked", problems={}, order=order)
    row.file.state = "booking"
    row.file.save()
    words = text(listed.get(f"/imports/{row.file.uuid}/"))
    assert "Name: must be written in Latin letters." in words
    assert WRAPPER not in words
    Import.objects.update(begun_at=timezone.now(), begun_by=alice)
    finishing.finish_done_imports(timezone.now())
    seen = Notification.objects.get(dedupe_key__startswith="import:").line
    assert seen == "orders.csv: 0 booked, 1 not. Row 2: Name: must be written in Latin letters."


def test_many_messages_are_shortened_where_there_is_little_room(
    line: Meddler, listed: Client, quill: Sender, alice: User
) -> None:
    fields = ("name", "company", "phone", "email", "line1")
    line.says("book", no({f"receiver_{field}": [f"is bad {field}"] for field in fields}))
    found = places(listed, refused_booking(quill, alice))
    assert "is bad phone. And 2 more." in found["today"]
    for field in fields:
        assert f"is bad {field}." in found["booking"]
        assert f"is bad {field}." in found["form"]
    assert max(map(len, Notification.objects.values_list("line", flat=True))) < 300


@pytest.mark.parametrize("who", ["vic", "bea"])
def test_the_carriers_words_are_for_those_who_book(
    line: Meddler, quill: Sender, alice: User, visit: Callable[[User], Client], who: str,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    line.says("book", no({"base": ["Noor is not known."]}))
    line.says("cancel", no({"base": ["Noor is not known."]}))
    page = visit(request.getfixturevalue(who))
    for order in (refused_booking(quill, alice), refused_cancellation(quill, alice)):
        for address in (f"/parcels/{order.uuid}/", "/today/", "/parcels/"):
            assert "Noor is not known" not in text(page.get(address))
