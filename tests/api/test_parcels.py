"""Prices, bookings, cancellations, labels and tracking through the API, with a separate carrier."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules, bookings
from orders.cancelling import cancels
from orders.labels import fetching
from orders.list import listing
from orders.models import Draft, Label, LabelBytes, Order, Quote
from orders.quoting import asking as offering
from orders.status.status_labels import GROUPS
from shipping_portal.accounts.models import Audit, Membership, PickupAddress, Sender, User
from shipping_portal.api import schemas
from tests import factories
from tests.api.conftest import PARCEL, Program
from tests.catalogue.meddling import Meddler
from tests.pages.refusing import no
from tests.sandbox_carrier import SandboxCarrier
from tracking.models import ReceiverPage

pytestmark = pytest.mark.django_db
OFFER: Any = {
    "code": "A", "name": "A", "first_mile": "pickup", "duties_paid": False, "currency": "AUD", "breakdown": [],
    "plan": "", "pickup": None, "eta_from": None, "eta_to": None,
}  # fmt: skip


def problem(answer: Any) -> tuple[int, str]:
    """Return a problem's status and the last word of its type, which must agree with its content."""
    assert answer["Content-Type"] == "application/problem+json", answer.content
    found = answer.json()
    assert found["status"] == answer.status_code
    assert found["title"]
    assert found["detail"]
    assert found["request_id"] == answer["X-Request-ID"]
    return answer.status_code, found["type"].partition("#")[2]


def test_an_id_in_capitals_is_the_same_id(quill: Sender, alice: User, hers: Program) -> None:
    """Some languages write a UUID in capitals."""
    order = factories.order(quill, alice)
    assert hers.get(f"/parcels/{str(order.uuid).upper()}").json()["id"] == str(order.uuid)


@pytest.mark.parametrize(
    ("carriers", "shown"), [("24.0", "24.00"), ("24", "24.00"), ("7.5825", "7.58"), ("7.585", "7.59"), ("0.0", "0.00")]
)
def test_an_offer_is_priced_in_cents_as_its_parcel_will_be(carriers: str, shown: str) -> None:
    """A carrier may write 24.0 or 7.5825, and a program compares what it was quoted and charged."""
    taxes = [("GST", carriers, "AUD")]
    days = {"eta_from": None, "eta_to": None, "pickup_days": []}
    offer = schemas.OfferOut(
        key="A", carrier="", name="A", first_mile="pickup", total=carriers, currency="AUD", taxes=taxes, cover=carriers,
        duties_paid=False, **days,
    ).model_dump(mode="json")  # fmt: skip
    assert (offer["total"], offer["taxes"][0][1], offer["cover"]) == (shown, shown, shown)
    assert offering.offer_fields({**OFFER, "amount": carriers})["price"] == Decimal(shown)
    assert schemas.Price(amount=carriers, currency="AUD").model_dump(mode="json")["amount"] == shown


def test_from_a_token_to_a_label_in_five_calls(carrier: SandboxCarrier, hers: Program) -> None:
    quote = hers.quote()
    cheapest = quote["offers"][0]
    booked = hers.book(quote, "order-7")
    assert booked.status_code == 202
    order = Order.objects.get()
    assert booked.json() == {"id": str(order.uuid), "url": f"{settings.SITE_URL}/api/v1/parcels/{order.uuid}"}
    assert booked["Location"] == booked.json()["url"]
    assert order.status == "booking"
    assert len(carrier.ledger("booked")) == 0
    late = hers.get(f"/parcels/{order.uuid}/label")
    assert problem(late) == (409, "label-late")
    assert late["Retry-After"] == "2"

    bookings.process_booking(order.pk)
    Label.objects.update(is_spare=False)  # both are wanted
    for label in Label.objects.all():
        fetching.fetch_due_label(label.pk)

    parcel = hers.get(f"/parcels/{order.uuid}").json()
    assert (parcel["status"], parcel["product"]) == ("booked", cheapest["product"])
    assert parcel["price"] == {"amount": cheapest["total"], "currency": cheapest["currency"]}
    assert parcel["reference"] == carrier.ledger("booked")[0]["reference"]
    assert parcel["receiver"]["email"] == PARCEL["receiver_email"]
    assert parcel["sentence"].startswith("Booked at ")
    assert {label["state"] for label in parcel["labels"]} == {"stored"}
    label = hers.get(f"/parcels/{order.uuid}/label?size=full")
    assert label["Content-Type"] == "application/pdf"
    assert label.content == Label.objects.get(size="full").intact_bytes()
    assert Audit.objects.filter(action="label downloaded", subject=f"order {order.pk}").count() == 1
    tracking = hers.get(f"/parcels/{order.uuid}/tracking").json()
    assert (tracking["status"], tracking["scans"]) == ("booked", [])


