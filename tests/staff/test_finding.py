"""One search finds whatever a caller mentions: a parcel, a sender or a person. It shows no more than the lists do."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Membership, PickupAddress, Sender, User
from shipping_portal.staff import finding, first_page
from tests import factories


@pytest.fixture
def order(quill: Sender, alice: User, bob: User) -> Order:
    """A parcel of Quill's, and another sender's."""
    factories.order(
        bob.membership.sender, bob, search="somebody else", receiver_name="Somebody Else",
        receiver_email="else@example.net", receiver_phone="0491 570 157",
    )  # fmt: skip
    made = factories.order(quill, alice, status="booked", customer_reference="12345")
    made.search = f"{made.search_text()} {str(made.carrier_reference).lower()}"
    made.save()
    return made


def found(staff: Client, said: str) -> Any:
    return staff.get("/admin/find/", {"q": said})


@pytest.mark.postgres
@pytest.mark.parametrize("said", ["0491 570 156", "0491570156", "+61491570156", "+61 491 570 156", "(0491) 570-156"])
def test_a_phone_number_is_found_however_it_is_spelled(staff: Client, order: Order, said: str) -> None:
    assert found(staff, said).context["orders"] == [order]


@pytest.mark.postgres
@pytest.mark.parametrize(
    "said",
    [
        "Noor Tamsin", "tamsin noor", "NOOR  -  TAMS", "noor.tamsin@example.net", "NOOR.TAMSIN@example.net", "7000",
        "Hobart Noor", "7000 0491 570 156", "0491 570 156 Noor", "0491-570-156 7000", "no ta 70",
        "Quill", "quill tamsin", "alice@quill.example", "Alice@Quill.Example noor", "A-{number} 7000",
        "{reference} noor", "{pk} noor", "7000 12345", "12345 7000",
    ],
)  # fmt: skip
def test_a_parcel_is_found_by_any_detail_from_a_caller(staff: Client, order: Order, said: str) -> None:
    text = said.format(number=1000 + order.sender_id, reference=order.carrier_reference, pk=order.pk)
    assert found(staff, text).context["orders"] == [order]


@pytest.mark.postgres
def test_a_return_is_found_by_its_sender_and_named_after_them(staff: Client, quill: Sender, alice: User) -> None:
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    made = factories.order(
        quill, alice, status="booked", returns=sent, pickup=vars(factories.receiver()), receiver_name="Alice of Quill",
        receiver_phone="0491 570 158",
    )  # fmt: skip
    made.search = made.search_text()
    made.save()
    Order.objects.filter(pk=sent.pk).update(search="")
    for said in ("Noor Tamsin", "noor.tamsin@example.net", "0491 570 156", "+61491570156"):
        page = found(staff, said)
        assert page.context["orders"] == [made], said
        assert "back from Noor Tamsin, HOBART 7000" in page.content.decode()
    for said in ("0491 570 158", "1570156", "noor.tamsin@example", "0156"):
        assert not found(staff, said).context["orders"], said


@pytest.mark.postgres
@pytest.mark.parametrize("said", ["oor", "oo", "am sin", "Noor Nobody", "7000 54321", "&", "%", "_", "A-9999"])
def test_a_search_without_a_match_finds_nothing(staff: Client, order: Order, said: str) -> None:
    page = found(staff, said)
    assert page.context["orders"] == ([order] if said == "oor" else [])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("3056 12345", ["3056", "12345"]),  # joined they would be a number in Melbourne
        ("3056 123456", ["3056", "123456"]),  # and these in Miami
        ("7000 12345", ["7000", "12345"]),
        ("0491 570 156", ["0491 570 156"]),
        ("noor +61 491 570 156 3056", ["noor", "+61 491 570 156", "3056"]),
        ("3056 (0491) 570-156", ["3056", "(0491) 570-156"]),
        ("1 416 555 0123 x", ["1 416 555 0123", "x"]),
        ("416 555 0123 613 555 0142", ["416 555 0123", "613 555 0142"]),
        ("Smith & Sons", ["Smith", "Sons"]),
        ("& -", ["&"]),
    ],
)
def test_two_numbers_are_two_words_and_a_spaced_phone_is_one(said: str, words: list[str]) -> None:
    assert finding.search_words(said) == words


def test_a_whole_number_or_reference_leads_to_its_page(staff: Client, order: Order, quill: Sender) -> None:
    page = reverse("admin:orders_order_change", args=[order.pk])
    reference = str(order.carrier_reference)
    for said in (
        reference,
        reference.lower(),
        f"#{reference}",
        str(order.uuid),
        "12345",
        str(order.pk),
        f"order {order.pk}",
    ):
        assert found(staff, said)["Location"] == page, said
    account = reverse("admin:accounts_sender_change", args=[quill.pk])
    for said in (quill.number, quill.number.lower(), f" {quill.number} "):
        assert found(staff, said)["Location"] == account, said


def test_a_parcel_is_found_by_its_senders_name_even_if_its_words_are_common(
    staff: Client, order: Order, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_SENDERS", 2)
    for number in range(3):
        factories.sender(name=f"Shop {number} Candles")
    Sender.objects.filter(pk=quill.pk).update(name="Marlow Candles")
    assert found(staff, "candles marlow").context["orders"] == [order]


def test_a_number_that_means_two_things_is_a_list(staff: Client, order: Order, bob: User) -> None:
    other = factories.order(bob.membership.sender, bob, search="somebody 12345")
    assert found(staff, "12345").context["orders"] == [other, order]
    Order.objects.filter(pk=other.pk).update(search="somebody")
    factories.sender(name="12345 Pty Ltd")
    assert found(staff, "12345").context["orders"] == [order]


@pytest.mark.parametrize("said", ["A-9999", "SNOBODY001", "987654321", "&", "order "])
def test_an_unknown_number_is_reported(staff: Client, order: Order, said: str) -> None:
    assert "No matches" in found(staff, said).content.decode()


def test_a_number_opens_no_page_an_operator_may_not_see(
    operator: Callable[[str], Client], order: Order, quill: Sender
) -> None:
    page = found(operator(""), quill.number)
    assert page.status_code in (302, 403)
    assert "/accounts/sender/" not in page.headers.get("Location", "")


@pytest.mark.postgres
@pytest.mark.parametrize(
    "said",
    [
        "quill", "co QUILL", "Alice", "alice@quill.example", "Alice@Quill.example", "+61491570006",
        "0491 570 006", "Ira Quill", "quill ira", "Fitzroy", "3065", "fitzroy 3065", "fi qu",
    ],
)  # fmt: skip
def test_a_sender_is_found_by_its_name_its_people_and_its_pickup_place(
    staff: Client, quill: Sender, alice: User, said: str
) -> None:
    factories.sender(name="Somebody Else")
    factories.pickup_address(quill, email="shop@quill.example", phone="0491 570 006")
    assert found(staff, said).context["senders"] == [quill]


@pytest.mark.postgres
@pytest.mark.parametrize("said", ["alice", "ALICE@quill.example", "al", "{last} alice"])
def test_a_person_is_found_by_name_and_whole_email(staff: Client, alice: User, bob: User, said: str) -> None:
    last = alice.name.split()[-1]
    assert [person for person, _ in found(staff, said.format(last=last)).context["people"]] == [alice]
    assert found(staff, "quill.example").context["people"] == []


def test_people_are_masked_and_shown_only_to_those_who_may_see_them(
    staff: Client, operator: Callable[[str], Client], order: Order
) -> None:
    page = found(staff, "alice@quill.example").content.decode()
    assert "a•••@quill.example" in page
    assert page.count("alice@quill.example") == 1  # in the box
    assert "people" not in found(operator("Billing"), "alice@quill.example").context


MANY = 2_000


def many_accounts() -> None:
    """Enough rows that no query plan treats a table as a single page, whatever statistics earlier tests left."""
    senders = Sender.objects.bulk_create(Sender(name=f"Shop {n}", country="AU", zone="UTC") for n in range(MANY))
    people = User.objects.bulk_create(User(email=f"p{n}@shops.example", name=f"Person {n}") for n in range(MANY))
    both = list(zip(senders, people, strict=True))
    Membership.objects.bulk_create(Membership(sender=of, user=person) for of, person in both)
    PickupAddress.objects.bulk_create(PickupAddress(sender=of, email=person.email) for of, person in both)


SEARCHED = {"orders_order", "accounts_sender", "accounts_user", "accounts_membership", "accounts_pickupaddress"}


def reads(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return how each searched table is read."""
    if plan.get("Relation Name") in SEARCHED:
        yield plan["Relation Name"], plan["Node Type"]
    for part in plan.get("Plans", []):
        yield from reads(part)


