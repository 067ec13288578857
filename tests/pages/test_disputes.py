"""The charges on a parcel's page, and “This looks wrong”: what is sent, what the page says afterwards, and who may use
it.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.erasing import disputed
from shipping_portal.billing.models import Charge, Dispute, DisputePhoto
from shipping_portal.jobs import erasing
from tests import factories
from tests.pages.files import JPEG, segment
from tests.pages.typed import text, title

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


@pytest.fixture
def charge(order: Order) -> Charge:
    return size_charge(order)


def size_charge(order: Order) -> Charge:
    made = factories.charge(order, "under-declared", "4.13", declared_kg="1", measured_kg="1.6")
    return Charge.objects.get(pk=made.pk)  # with numbers in digits


def own_page(page: Client, order: Order) -> str:
    return text(page.get(f"/parcels/{order.uuid}/"))


def test_a_parcel_shows_what_it_cost_from_quote_to_net(page: Client, order: Order) -> None:
    for kind, amount in (
        ("order", "12.08"), ("cover", "2.50"), ("un-cancellation", "5.00"), ("delay-refund", "-3.00"),
        ("credit", "-1.00"),
    ):  # fmt: skip
        factories.charge(order, kind, amount)
    size_charge(order)
    words = own_page(page, order)
    for said in (
        "Quoted", "Invoiced $14.58", "Adjusted $9.13", "Refunded −$3.00", "Credited by us −$1.00", "Total $19.71 AUD",
        "You declared 1 kg. The carrier measured 1.6 kg.", "Standard Pickup, 2.4 kg.",
    ):  # fmt: skip
        assert said in words
    assert words.count("This looks wrong") == 6


def test_the_sums_of_a_parcel_are_those_of_its_lines(page: Client, order: Order) -> None:
    for kind, amount in (("order", "12.08"), ("oversize", "100.00"), ("loss-refund", "-12.08")):
        factories.charge(order, kind, amount)
    charged = page.get(f"/parcels/{order.uuid}/").context["charged"]
    [balance] = charged.balances
    assert balance.net == sum(row["charge"].amount for row in charged.rows) == 100


def test_a_parcels_page_takes_the_same_number_of_queries_for_many_lines(page: Client, order: Order) -> None:
    found = []
    for more in (1, 2, 40):
        for _ in range(more):
            size_charge(order)
        page.get(f"/parcels/{order.uuid}/")
        with CaptureQueriesContext(connection) as queries:
            page.get(f"/parcels/{order.uuid}/")
        found.append(len(queries))
    assert found[0] == found[1] == found[2] <= 14


def test_an_open_page_updates_when_a_charge_or_an_answer_comes(
    page: Client, order: Order, sam: User, alice: User
) -> None:
    states = [page.get(f"/parcels/{order.uuid}/").context["state"]]
    charge = size_charge(order)
    states.append(page.get(f"/parcels/{order.uuid}/").context["state"])
    made = disputing.open_for(charge, by=alice, text="-", now=timezone.now())
    disputing.answer_dispute(made, accepted=False, text="-", by=sam, now=timezone.now())
    states.append(page.get(f"/parcels/{order.uuid}/").context["state"])
    assert len(set(states)) == 3


def test_the_dispute_shows_what_was_declared_measured_and_quoted(page: Client, charge: Charge) -> None:
    answer = page.get(f"/billing/charges/wrong/?line={charge.pk}")
    for said in ("Declared 1 kg", "Measured 1.6 kg", "Quoted $12.08 AUD", "Size charge", "$4.13 AUD"):
        assert said in text(answer)


def test_a_dispute_shows_as_being_reviewed_until_it_is_answered(
    page: Client, order: Order, charge: Charge, alice: User, sam: User
) -> None:
    address = f"/billing/charges/wrong/?line={charge.pk}"
    answer = page.post(address, {"text": "  We weighed it:\r\n1.0 kg. "})
    assert answer["Location"] == f"/parcels/{order.uuid}/#charges"
    made = Dispute.objects.get()
    assert (made.text, made.made_by, made.charge, made.sender) == (
        "We weighed it:\n1.0 kg.",
        alice,
        charge,
        order.sender,
    )
    assert made.facts["measured_kg"] == "1.6"
    for words in (own_page(page, order), text(page.get(address))):
        assert "Being reviewed since" in words
    assert own_page(page, order).count("This looks wrong") == 0
    disputing.answer_dispute(made, accepted=False, text="The photo shows 1.6 kg.", by=sam, now=timezone.now())
    assert "Support answered on" in own_page(page, order)
    assert "The photo shows 1.6 kg." in own_page(page, order)
    assert "This looks wrong" in own_page(page, order)


def test_a_charge_the_operator_agreed_about_cannot_be_disputed_again(
    page: Client, order: Order, charge: Charge, alice: User, sam: User
) -> None:
    made = disputing.open_for(charge, by=alice, text="-", now=timezone.now())
    disputing.answer_dispute(made, accepted=True, text="You are right.", by=sam, now=timezone.now())
    assert "You are right." in own_page(page, order)
    assert page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "More"}).status_code == 409
    assert Dispute.objects.count() == 1


def test_a_second_press_opens_no_second_dispute(page: Client, charge: Charge) -> None:
    for status in (302, 409):
        assert page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "Wrong"}).status_code == status
    assert Dispute.objects.count() == 1


def test_a_dispute_sent_from_two_windows_at_once_is_one(
    page: Client, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faster(*_: Any, **__: Any) -> None:
        raise disputing.AlreadyOpen

    monkeypatch.setattr(disputing, "open_for", faster)
    answer = page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "Wrong"}, follow=True)
    assert "It's being reviewed already." in text(answer)


def test_a_dispute_without_a_reason_asks_for_one(page: Client, charge: Charge) -> None:
    answer = page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": " \x00 "})
    assert answer.status_code == 422
    assert title(answer).startswith("Error: This looks wrong")
    assert text(answer).count("Tell us what looks wrong.") == 2
    assert not Dispute.objects.exists()


def test_a_dispute_that_is_too_long_keeps_every_word(page: Client, charge: Charge) -> None:
    answer = page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "long " * 401 + "end"})
    assert answer.status_code == 422
    assert "2008 characters" in text(answer)
    assert "long end" in text(answer)


def test_a_suspended_sender_may_dispute_a_charge(page: Client, charge: Charge, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    page.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "Wrong"})
    assert Dispute.objects.count() == 1


def test_only_those_who_see_the_accounts_money_may_dispute(
    charge: Charge, bob: User, ana: User, vic: User, bea: User, visit: Visit
) -> None:
    for person in (bob, ana, vic):
        browser = visit(person)
        assert browser.get(f"/billing/charges/wrong/?line={charge.pk}").status_code == 404
        assert browser.post(f"/billing/charges/wrong/?line={charge.pk}", {"text": "Mine"}).status_code == 404
    assert not Dispute.objects.exists()
    answer = visit(bea).get(f"/billing/charges/wrong/?line={charge.pk}")
    assert "N. Tamsin" in text(answer)
    assert "Noor" not in text(answer)


def test_a_line_that_is_not_posted_cannot_be_disputed(page: Client, order: Order) -> None:
    line = factories.charge(order, "oversize", "9.00", report=factories.billing_report(state="checked"))
    assert page.get(f"/billing/charges/wrong/?line={line.pk}").status_code == 404


def test_a_line_without_a_parcel_leads_back_to_its_statement(page: Client, order: Order) -> None:
    line = factories.charge(None, "oversize", "9.00", sender=order.sender)
    answer = page.post(f"/billing/charges/wrong/?line={line.pk}", {"text": "Not ours"})
    assert answer["Location"].startswith("/billing/2")
    assert "Being reviewed since" in text(page.get(answer["Location"]))


def chunk(name: bytes, content: bytes = b"") -> bytes:
    return len(content).to_bytes(4) + name + content + b"\0\0\0\0"


PNG = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"<script>") + chunk(b"IDAT", b"a picture") + chunk(b"IEND")
HEIC = b"\x00\x00\x00\x18ftypheic" + b"0" * 9
PLACE = b"Exif\0\0 37 deg 48 min S, 144 deg 58 min E"


def several(order: Order, count: int) -> tuple[list[Charge], str]:
    found = [size_charge(order) for _ in range(count)]
    return found, "/billing/charges/wrong/?" + "&".join(f"line={charge.pk}" for charge in found)


def ask(page: Client, address: str, photo: bytes, name: str = "IMG_1.jpg", **options: Any) -> Any:
    return page.post(address, {"text": "It was 1 kg.", "photo": SimpleUploadedFile(name, photo)}, **options)


def test_several_charges_are_disputed_at_once_with_one_photo(page: Client, order: Order) -> None:
    charges, address = several(order, 3)
    assert "These 3 charges look wrong" in text(page.get(address))
    answer = ask(page, address, JPEG, follow=True)
    assert answer.redirect_chain[0][0].startswith("/billing/2")
    assert "3 charges: sent to support. You'll see the answer next to the charge." in text(answer)
    assert [made.charge for made in Dispute.objects.order_by("pk")] == charges
    [photo] = DisputePhoto.objects.all()
    assert {made.photo for made in Dispute.objects.all()} == {photo}
    assert bytes(photo.content) == JPEG
    assert photo.sha256 == hashlib.sha256(JPEG).hexdigest()
    assert answer.content.decode().count(f'href="/billing/photos/{photo.pk}/"') == 3


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (JPEG[:2] + segment(0xE1, PLACE) + JPEG[2:], JPEG),
        (JPEG[:-2] + segment(0xE1, PLACE) + JPEG[-2:], JPEG),
        (JPEG[:2] + segment(0xED, b"Photoshop" + PLACE) + segment(0xFE, PLACE) + JPEG[2:], JPEG),
        (JPEG[:2] + segment(0xE2, b"MPF\0" + PLACE) + JPEG[2:] + JPEG[:2] + segment(0xE1, PLACE), JPEG),
        (JPEG + b"ftypmp42" + PLACE, JPEG),
        (PNG[:8] + PNG[8:28] + chunk(b"eXIf", PLACE) + PNG[28:], PNG),
        (PNG[:28] + chunk(b"tEXt", PLACE) + chunk(b"iTXt", PLACE) + chunk(b"zzZz", PLACE) + PNG[28:] + PLACE, PNG),
    ],
)
def test_a_photo_is_kept_without_its_location(page: Client, charge: Charge, sent: bytes, kept: bytes) -> None:
    ask(page, f"/billing/charges/wrong/?line={charge.pk}", sent)
    photo = DisputePhoto.objects.get()
    assert bytes(photo.content) == kept
    assert photo.sha256 == hashlib.sha256(kept).hexdigest()


def test_a_charge_already_under_review_stays_as_it_is(page: Client, order: Order, alice: User) -> None:
    charges, address = several(order, 2)
    first = disputing.open_for(charges[0], by=alice, text="First", now=timezone.now())
    assert "Being reviewed since" in text(page.get(address))
    ask(page, address, PNG)
    assert list(Dispute.objects.order_by("pk").values_list("charge", "text")) == [
        (charges[0].pk, "First"), (charges[1].pk, "It was 1 kg."),
    ]  # fmt: skip
    first.refresh_from_db()
    assert first.photo is None


def test_a_photo_of_a_dispute_that_came_too_late_is_not_kept(
    page: Client, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faster(*_: Any, **__: Any) -> None:
        raise disputing.AlreadyOpen

    monkeypatch.setattr(disputing, "open_for", faster)
    ask(page, f"/billing/charges/wrong/?line={charge.pk}", JPEG)
    assert not DisputePhoto.objects.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GIF89a", "This isn't a photo we can take. Send a JPEG or PNG."),
        (HEIC, "This isn't a photo we can take. Send a JPEG or PNG."),
        (JPEG[:-8], "This photo is damaged or cut off."),
        (b"\xff\xd8\xff", "This photo is damaged or cut off."),
        (b"\xff\xd8" + b"\xff\xe1\0\0" * 9, "This photo is damaged or cut off."),
        (PNG[:-4], "This photo is damaged or cut off."),
        (b"<svg onload=alert(1)>", "This isn't a photo we can take."),
        (b"\x00\x00\x00\x18ftypmp42", "This isn't a photo we can take."),
        (b"", "This file is empty."),
        (JPEG + b"0" * 2_000_000, "This photo is 2.0 MB. Send a copy of 2 MB or less."),
    ],
    ids=[
        "a GIF by the name of a JPEG",
        "a HEIC",
        "cut off",
        "three bytes",
        "segments of nothing",
        "a PNG cut off",
        "a picture with a script",
        "a film",
        "nothing",
        "too large",
    ],
)
def test_a_file_that_is_not_a_photo_is_refused_by_its_content(
    page: Client, charge: Charge, content: bytes, said: str
) -> None:
    answer = ask(page, f"/billing/charges/wrong/?line={charge.pk}", content)
    assert answer.status_code == 422
    assert text(answer).count(said) == 2
    assert "It was 1 kg." in text(answer)
    assert not Dispute.objects.exists()
    assert not DisputePhoto.objects.exists()


@pytest.mark.parametrize(
    ("content", "kind", "name"), [(JPEG, "image/jpeg", "jpg"), (PNG, "image/png", "png")], ids=["JPEG", "PNG"]
)
def test_a_photo_comes_back_as_it_was_sent_and_only_as_a_download(
    page: Client, charge: Charge, content: bytes, kind: str, name: str
) -> None:
    ask(page, f"/billing/charges/wrong/?line={charge.pk}", content, name="what.html")
    photo = DisputePhoto.objects.get()
    answer = page.get(f"/billing/photos/{photo.pk}/")
    assert answer.content == content
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == (kind, "nosniff")
    assert answer["Content-Disposition"] == f'attachment; filename="photo-{photo.pk}.{name}"'
    assert answer["Cache-Control"] == "private, no-store"


def test_only_those_who_see_the_accounts_money_see_a_photo(
    page: Client, charge: Charge, bob: User, ana: User, vic: User, bea: User, visit: Visit
) -> None:
    ask(page, f"/billing/charges/wrong/?line={charge.pk}", JPEG)
    address = f"/billing/photos/{DisputePhoto.objects.get().pk}/"
    assert {person.name: visit(person).get(address).status_code for person in (bob, ana, vic, bea)} == {
        bob.name: 404, ana.name: 404, vic.name: 404, bea.name: 200,
    }  # fmt: skip


def test_a_photo_is_erased_with_a_receiver_once_all_its_disputes_are_answered(
    page: Client, order: Order, quill: Sender, alice: User, sam: User
) -> None:
    other = factories.order(quill, alice, status="booked")
    charges = [size_charge(order), size_charge(other)]
    ask(page, f"/billing/charges/wrong/?line={charges[0].pk}&line={charges[1].pk}", JPEG)
    for made in Dispute.objects.order_by("pk"):
        assert [key for key, _ in disputed([order.pk])] == [order.pk]
        disputing.answer_dispute(made, accepted=False, text="It was 1.6 kg.", by=sam, now=timezone.now())
    assert list(disputed([order.pk])) == []
    erasing.erase({"order": [order.pk]})
    assert not DisputePhoto.objects.exists()
    assert Dispute.objects.count() == 2


def test_a_photo_is_erased_with_its_account(page: Client, charge: Charge, quill: Sender) -> None:
    ask(page, f"/billing/charges/wrong/?line={charge.pk}", JPEG)
    erasing.erase({"sender": [quill.pk]})
    assert not DisputePhoto.objects.exists()


@pytest.mark.parametrize("query", ["line=", "line=x", "line=-1", "line=" + "9" * 30])
def test_a_url_that_names_no_charges_is_404(page: Client, charge: Charge, query: str) -> None:
    assert page.get(f"/billing/charges/wrong/?{query}").status_code == 404
    assert page.get(f"/billing/charges/wrong/?line={charge.pk}&line={charge.pk + 1}").status_code == 404