def test_a_worthless_label_is_returned_only_on_explicit_request(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="STEST1")
    factories.stored_label(order)
    order.labels.update(is_worthless=True)
    assert hers.get(f"/parcels/{order.uuid}").json()["labels"][0]["is_worthless"] is True
    assert problem(hers.get(f"/parcels/{order.uuid}/label?size=full")) == (409, "worthless")
    asked_for = hers.get(f"/parcels/{order.uuid}/label?size=full&worthless=true")
    assert asked_for.content == order.labels.get().intact_bytes()


def test_a_label_that_is_no_longer_kept_isnt_listed_as_stored(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="STEST1")
    factories.stored_label(order)
    assert len(hers.get(f"/parcels/{order.uuid}").json()["labels"]) == 1
    order.labels.update(purged_at=timezone.now())
    assert hers.get(f"/parcels/{order.uuid}").json()["labels"] == []


def test_a_label_in_an_unreachable_bucket_is_reported_as_late(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="STEST1")
    factories.stored_label(order)
    LabelBytes.objects.update(address="labels/in-no-bucket")
    answer = hers.get(f"/parcels/{order.uuid}/label?size=full")
    assert problem(answer) == (409, "label-late")
    assert answer["Retry-After"]


@pytest.mark.parametrize(
    ("state", "words", "again"),
    [
        ("pending", "The carrier is making it.", "2"),
        ("failed", "The carrier hasn't given us this label yet. The parcel is booked; don't book it again.", None),
        ("absent", "The carrier has no label of this size for this parcel.", None),
        (
            "withheld",
            (
                "After a fault on our side we're asking the carrier whether this parcel is still booked."
                " Don't use a label you printed before, and don't book it again."
            ),
            None,
        ),
    ],
)
def test_a_label_that_isnt_there_says_what_happened_and_what_to_do(
    hers: Program, quill: Sender, alice: User, state: str, words: str, again: str | None
) -> None:
    order = factories.order(quill, alice, status="booked", carrier_reference="STEST1")
    Label.objects.create(order=order, size="full", state=state)
    answer = hers.get(f"/parcels/{order.uuid}/label?size=full")
    assert (problem(answer), answer.json()["detail"]) == ((409, "label-late"), words)
    assert answer.get("Retry-After") == again


def test_prices_are_the_same_as_on_the_page_and_make_a_draft(
    carrier: SandboxCarrier, hers: Program, alice: User
) -> None:
    found = hers.quote()
    quote, draft = Quote.objects.get(), Draft.objects.get()
    assert (found["id"], found["draft"]) == (str(quote.uuid), str(draft.uuid))
    assert (draft.made_by, draft.quote, draft.is_saved, draft.source) == (alice, quote, False, "typed")
    assert draft.values["receiver_name"] == "Noor Tamsin"
    prices = sorted(float(offer["amount"]) for offer in quote.products)
    assert [offer["total"] for offer in found["offers"]] == [f"{price:.2f}" for price in prices]
    lives = dt.datetime.fromisoformat(found["expires_at"]) - quote.made_at
    assert round(lives.total_seconds()) == settings.QUOTE_SECONDS


def test_an_error_is_at_its_field_with_the_forms_message(hers: Program) -> None:
    body = PARCEL | {"receiver_email": "noor", "weight_kg": "2,4", "receiver_name": ""}
    answer = hers.post("/quotes", body)
    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"] == {
        "receiver_name": ["Enter the receiver's name."],
        "receiver_email": ["Enter a full email address, like name@example.com."],
        "weight_kg": ["Use a dot: 2.4."],
    }
    assert not Draft.objects.exists()