@pytest.mark.postgres
@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite is for the demo, and reads every row")
def test_every_part_of_a_search_uses_an_index(staff: Client, order: Order) -> None:
    found(staff, "x")
    with CaptureQueriesContext(connection) as queries:
        for said in ("Noor Tamsin", "no ta", "+61491570156", "A-9999", "12", "7000 12345", str(uuid.uuid4()), "&"):
            found(staff, said)
    many_accounts()
    seen: set[tuple[str, str]] = set()
    with connection.cursor() as cursor:
        # What is left is the bitmap, which reads a table by the conditions of an index alone, however small it is.
        for way in ("seqscan", "indexscan", "indexonlyscan"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        for query in queries:
            if (query["sql"] or "").startswith(("SELECT", "(SELECT")):
                cursor.execute(f"EXPLAIN (FORMAT JSON) {query['sql']}")
                seen |= set(reads(cursor.fetchone()[0][0]["Plan"]))
    assert seen == {(table, "Bitmap Heap Scan") for table in SEARCHED}


def test_a_lists_sender_is_chosen_by_the_number_it_quotes(staff: Client, order: Order, quill: Sender) -> None:
    page = staff.get("/admin/orders/order/", {"sender": quill.number})
    assert list(page.context["cl"].result_list) == [order]
    assert staff.get("/admin/orders/order/", {"sender": "nobody"}).context["cl"].result_count == 0


def test_bookings_are_counted_by_the_hour_they_were_sent(quill: Sender, alice: User) -> None:
    now = timezone.now().replace(minute=30)
    for hours in (0, 0, 5, 23, 24):
        made = factories.order(quill, alice, status="booked")
        Order.objects.filter(pk=made.pk).update(submitted_at=now - dt.timedelta(hours=hours))
    factories.order(quill, alice).changes.create(old="booking", new="rejected", at=now, reason="-")
    day = first_page.day_strip(now)
    assert [hour.booked for hour in day.hours] == [1, *[0] * 17, 1, 0, 0, 0, 0, 2]
    assert (day.booked, day.refused, day.hours[-1].refused) == (4, 1, 1)