def test_an_unknown_field_is_refused(hers: Program) -> None:
    assert hers.post("/quotes", PARCEL | {"reciever_name": "x"}).json()["errors"] == {
        "reciever_name": ["Extra inputs are not permitted."]
    }
    assert hers.post("/quotes", PARCEL | {"weight_lb": 5}).json()["errors"] == {
        "weight_lb": ["This account has no such field."]
    }


def test_the_carriers_refusal_of_a_parcel_is_at_its_field(line: Meddler, hers: Program) -> None:
    line.says("quote", no({"receiver": {"postcode": ["is not served"]}}))
    answer = hers.post("/quotes", PARCEL)
    assert problem(answer) == (422, "invalid")
    assert "receiver_postcode" in answer.json()["errors"]
    assert not Order.objects.exists()


def test_five_equal_posts_are_one_order_with_one_response(carrier: SandboxCarrier, hers: Program) -> None:
    quote = hers.quote()
    answers = [hers.book(quote, "order-7") for _ in range(5)]
    order = Order.objects.get()
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    bookings.process_booking(order.pk)
    assert hers.book(quote, "order-7").content == answers[0].content
    assert len(carrier.ledger("booked")) == 1


def test_the_same_parcel_at_new_prices_under_the_same_key_is_the_same_order(
    carrier: SandboxCarrier, hers: Program
) -> None:
    first = hers.book(hers.quote(), "order-7")
    again = hers.quote()
    assert Quote.objects.count() == 2
    assert hers.book(again, "order-7").content == first.content
    assert Order.objects.count() == 1


def test_a_key_with_different_content_is_refused(carrier: SandboxCarrier, hers: Program) -> None:
    quote = hers.quote()
    order = hers.book(quote, "order-7").json()["id"]
    for answer in (
        hers.book(quote, "order-7", product=quote["offers"][1]["product"]),
        hers.book(hers.quote(receiver_name="Somebody Else"), "order-7"),
    ):
        assert problem(answer) == (422, "key-reused")
        assert answer.json()["parcel"] == order
    assert Order.objects.count() == 1


def test_without_a_key_nothing_is_booked(carrier: SandboxCarrier, hers: Program) -> None:
    quote = hers.quote()
    answer = hers.post("/parcels", {"quote": quote["id"], "product": quote["offers"][0]["product"]})
    assert problem(answer) == (422, "invalid")
    assert list(answer.json()["errors"]) == ["Idempotency-Key"]
    assert not Order.objects.exists()


def test_keys_are_per_account(
    carrier: SandboxCarrier, hers: Program, program: Callable[..., Program], bob: User
) -> None:
    theirs = program(bob)
    for one in (hers, theirs):
        assert one.book(one.quote(), "order-7").status_code == 202
    assert Order.objects.values("sender").distinct().count() == 2


def test_a_parcel_like_the_last_one_must_be_confirmed(carrier: SandboxCarrier, hers: Program) -> None:
    first = hers.book(hers.quote(), "one").json()["id"]
    quote = hers.quote()
    answer = hers.book(quote, "two")
    assert problem(answer) == (409, "duplicate")
    assert answer.json()["parcel"] == first
    words = "An earlier parcel goes to the same receiver. Nothing was booked."
    assert answer.json()["detail"] == f"{words} Send another: true to book."
    for number in (1, "yes"):
        assert list(hers.book(quote, "two", another=number).json()["errors"]) == ["another"]
    assert hers.book(quote, "two", another=True).status_code == 202
    assert Order.objects.count() == 2


def test_of_two_parcels_alike_at_one_instant_the_second_must_be_confirmed(
    carrier: SandboxCarrier, hers: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither request saw the other's order yet when it checked: the account's lock decides."""
    first, quote, checks = hers.book(hers.quote(), "one").json()["id"], hers.quote(), []
    found = booking_rules.duplicate_to_ask_about
    unseen = lambda *given, **more: found(*given, **more) if checks else checks.append(given)  # noqa: E731
    monkeypatch.setattr(booking_rules, "duplicate_to_ask_about", unseen)
    answer = hers.book(quote, "two")
    assert (problem(answer), answer.json()["parcel"]) == ((409, "duplicate"), first)
    assert Order.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"product": "NO-SUCH"}, "product"),
        ({"pickup_date": "2020-01-01"}, "pickup_date"),
        ({"pickup_date": "tomorrow"}, "pickup_date"),
        ({"quote": str(uuid.uuid4())}, "quote"),
        ({"quote": "x"}, "quote"),
        ({"produkt": "x"}, "produkt"),
    ],
)
def test_a_wrong_choice_is_at_its_field(
    carrier: SandboxCarrier, hers: Program, changes: dict[str, str], at: str
) -> None:
    answer = hers.book(hers.quote(), "order-7", **changes)
    assert problem(answer) == (422, "invalid")
    assert list(answer.json()["errors"]) == [at]
    assert not Order.objects.exists()


def test_a_booking_ends_the_draft(carrier: SandboxCarrier, hers: Program) -> None:
    hers.book(hers.quote(), "order-7")
    draft = Draft.objects.get()
    assert (draft.order, draft.values) == (Order.objects.get(), {})


def test_a_booking_keeps_a_draft_that_somebody_is_still_typing(
    carrier: SandboxCarrier, hers: Program, alice: User
) -> None:
    """While a price is valid, the same parcel has one quote, so both drafts refer to it."""
    typed = factories.draft(alice.membership.sender, alice)
    quote = hers.quote()
    Draft.objects.filter(pk=typed.pk).update(quote=Quote.objects.get())
    hers.book(quote, "order-7")
    typed.refresh_from_db()
    assert typed.order is None
    assert Draft.objects.get(uuid=quote["draft"]).order == Order.objects.get()


def test_prices_can_be_booked_after_their_draft_is_deleted(carrier: SandboxCarrier, hers: Program) -> None:
    quote = hers.quote()
    Draft.objects.all().delete()
    assert hers.book(quote, "order-7").status_code == 202


def test_a_suspended_account_can_read_but_not_book(
    carrier: SandboxCarrier, hers: Program, quill: Sender, sam: User, alice: User
) -> None:
    quote, now = hers.quote(), timezone.now()
    kept = hers.book(quote, "before")
    order = factories.order(quill, alice, status="booked")
    factories.stored_label(order)
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=now)
    for answer in (hers.post("/quotes", PARCEL), hers.book(quote, "after")):
        assert problem(answer) == (403, "suspended")
        assert answer.json()["detail"] == "Unpaid bill."
    assert hers.book(quote, "before").content == kept.content
    assert hers.get(f"/parcels/{order.uuid}/label").status_code == 200
    Sender.objects.filter(pk=quill.pk).update(dispatch_stopped_at=now)
    assert problem(hers.get(f"/parcels/{order.uuid}/label")) == (403, "suspended")
    assert hers.get("/parcels").status_code == 200


def test_an_account_without_a_pickup_address_is_sent_to_the_pages(hers: Program, quill: Sender) -> None:
    quill.pickup_addresses.all().delete()
    assert problem(hers.post("/quotes", PARCEL)) == (409, "start")


def test_limits_are_in_the_headers(carrier: SandboxCarrier, hers: Program, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(quotes_a_minute=2, bookings_a_day=1)
    first = hers.post("/quotes", PARCEL)
    assert first["RateLimit-Policy"] == '"quotes";q=2;w=60'
    assert first["RateLimit"].startswith('"quotes";r=1;t=')
    hers.quote(weight_kg=2.5)  # a different request: the same one for somebody else uses no price
    over = hers.post("/quotes", PARCEL | {"weight_kg": 2.6})
    assert problem(over) == (429, "limit")
    assert 0 < int(over["Retry-After"]) <= 60
    booked = hers.book(first.json(), "one")
    assert booked["RateLimit"].startswith('"bookings";r=0;t=')
    over = hers.book(first.json(), "two", another=True)
    assert problem(over) == (429, "limit")
    assert 0 < int(over["Retry-After"]) <= 86_400
    assert "at most 1 parcels a day" in over.json()["detail"]
    assert Order.objects.count() == 1


def test_a_limit_that_does_not_reset_has_no_reset_time(hers: Program, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(unbilled_limit=0)
    over = hers.post("/quotes", PARCEL)
    assert problem(over) == (429, "limit")
    assert not over.has_header("Retry-After")


def test_a_paused_or_silent_carrier_gives_503_with_a_retry_time(carrier: SandboxCarrier, hers: Program) -> None:
    account = factories.account()
    type(account).objects.update(paused_at=timezone.now(), pause_text="The depot is flooded.")
    answer = hers.post("/quotes", PARCEL)
    assert problem(answer) == (503, "unavailable")
    assert "The depot is flooded." in answer.json()["detail"]
    type(account).objects.update(paused_at=None)
    carrier.trouble("quote", "500")
    answer = hers.post("/quotes", PARCEL)
    assert problem(answer) == (503, "unavailable")
    assert int(answer["Retry-After"]) > 0


def test_a_quote_from_an_earlier_pickup_address_books_nothing_new(carrier: SandboxCarrier, hers: Program) -> None:
    first, second = hers.quote(), hers.quote(weight_kg="1.5")
    booked = hers.book(first, "one")
    PickupAddress.objects.update(line1="99 New Road")
    assert hers.book(first, "one").json() == booked.json()
    refused = hers.book(second, "two")
    assert problem(refused) == (422, "invalid")
    assert "Your pickup address has changed" in refused.json()["errors"]["quote"][0]
    assert Order.objects.count() == 1


def test_a_cancellation_is_requested_once(carrier: SandboxCarrier, hers: Program) -> None:
    order = Order.objects.get(uuid=hers.book(hers.quote(), "one").json()["id"])
    early = hers.post(f"/parcels/{order.uuid}/cancel")
    assert problem(early) == (409, "state")
    bookings.process_booking(order.pk)
    for _ in range(3):
        assert hers.post(f"/parcels/{order.uuid}/cancel").status_code == 202
    assert order.cancels.count() == 1
    assert problem(hers.get(f"/parcels/{order.uuid}/label")) == (404, "not-found")
    cancels.process_cancel(order.pk)
    assert hers.post(f"/parcels/{order.uuid}/cancel").status_code == 202
    assert hers.get(f"/parcels/{order.uuid}").json()["status"] == "cancelled"
    assert len(carrier.ledger("cancelled")) == 1


def test_a_parcel_the_driver_already_has_is_not_cancelled(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked", progress="collected")
    answer = hers.post(f"/parcels/{order.uuid}/cancel")
    assert problem(answer) == (409, "state")
    assert not order.cancels.exists()


def test_a_changed_price_must_be_accepted(hers: Program, quill: Sender, alice: User) -> None:
    offer = {**factories.OFFER, "amount": "13.20"}
    problem_of = {"kind": "price_rose", "old": "12.08", "new": "13.20", "offer": offer}
    order = factories.order(quill, alice, status="draft", problem=problem_of | {"quoted_at": str(timezone.now())})
    url = f"/parcels/{order.uuid}"
    price = hers.get(url).json()["price_to_confirm"]
    assert price == {"amount": "13.20", "currency": "AUD"}
    wrong = hers.post(f"{url}/confirm", {"amount": "12.08", "currency": "AUD"})
    assert problem(wrong) == (422, "invalid")
    assert wrong.json()["errors"] == {"amount": ["The price is $13.20 AUD now. Nothing was booked."]}
    assert hers.post(f"{url}/confirm", price).status_code == 202
    order.refresh_from_db()
    assert (order.status, str(order.price)) == ("booking", "13.20")
    assert problem(hers.post(f"{url}/confirm", {"amount": "13.20", "currency": "AUD"})) == (409, "state")


def test_a_changed_price_from_an_earlier_pickup_address_is_not_booked(
    hers: Program, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="not_booked")
    PickupAddress.objects.update(line1="99 New Road")
    answer = hers.post(f"/parcels/{order.uuid}/confirm", {"amount": "12.08", "currency": "AUD"})
    assert problem(answer) == (409, "state")
    assert answer.json()["detail"].startswith("Your pickup address has changed since this price. Nothing was booked.")
    assert Order.objects.get().status == "not_booked"


def test_sharing_a_parcel_with_its_receiver_can_be_turned_on_and_off(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    one = f"/parcels/{order.uuid}"
    first = hers.post(f"{one}/share", {"contact": "help@quill.example"}).json()
    assert hers.post(f"{one}/share", {}).json() == first
    assert hers.get(one).json()["receiver_page"] == first["url"]
    path = urlsplit(first["url"]).path
    assert "help@quill.example" in Client().get(path).content.decode()
    assert hers.call("DELETE", f"{one}/share").status_code == 204
    assert hers.get(one).json()["receiver_page"] is None
    assert Client().get(path).status_code == 404


def test_only_a_booked_parcel_is_shared_and_the_contact_is_checked(hers: Program, quill: Sender, alice: User) -> None:
    booked, draft = factories.order(quill, alice, status="booked"), factories.order(quill, alice)
    assert hers.post(f"/parcels/{draft.uuid}/share", {}).status_code == 409
    wrong = hers.post(f"/parcels/{booked.uuid}/share", {"contact": "Ask Jenny"})
    assert wrong.json()["errors"] == {"contact": ["Enter an email or a phone number."]}
    assert wrong.status_code == 422
    assert not ReceiverPage.objects.exists()


@pytest.mark.parametrize("role", ["bookkeeper", "viewer"])
def test_a_role_that_cannot_share_is_not_given_the_url(role: str, hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    hers.post(f"/parcels/{order.uuid}/share", {})
    Membership.objects.filter(user=alice).update(role=role)
    assert hers.get(f"/parcels/{order.uuid}").json()["receiver_page"] is None


def test_a_parcel_that_has_not_changed_gives_304(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    url = f"/parcels/{order.uuid}"
    first = hers.get(url)
    same = hers.get(url, if_none_match=first["ETag"])
    assert (same.status_code, same.content) == (304, b"")
    assert [same[name] for name in ("ETag", "Cache-Control")] == [first["ETag"], "private, no-cache"]
    Order.objects.filter(pk=order.pk).update(progress="in_transit")
    assert hers.get(url, if_none_match=first["ETag"]).status_code == 200


def test_the_list_pages_by_cursor_and_shows_each_parcel_once(hers: Program, quill: Sender, alice: User) -> None:
    last = factories.order(quill, alice, status="booked")
    Order.objects.bulk_create(factories.copy_of(last, number) for number in range(119))
    seen, cursor, sizes = [], "", []
    while cursor is not None:
        page = hers.get(f"/parcels?cursor={cursor}").json()
        sizes.append(len(page["parcels"]))
        seen += [parcel["id"] for parcel in page["parcels"]]
        cursor = page["next"]
    assert sizes == [50, 50, 20]
    assert seen == [str(key) for key in Order.objects.order_by("-pk").values_list("uuid", flat=True)]


def test_the_list_takes_the_pages_filters_and_refuses_unknown_ones(hers: Program, quill: Sender, alice: User) -> None:
    one = factories.order(quill, alice, status="booked")
    other = factories.order(quill, alice, status="rejected")

    def found(query: str) -> set[str]:
        return {parcel["id"] for parcel in hers.get(f"/parcels?{query}").json()["parcels"]}

    assert found("status=waiting") == {str(one.uuid)}
    assert found("status=unbooked") == {str(other.uuid)}
    assert found(f"q={one.carrier_reference}") == {str(one.uuid)}
    assert found("booked_from=2999-01-01") == set()
    for query in ("status=nonsense", "sort=best", "cursor=x", "colour=red", "booked_from=yesterday"):
        answer = hers.get(f"/parcels?{query}")
        assert problem(answer) == (422, "invalid"), query
        assert answer.json()["errors"] == {query.partition("=")[0]: ["This isn't known here."]}
    twice = hers.get("/parcels?status=waiting&status=unbooked&country=AU")
    assert twice.json()["errors"] == {"status": ["This was sent twice. Send it once."]}


def test_each_filter_of_the_schema_names_values_that_are_accepted(hers: Program) -> None:
    declared = hers.get("/openapi.json").json()["paths"]["/api/v1/parcels"]["get"]["parameters"]
    words = {one["name"]: one["description"] for one in declared if one["in"] == "query"}
    assert set(listing.FILTERS) <= set(words)
    days = dict.fromkeys(("pickup", "booked_from", "booked_to"), "2026-11-28")
    for name, value in {"country": "AU", "service": "STANDARD-PICKUP", **days}.items():
        assert value in words[name]
        assert hers.get(f"/parcels?{name}={value}").status_code == 200
    for name, values in {"status": GROUPS, "printed": ("yes", "no"), "returns": ("yes", "no")}.items():
        assert f"One of {', '.join(values)}" in words[name]
    assert "yes" in words["adjusted"]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("?colour=red", {"colour": ["This isn't known here."]}),
        ("/label?sise=cropped", {"sise": ["This isn't known here."]}),
        ("/label?size=full&size=cropped", {"size": ["This was sent twice. Send it once."]}),
        ("/tracking?since=2026-11-28", {"since": ["This isn't known here."]}),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused(
    hers: Program, quill: Sender, alice: User, path: str, wanted: dict[str, list[str]]
) -> None:
    order = factories.order(quill, alice, status="booked")
    factories.stored_label(order)
    answer = hers.get(f"/parcels/{order.uuid}{path}")
    assert (problem(answer), answer.json()["errors"]) == ((422, "invalid"), wanted)


def test_a_misplaced_field_books_and_cancels_nothing(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    answer = hers.post(f"/parcels/{order.uuid}/cancel?dry_run=true")
    assert answer.json()["errors"] == {"dry_run": ["This isn't known here."]}
    order.refresh_from_db()
    assert order.status == "booked"
    chosen = {"quote": str(order.quote.uuid), "product": order.product_code}
    answer = hers.post("/parcels?another=true", chosen, idempotency_key="k")
    assert answer.json()["errors"] == {"another": ["This isn't known here."]}
    assert Order.objects.get() == order


def test_tracking_shows_the_scans_newest_first(hers: Program, quill: Sender, alice: User) -> None:
    parcel, now = factories.parcel(factories.order(quill, alice, status="booked")), timezone.now()
    for hours, word in ((3, "Pickup"), (1, "In Transit")):
        factories.event(parcel, event_type=word, scan_time=now - dt.timedelta(hours=hours))
    found = hers.get(f"/parcels/{parcel.order.uuid}/tracking").json()
    assert [scan["words"] for scan in found["scans"]] == ["On the way", "Picked up"]
    assert found["scans"][0]["place"] == "Fitzroy VIC 3065, Australia"


def test_a_delivered_parcel_can_be_sent_back_with_an_ordinary_booking(
    hers: Program, quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    prices = hers.post(f"/parcels/{sent.uuid}/return", {})
    assert prices.status_code == 201, prices.content
    made = hers.book(prices.json(), "back").json()
    assert hers.book(prices.json(), "back").json() == made
    shown = hers.get(f"/parcels/{made['id']}").json()
    assert (shown["returns"], shown["receiver"]["name"]) == (str(sent.uuid), "Ira Quill")
    assert hers.get(f"/parcels/{sent.uuid}").json()["sent_back"] == [made["id"]]
    listed = hers.get("/parcels?returns=yes").json()["parcels"]
    assert [one["id"] for one in listed] == [made["id"]]
    again = hers.post(f"/parcels/{sent.uuid}/return", {}).json()
    assert problem(hers.book(again, "other")) == (409, "duplicate")
    assert hers.book(again, "other", another=True).status_code == 202


def test_a_return_priced_before_the_pickup_address_changed_is_priced_again_to_the_new_one(
    hers: Program, quill: Sender, alice: User, carrier: SandboxCarrier
) -> None:
    """Also when the same draft is asked about more than once."""
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    prices = hers.post(f"/parcels/{sent.uuid}/return", {}).json()
    PickupAddress.objects.update(line1="99 New Road")
    refused = hers.book(prices, "one")
    assert problem(refused) == (422, "invalid")
    assert "Your pickup address has changed" in refused.json()["errors"]["quote"][0]
    for _ in range(2):
        prices = hers.post(f"/drafts/{prices['draft']}/quotes", {}).json()
    assert hers.book(prices, "two").status_code == 202
    assert sent.sent_back.get().receiver_line1 == "99 New Road"


def test_a_parcel_that_cannot_be_sent_back_is_a_state_problem(hers: Program, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    assert problem(hers.post(f"/parcels/{order.uuid}/return", {})) == (409, "state")
