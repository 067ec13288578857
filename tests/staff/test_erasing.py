"""A person who asks to be erased is found everywhere, and afterwards is in no column, file, export or log."""

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.labels import fetching
from orders.models import BookingAttempt, DatabaseMark, Draft, LabelBytes, Order, Quote
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.address import phones, receivers
from shipping_portal.accounts.mail import mailing
from shipping_portal.accounts.models import Audit, Notification, Receiver, Sender, User
from shipping_portal.accounts.models.users import Session
from shipping_portal.billing.models import Dispute
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export, ExportPart
from shipping_portal.importing.models import ImportRow
from shipping_portal.jobs import erased_keys, erasing, retention
from shipping_portal.jobs.erasing import MARK
from shipping_portal.staff import casework
from shipping_portal.staff.queues import used_after_cancelling
from tests import factories
from tests.catalogue.pushing import last, push, wire
from tests.sandbox_carrier import SandboxCarrier
from tests.staff.conftest import REASON
from tracking import polling
from tracking.models import TrackingEvent, WebhookDelivery

pytestmark = pytest.mark.django_db

ERASE = "/admin/orders/order/erase/"
CANARY = factories.receiver(
    name="Zephyrine Quandary", company="Quandary Looms", email="Zephyrine.Quandary@example.net", phone="0491 570 157",
    line1="77 Ocelot Mews", instructions="Beside the zinnia pots",
)  # fmt: skip
WORDS = ("zephyrine", "quandary", "0491 570 157", "0491570157", "491570157", "ocelot", "zinnia")


def traces(words: tuple[str, ...] = WORDS) -> list[str]:
    """Columns that hold one of these words, as `orders.Order.note`."""
    return sorted(
        {
            f"{model._meta.label}.{field.name}"
            for model in apps.get_models()
            for row in model._default_manager.all()
            for field in model._meta.concrete_fields
            if any(word in _text(getattr(row, field.attname)) for word in words)
        }
    )


def _text(value: Any) -> str:
    raw = bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
    return raw.casefold()


@pytest.fixture
def book(carrier: SandboxCarrier, quill: Sender, alice: User) -> Callable[..., Order]:
    """`book(CANARY)` is a parcel booked to them with labels and scans. It is delivered, unless set otherwise."""

    def make(to: Any = CANARY, *, progress: str = "Delivered", **fields: Any) -> Order:
        values = {f"receiver_{name}": value for name, value in asdict(to).items()}
        order = factories.order(quill, alice, **values, **fields)
        Order.objects.filter(pk=order.pk).update(search=order.search_text())
        Quote.objects.filter(pk=order.quote_id).update(details={**order.quote.details, "receiver": asdict(to)})
        move_to(order, "booking", by=alice, reason=f"for {to.name}", at=timezone.now(), due_at=timezone.now())
        bookings.process_booking(order.pk)
        order.refresh_from_db()
        order.labels.update(is_spare=False)  # both are wanted
        for label in order.labels.all():
            fetching.fetch_due_label(label.pk)
        polling.open_parcel(order.pk)
        when = timezone.now().isoformat()
        if progress:
            push(
                wire(
                    carrier_reference=order.carrier_reference, event_type=progress, scan_time=when,
                    description=f"Left with {to.name}, {to.line1}",
                )
            )  # fmt: skip
        return Order.objects.get(pk=order.pk)

    return make


@pytest.fixture
def order(book: Callable[..., Order], quill: Sender, alice: User, ana: User, visit: Callable[[User], Client]) -> Order:
    """A parcel of the canary receiver, who has used every feature."""
    made = book(note="Call Zephyrine first")
    receivers.count_use(quill, CANARY, at=timezone.now())
    factories.draft(quill, alice, receiver_name=CANARY.name, receiver_email=CANARY.email)
    loose = factories.quote(quill, alice, parcel=factories.details(quill, receiver=CANARY))
    cells = [*asdict(CANARY).values()]
    imported = factories.import_row(
        quill, alice, state="booked", order=made, cells=cells, corrected={"note": CANARY.name}
    )
    factories.import_row(quill, alice, file=imported.file, state="ready", quote=loose, cells=cells)
    push(wire(carrier_reference=made.carrier_reference, event_id="no uuid", description=CANARY.name))
    assert last().state == "quarantined"
    factories.watch(quill, alice).__class__.objects.update(parcel=made.parcel, name="Zephyrine's other one")
    for number, typed in enumerate(("zephyrine", "0491570157", "0491+570+157", "quandary+looms")):
        quill.views.create(made_by=alice, name="Hers", slug=f"hers{number}", query=f"q={typed}")
    quill.views.create(made_by=alice, name="Others", slug="others", query="q=noor&state=booked")
    line = factories.charge(made)
    Dispute.objects.create(
        charge=line,
        sender=quill,
        made_by=alice,
        made_at=timezone.now(),
        text=f"{CANARY.name} weighed it",
        state="declined",
    )
    advance(made, "held", at=timezone.now())
    advance(made, "delivered", at=timezone.now())
    browser = visit(alice)
    browser.get(f"/parcels/{made.uuid}/label/full.pdf")
    for path in (reverse("pack_proof", args=[made.uuid]), reverse("pack_everything")):
        browser.post(path)
    for export in Export.objects.all():
        packing.pack_due_export(export.pk)
    for notice in Notification.objects.filter(user=alice):
        Notification.objects.filter(pk=notice.pk).update(due_at=timezone.now())
        mailing.send_due_mail(notice.pk)
    return Order.objects.get(pk=made.pk)


def found(staff: Client, **typed: str) -> list[Any]:
    matches: list[Any] = staff.post(ERASE, typed).context["found"]
    return matches


def values(staff: Client, **typed: str) -> list[str]:
    return [match.value for match in found(staff, **typed)]


def confirm(staff: Client, chosen: list[str], reason: str = REASON) -> Any:
    return staff.post(ERASE, {"chosen": chosen, "reason": reason})


def test_an_erased_receiver_is_in_no_column_file_export_or_log(
    staff: Client, order: Order, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(traces())
    assert {
        "orders.Order.receiver_name", "orders.BookingAttempt.body", "orders.Draft.values", "orders.Quote.details",
        "orders.SavedView.query", "orders.OrderChange.reason", "tracking.TrackingEvent.raw", "tracking.Watch.name",
        "tracking.WebhookDelivery.body", "importing.ImportRow.cells", "accounts.ReceiverKey.key",
        "accounts.Notification.line", "billing.Dispute.text",
    } <= before, before  # fmt: skip
    assert not any(column.startswith("accounts.Audit") for column in before)
    mails = len(mail.outbox)
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    chosen = values(staff, email=CANARY.email)
    assert len(chosen) == 5
    shown = staff.post(ERASE, {"chosen": chosen})
    assert set(traces()) == before, "a preview changes nothing"
    assert dict(shown.context["counts"])["proof packs"] == 1
    confirm(staff, chosen)
    assert traces() == []
    assert [view.name for view in order.sender.views.all()] == ["Others"]
    assert not LabelBytes.objects.exists()
    assert not Export.objects.exists()
    assert not ExportPart.objects.exists()
    assert not [word for word in WORDS if word in caplog.text.casefold()]
    assert len(mail.outbox) == mails


def test_proof_and_payments_stay(staff: Client, order: Order) -> None:
    attempt, label = order.attempts.get(), order.labels.first()
    body = bytes(attempt.body)
    confirm(staff, [f"order:{order.pk}"])
    after = Order.objects.get(pk=order.pk)
    for name in ("carrier_reference", "price", "charged_price", "booked_at", "customer_reference", "receiver_country"):
        assert getattr(after, name) == getattr(order, name), name
    kept = bytes(BookingAttempt.objects.get().body).decode()
    assert kept == f"Erased: {len(body)} bytes, SHA-256 {attempt.body_sha256}"
    assert label is not None
    assert after.labels.filter(pk=label.pk, sha256=label.sha256, length=label.length, purged_at__isnull=False).exists()
    assert after.parcel.progress == "delivered"
    assert TrackingEvent.objects.filter(parcel=after.parcel).exists()
    assert after.charges.get().amount == order.charges.get().amount


def test_the_event_of_a_sent_email_stays_without_words_and_an_unsent_one_goes(
    staff: Client, order: Order, alice: User
) -> None:
    """The event keeps anybody from being notified of it again."""
    page, now = reverse("parcel", args=[order.uuid]), timezone.now()
    theirs = Notification.objects.filter(path=page)
    sent = set(theirs.exclude(sent_at=None).values_list("dedupe_key", flat=True))
    assert sent
    waiting = {"kind": "delivery", "batch_key": "-", "dedupe_key": "waiting", "line": "Zephyrine", "path": page}
    Notification.objects.create(user=alice, sender=order.sender, happened_at=now, due_at=now, **waiting)
    confirm(staff, [f"order:{order.pk}"])
    assert set(theirs.values_list("dedupe_key", "line")) == {(key, "") for key in sent}


def test_every_page_of_an_erased_parcel_still_opens(
    staff: Client, order: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    confirm(staff, [f"order:{order.pk}", f"draft:{Draft.objects.get().pk}"])
    browser = visit(alice)
    for url in (f"/parcels/{order.uuid}/", "/parcels/", "/today/", "/parcels/export.csv"):
        answer = browser.get(url)
        text = answer.getvalue().decode() if answer.streaming else answer.content.decode()
        assert answer.status_code == 200, url
        assert "Zephyrine" not in text, url
    file = ImportRow.objects.get(order=order).file
    assert browser.get(f"/imports/{file.uuid}/", follow=True).status_code == 200
    for model, key in (("order", order.pk), ("bookingattempt", order.attempts.get().pk)):
        assert staff.get(reverse(f"admin:orders_{model}_change", args=[key])).status_code == 200


@pytest.mark.parametrize(
    ("status", "offer"), [("booked", "Send again"), ("rejected", "Fix and book"), ("cancelled", "Book again")]
)
def test_an_erased_parcel_has_nothing_to_copy(
    quill: Sender, alice: User, visit: Callable[[User], Client], status: str, offer: str
) -> None:
    """Otherwise the next label would be for “Erased receiver”."""
    browser = visit(alice)
    made = factories.order(quill, alice, status=status, progress="delivered" if status == "booked" else "")
    page, copy = f"/parcels/{made.uuid}/", f"/parcels/new/?again={made.uuid}"
    slip, before = f"packing-slips/?parcel={made.uuid}", browser.get(page).content.decode()
    assert (offer in before, slip in before) == (True, status == "booked")
    erasing.erase({"order": {made.pk}})
    text = browser.get(page).content.decode()
    assert [part for part in (offer, slip, "again=", "Email</dt>") if part in text] == []
    answer = browser.get(copy)
    assert (answer.status_code, Draft.objects.count()) == (409, 0)
    assert "Its receiver was erased, so nothing was booked" in answer.content.decode()
    chosen = browser.post("/parcels/again/", {"order": [made.uuid]}, follow=True)
    assert "Its receiver was erased" in chosen.content.decode()


@pytest.mark.parametrize("status", ["draft", "not_booked"])
def test_booking_an_erased_parcel_says_why_it_cant_be_booked(
    quill: Sender, alice: User, visit: Callable[[User], Client], status: str
) -> None:
    made = factories.order(quill, alice, status=status)
    erasing.erase({"order": {made.pk}})
    answer = visit(alice).post(f"/parcels/{made.uuid}/confirm/", {"agreed": str(made.price_to_confirm)})
    assert answer.status_code == 409
    assert "Its receiver was erased, so nothing was booked" in answer.content.decode()


def test_a_label_that_was_never_fetched_isnt_said_to_have_been_kept(
    quill: Sender, alice: User, visit: Callable[[User], Client]
) -> None:
    made = factories.order(quill, alice, status="booked", progress="delivered")
    factories.stored_label(made)
    made.labels.create(size="cropped")
    erasing.erase({"order": {made.pk}})
    text = " ".join(visit(alice).get(f"/parcels/{made.uuid}/").content.decode().split())
    assert "Cropped.</strong> It was never fetched." in text
    assert text.count("Its checksum was") == 1


@pytest.mark.parametrize(
    "typed",
    [
        {"email": "zephyrine.quandary@EXAMPLE.net"},
        {"phone": "0491 570 157"},
        {"phone": "+61 491-570-157"},
        {"phone": "0491570157"},
        {"name": "quandary", "postcode": "7000"},
    ],
)
def test_a_person_is_found_by_any_detail_they_give(
    staff: Client, quill: Sender, alice: User, bob: User, typed: dict[str, str]
) -> None:
    fields = {f"receiver_{name}": value for name, value in asdict(CANARY).items()}
    theirs = [factories.order(quill, alice, **fields), factories.order(bob.membership.sender, bob, **fields)]
    book = factories.saved_receiver(quill, **asdict(CANARY))
    factories.order(quill, alice)
    wanted = {*(f"order:{one.pk}" for one in theirs), f"receiver:{book.pk}"}
    assert set(values(staff, **typed)) == wanted


@pytest.mark.parametrize(
    ("country", "stored", "typed"),
    [
        ("NZ", "021 555 0123", "0215550123"),
        ("GB", "07400 123456", "07400 123 456"),
        ("FR", "06 12 34 56 78", "0612345678"),
        ("JP", "090-1234-5678", "+81 90 1234 5678"),
    ],
)
def test_a_person_abroad_is_found_by_their_local_number_in_any_spelling(
    staff: Client, quill: Sender, alice: User, sam: User, country: str, stored: str, typed: str
) -> None:
    assert phones.clean_phone(typed, country) == stored
    person = factories.receiver(phone=stored, country=country)
    fields = {f"receiver_{name}": value for name, value in asdict(person).items()}
    theirs = factories.order(quill, alice, **fields)
    back = factories.order(quill, alice, returns=theirs, pickup=asdict(person))
    book = factories.saved_receiver(quill, **asdict(person))
    note = casework.add_note(quill, by=sam, text=f"Rang them on {stored}", now=timezone.now())
    wanted = {f"order:{theirs.pk}", f"order:{back.pk}", f"receiver:{book.pk}", f"note:{note.pk}"}
    assert set(values(staff, phone=typed)) == wanted


@pytest.mark.postgres
@pytest.mark.parametrize(
    "typed",
    [
        {"email": CANARY.email},
        {"phone": "+61 491 570 157"},
        {"phone": "0491570157"},
        {"name": "quandary", "postcode": "7000"},
    ],
)
def test_unbooked_parcels_are_found_by_any_detail(
    staff: Client, quill: Sender, alice: User, typed: dict[str, str]
) -> None:
    to = {f"receiver_{name}": value for name, value in asdict(CANARY).items()}
    draft = factories.draft(quill, alice, **to)
    quote = factories.quote(quill, alice, parcel=factories.details(quill, receiver=CANARY))
    row = factories.import_row(quill, alice, state="fix", cells=["1", *asdict(CANARY).values()])
    mended = factories.import_row(
        quill, alice, cells=["?"], corrected={**to, "receiver_phone": "(04) 91 570 157", "receiver_postcode": "7000"}
    )
    factories.draft(
        quill, alice, receiver_email=f"not.{CANARY.email}", receiver_name="Ida", receiver_phone="0491570156"
    )
    factories.quote(quill, alice)
    factories.import_row(quill, alice)
    wanted = {f"draft:{draft.pk}", f"quote:{quote.pk}", f"row:{row.pk}", f"row:{mended.pk}"}
    assert set(values(staff, **typed)) == wanted


def test_an_empty_search_and_one_without_a_match_say_so(staff: Client, order: Order) -> None:
    assert "Enter an email" in staff.post(ERASE, {"name": "Zephyrine"}).content.decode()
    assert "No matches" in staff.post(ERASE, {"email": "nobody@example.org"}).content.decode()


@pytest.mark.parametrize("value", ["sender:1", "order:", "order:x", "nothing:1", ":"])
def test_only_what_the_search_listed_is_erased(staff: Client, quill: Sender, value: str) -> None:
    page = confirm(staff, [value.replace("1", str(quill.pk))])
    assert page.status_code == 200
    assert Sender.objects.get(pk=quill.pk).erased_at is None
    assert not Audit.objects.filter(action="erased").exists()


def test_the_url_of_the_search_contains_nothing_typed(staff: Client) -> None:
    assert 'method="post"' in staff.get(ERASE).content.decode()
    assert "found" not in staff.get(ERASE, {"email": "a@example.org"}).content.decode().partition("<main")[2]


# -- When it isn't possible ------------------------------------------------------------------------------------


def ago(days: int) -> dt.datetime:
    return timezone.now() - dt.timedelta(days=days)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": "booking"}, "isn't clear yet"),
        ({"status": "unconfirmed"}, "isn't clear yet"),
        ({"status": "conflict"}, "isn't clear yet"),
        ({"status": "cancelling"}, "isn't clear yet"),
        ({"status": "booked"}, "on its way"),
        (
            {"status": "booked", "progress": "in_transit", "progress_at": timezone.now() - dt.timedelta(days=59)},
            "on its way",
        ),
        ({"status": "booked", "progress": "in_transit", "progress_at": timezone.now() - dt.timedelta(days=61)}, ""),
        ({"status": "booked", "booked_at": timezone.now() - dt.timedelta(days=61)}, ""),
        ({"status": "booked", "progress": "delivered", "progress_at": timezone.now()}, ""),
        ({"status": "booked", "progress": "lost", "progress_at": timezone.now()}, ""),
        ({"status": "cancelled"}, ""),
        ({"status": "cancelled", "used_after_cancel_at": timezone.now()}, "on its way"),
        ({"status": "rejected"}, ""),
        ({"status": "draft"}, ""),
    ],
)
def test_a_parcel_is_erased_once_the_carrier_no_longer_needs_its_address(
    staff: Client, quill: Sender, alice: User, fields: dict[str, Any], why: str
) -> None:
    made = factories.order(quill, alice, **fields)
    seen = [match.why_not for match in found(staff, email=made.receiver_email) if match.value == f"order:{made.pk}"]
    assert [bool(text) for text in seen] == [bool(why)]
    assert why in seen[0]
    page = confirm(staff, [f"order:{made.pk}"])
    assert Order.objects.filter(pk=made.pk, erased_at=None).exists() is bool(why)
    assert Audit.objects.filter(action="erased").exists() is not bool(why)
    assert not why or why in page.content.decode().replace("&#x27;", "'")


def test_a_disputed_charge_must_be_answered_first(staff: Client, quill: Sender, alice: User) -> None:
    made = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    dispute = Dispute.objects.create(
        charge=factories.charge(made), sender=quill, made_by=alice, made_at=timezone.now(), text="Why?"
    )
    confirm(staff, [f"order:{made.pk}"])
    assert Order.objects.get(pk=made.pk).erased_at is None
    Dispute.objects.filter(pk=dispute.pk).update(state="declined")
    confirm(staff, [f"order:{made.pk}"])
    assert Order.objects.get(pk=made.pk).erased_at is not None


def test_an_erased_parcel_that_waits_for_its_sender_is_never_booked(staff: Client, quill: Sender, alice: User) -> None:
    made = factories.order(quill, alice, status="draft")
    confirm(staff, [f"order:{made.pk}"])
    with pytest.raises(Order.WrongStatus, match="was erased"):
        bookings.confirm(Order.objects.get(pk=made.pk), by=alice, now=timezone.now())


def test_an_order_erased_while_its_page_was_open_is_not_booked_from_there(
    staff: Client, quill: Sender, alice: User
) -> None:
    made = factories.order(quill, alice, status="draft")
    opened = Order.objects.select_related("sender").get(pk=made.pk)
    confirm(staff, [f"order:{made.pk}"])
    with pytest.raises(Order.WrongStatus, match="was erased"):
        bookings.confirm(opened, by=alice, now=timezone.now())
    assert Order.objects.get(pk=made.pk).status == "draft"


def test_a_label_that_comes_after_the_erasing_is_not_kept(
    staff: Client, quill: Sender, alice: User, carrier: SandboxCarrier, book: Callable[..., Order]
) -> None:
    made = book()
    LabelBytes.objects.all().delete()
    made.labels.update(state="pending", sha256="", length=None, stored_at=None, due_at=timezone.now())
    pending = made.labels.first()
    assert pending is not None
    confirm(staff, [f"order:{made.pk}"])
    file = LabelFile(content=b"%PDF-1.4 of somebody", sha256="0" * 64)
    fetching.store(pending, file, at=timezone.now())
    made.labels.update(due_at=timezone.now())
    made.labels.update(is_spare=False)  # both are wanted
    for label in made.labels.all():
        fetching.fetch_due_label(label.pk)
    assert not LabelBytes.objects.exists()


def test_a_row_that_is_being_booked_is_not_erased(quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="owed")
    erasing.erase({"row": [row.pk]})
    assert ImportRow.objects.filter(pk=row.pk).exists()


def test_nothing_is_erased_without_a_reason_and_the_audit_names_keys_only(
    staff: Client, order: Order, sam: User
) -> None:
    confirm(staff, [f"order:{order.pk}"], reason="")
    assert Order.objects.get(pk=order.pk).erased_at is None
    confirm(staff, [f"order:{order.pk}"])
    row = Audit.objects.get(action="erased")
    assert (row.subject, row.actor, row.sender, row.reason) == (f"order {order.pk}", sam, order.sender, REASON)


def test_an_operators_email_is_erased_and_others_about_the_parcel_stay(quill: Sender, alice: User, sam: User) -> None:
    order, now = factories.order(quill, alice), timezone.now()
    for word in ("Zephyrine", "Noor"):
        casework.queue_mail(order, to=alice, about="other", text=f"About {word}", by=sam, now=now)
    erasing.erase({"email": {order.operator_mails.get(text="About Zephyrine").pk}})
    assert set(order.operator_mails.values_list("text", flat=True)) == {"Erased", "About Noor"}


def test_an_unnamed_watch_stays_unnamed_when_its_parcel_is_erased(quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    watch = factories.watch(quill, alice)
    watch.__class__.objects.filter(pk=watch.pk).update(parcel=factories.parcel(order), name="")
    erasing.erase({"order": {order.pk}})
    assert watch.__class__.objects.get(pk=watch.pk).name == ""


def test_erasing_files_of_a_whole_account_keeps_the_proof_pack_of_a_parcel(quill: Sender, alice: User) -> None:
    order, now = factories.order(quill, alice), timezone.now()
    facts = {"sender": quill, "made_by": alice, "created_at": now}
    made = [
        Export.objects.create(order=of, what=what, **facts)
        for of, what in ((order, Export.What.PROOF), (None, Export.What.ACCOUNT))
    ]
    erasing.erase({"sender's files": {quill.pk}})
    assert list(Export.objects.all()) == made[:1]


# -- A member ------------------------------------------------------------------------------------

HERS = ("ondine", "fauntleroy")


@pytest.fixture
def ondine(quill: Sender, alice: User, book: Callable[..., Order], visit: Callable[[User], Client]) -> User:
    """A shipper who booked, was emailed by the carrier, kept drafts, and is named wherever possible."""
    person = factories.user("ondine.fauntleroy@quill.example", name="Ondine Fauntleroy")
    factories.member(quill, person, role="shipper", since=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    factories.second_factor(person)
    quill.pickup_addresses.update(email=person.email, name=person.name)
    made = book()
    casework.queue_mail(made, to=person, about="other", text="Dear Ondine", by=alice, now=timezone.now())
    quill.pickup_addresses.update(email=alice.email, name="Ira Quill")
    Order.objects.filter(pk=made.pk).update(made_by=person)
    browser = visit(person)
    browser.get(f"/parcels/{made.uuid}/label/full.pdf")
    quill.invitations.create(
        email=person.email, role="shipper", token_hash="-", invited_by=alice, created_at=timezone.now(),
        expires_at=timezone.now(), accepted_at=timezone.now(),
    )  # fmt: skip
    advance(made, "held", at=timezone.now())
    advance(made, "delivered", at=timezone.now())
    return person


def test_an_erased_member_is_in_no_column_and_cannot_log_in(
    staff: Client, ondine: User, quill: Sender, visit: Callable[[User], Client]
) -> None:
    browser = visit(ondine)
    assert browser.get("/parcels/").status_code == 200
    before = traces(HERS)
    assert {
        "accounts.User.name",
        "orders.Order.pickup",
        "orders.BookingAttempt.body",
        "accounts.Invitation.email",
    } <= set(before)
    chosen = values(staff, email="ondine.fauntleroy@quill.example")
    assert f"member:{ondine.pk}" in chosen
    confirm(staff, chosen)
    assert traces(HERS) == []
    assert not Session.objects.filter(whose=ondine.pk).exists()
    assert browser.get("/parcels/").status_code == 302
    after = User.objects.get(pk=ondine.pk)
    assert (after.get_full_name(), after.is_active, after.has_usable_password()) == ("A former member", False, False)
    assert not after.authenticator_set.exists()
    assert Order.objects.get().made_by == ondine
    assert not quill.memberships.filter(user=ondine).exists()
    page = staff.get(f"/admin/accounts/user/{ondine.pk}/change/").content.decode()
    assert "A former member" in page
    assert not {words for words in ("Enable login", "Move to a business", "Set groups") if words in page}


@pytest.mark.parametrize(
    ("who", "why"), [("alice", "no owner left"), ("sam", "operator"), ("contact", "Let an owner put another")]
)
def test_a_member_who_is_still_needed_stays(
    staff: Client, alice: User, ana: User, sam: User, quill: Sender, who: str, why: str
) -> None:
    person = {"alice": alice, "sam": sam, "contact": ana}[who]
    quill.pickup_addresses.update(email=ana.email if who == "contact" else "else@quill.example")
    [match] = [one for one in found(staff, email=person.email) if one.value.startswith("member")]
    assert why in match.why_not
    confirm(staff, [match.value])
    assert User.objects.get(pk=person.pk).email == person.email


# -- An account ----------------------------------------------------------------------------------

OF_AN_ACCOUNT = ("limits", "external-id", "credit", "suspend", "reinstate", "close", "approve", "decline")


@pytest.fixture
def gone(quill: Sender, alice: User) -> Sender:
    """An account that was erased, with one parcel whose label was used after it was cancelled."""
    used = {"used_after_cancel_at": timezone.now() - dt.timedelta(days=8), "progress": "delivered"}
    factories.order(quill, alice, status="cancelled", **used)
    erasing.erase({"order": {*quill.orders.values_list("pk", flat=True)}, "sender": {quill.pk}})
    return Sender.objects.get(pk=quill.pk)


def test_an_erased_account_offers_nothing_and_says_that_it_was_erased(staff: Client, gone: Sender) -> None:
    """Nobody reads its statement or limits any more, and nobody may join it by signing on."""
    page = staff.get(f"/admin/accounts/sender/{gone.pk}/change/")
    assert page.context["acts"] == []
    assert "Erased on" in page.content.decode()
    for name in OF_AN_ACCOUNT:
        assert staff.get(f"/admin/accounts/sender/{gone.pk}/acts/{name}/").status_code == 409, name
    listed = staff.get("/admin/accounts/sender/").content.decode()
    assert f"/admin/accounts/sender/{gone.pk}/acts/" not in listed


def test_nobody_sees_as_an_erased_account(staff: Client, gone: Sender) -> None:
    answer = staff.post(f"/admin/accounts/sender/{gone.pk}/see_as/", {"reason": REASON})
    assert answer.status_code == 409
    assert "no longer applies" in answer.content.decode()
    assert not Audit.objects.filter(action="seen as the sender").exists()


def test_nobody_is_asked_to_email_an_erased_account(staff: Client, gone: Sender) -> None:
    """The queue of labels used after cancelling is left by an email, which nobody could receive."""
    order = gone.orders.get()
    assert not Order.objects.filter(used_after_cancelling(timezone.now())).exists()
    assert "Email the sender" not in staff.get(f"/admin/orders/order/{order.pk}/change/").content.decode()
    page = staff.get(f"/admin/orders/order/{order.pk}/mail/").content.decode()
    assert "Nobody in this account can be emailed" in page
    assert "Send email" not in page


# -- When its time is up, and again after a restore -------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "status", "is_erased"), [(401, "delivered", True), (399, "delivered", False), (401, "unclear", False)]
)
def test_a_receiver_is_erased_when_its_time_is_up_unless_the_order_is_unresolved(
    quill: Sender, alice: User, days: int, status: str, is_erased: bool
) -> None:
    long_ago = timezone.now() - dt.timedelta(days=days)
    fields: dict[str, Any] = {"status": "booked", "progress": "delivered", "progress_at": long_ago}
    if status == "unclear":
        fields = {"status": "unconfirmed"}
    made = factories.order(quill, alice, created_at=long_ago, **fields)
    retention.purge(timezone.now())
    assert (Order.objects.get(pk=made.pk).receiver_name == "Erased receiver") is is_erased


@pytest.fixture
def erased_file(settings: Any, tmp_path: Path) -> Path:
    settings.ERASED_FILE = str(tmp_path / "erased")
    return tmp_path / "erased"


def brought_back(erase: Callable[[], object]) -> None:
    """Call it, then put every row back as it was, as restoring a backup does."""
    kept = {model: list(model._default_manager.order_by("pk")) for model in BACKED_UP}
    erase()
    for model, rows in kept.items():
        model._default_manager.bulk_create(
            rows, update_conflicts=True, unique_fields=["id"],
            update_fields=[field.name for field in model._meta.concrete_fields if not (field.primary_key or field.generated)],
        )  # fmt: skip


BACKED_UP = (User, Quote, Order, Receiver, Draft, BookingAttempt)


@pytest.mark.postgres
@pytest.mark.usefixtures("as_the_owner")
def test_erased_data_is_erased_again_after_a_restore(
    staff: Client, order: Order, ondine: User, erased_file: Path
) -> None:
    chosen = [*values(staff, email=CANARY.email), f"member:{ondine.pk}"]
    brought_back(lambda: confirm(staff, chosen))
    assert "orders.Order.receiver_name" in traces()
    assert "accounts.User.name" in traces(HERS)
    DatabaseMark.objects.all().delete()
    call_command("after_restore", f"--backup-at={timezone.now().isoformat()}")
    assert traces(("zephyrine", "ocelot")) == []
    assert "accounts.User.name" not in traces(HERS)


@pytest.mark.usefixtures("as_the_owner")
def test_an_order_that_a_restore_made_unclear_again_is_erased_once_it_is_resolved(
    staff: Client, quill: Sender, alice: User, erased_file: Path
) -> None:
    made = factories.order(quill, alice, status="unconfirmed")
    erased_keys.write_down({"order": {made.pk}}, at=timezone.now())
    DatabaseMark.objects.all().delete()
    call_command("after_restore", f"--backup-at={timezone.now().isoformat()}")
    assert Order.objects.get(pk=made.pk).erased_at is None, "what was sent is the evidence"
    Order.objects.filter(pk=made.pk).update(status="not_booked", reserved_on=None, reserved=0, unbilled=0)
    retention.purge(timezone.now())
    assert Order.objects.get(pk=made.pk).erased_at is not None


def test_the_file_has_keys_and_no_names(staff: Client, order: Order, erased_file: Path) -> None:
    confirm(staff, [f"order:{order.pk}"])
    [line] = erased_file.read_text().splitlines()
    assert line.endswith(f" order {order.pk}")
    erased_file.write_text(f"{line}\n2026-11-24T21:40:00Z ord")
    assert erased_keys.read_erased_keys() == {"order": {order.pk}}, "a line cut off is none"


def test_a_key_cut_off_by_a_full_disk_is_ignored_and_hides_none_after_it(erased_file: Path) -> None:
    now = timezone.now()
    erased_keys.write_down({"order": {17}}, at=now)
    erased_file.write_text(erased_file.read_text() + "2026-11-24T21:40:00Z order 1")
    assert erased_keys.read_erased_keys() == {"order": {17}}
    erased_keys.write_down({"order": {18}, "member": {3}}, at=now)
    assert erased_keys.read_erased_keys() == {"order": {17, 18}, "member": {3}}


def test_nothing_is_erased_if_its_key_cannot_be_stored(
    staff: Client, order: Order, settings: Any, tmp_path: Path
) -> None:
    settings.ERASED_FILE = str(tmp_path / "no such folder" / "erased")
    page = confirm(staff, [f"order:{order.pk}"])
    assert "Nothing was erased" in page.content.decode()
    assert Order.objects.get(pk=order.pk).receiver_name == CANARY.name
    assert not Audit.objects.filter(action="erased").exists()


def test_a_scan_after_erasing_stores_no_name(staff: Client, order: Order) -> None:
    confirm(staff, [f"order:{order.pk}"])
    push(
        wire(
            carrier_reference=order.carrier_reference, event_id="9c1f1a70-9d4e-4b4f-9c8e-0d2a3b4c5d6e",
            event_type="Delivered", scan_time=timezone.now().isoformat(), description=f"Signed by {CANARY.name}",
        )
    )  # fmt: skip
    assert WebhookDelivery.objects.filter(event__event_id="9c1f1a70-9d4e-4b4f-9c8e-0d2a3b4c5d6e").exists()
    assert not [column for column in traces() if column.startswith("tracking.")]


def test_a_person_named_in_a_file_name_a_note_or_an_unknown_scan_is_erased(
    staff: Client, quill: Sender, alice: User, sam: User
) -> None:
    casework.add_note(quill, "Ms Quandary rang, zephyrine.quandary@example.net", by=sam, now=timezone.now())
    factories.import_file(quill, alice, file_name="Quandary-orders.csv")
    stranger = factories.parcel(reference="SNOBODY1")
    factories.event(stranger, description="Left with Zephyrine", raw=b"Zephyrine Quandary")
    unread = factories.delivery(body=b'{"to": "ZEPHYRINE"', state="quarantined")
    other = factories.delivery(body=b'{"to": "somebody"', state="quarantined")
    kept = factories.event(stranger, description="Out for delivery", raw=b"{}")
    factories.import_file(quill, alice, file_name="monday.csv")
    casework.add_note(quill, "Asked for a refund", by=sam, now=timezone.now())
    chosen = values(staff, name=CANARY.name, postcode=CANARY.postcode)
    assert [value.partition(":")[0] for value in chosen] == ["import", "note", "scan", "webhook"]
    confirm(staff, chosen)
    assert traces() == []
    for one in (kept, unread, other):
        one.refresh_from_db()
    assert bytes(unread.body).startswith(MARK)
    assert bytes(other.body) == b'{"to": "somebody"'
    assert (kept.description, bytes(kept.raw)) == ("Out for delivery", b"{}")
    assert set(quill.imports.values_list("file_name", flat=True)) == {"monday.csv", "Erased"}
    assert values(staff, name=CANARY.name, postcode=CANARY.postcode) == []


@pytest.mark.parametrize(
    "typed", [{"email": CANARY.email}, {"phone": CANARY.phone}, {"name": "Ocelot", "postcode": "1"}]
)
def test_free_text_is_found_by_any_detail(staff: Client, quill: Sender, sam: User, typed: Any) -> None:
    text = f"{CANARY.email} 0491 570 157 ocelot"
    note = casework.add_note(quill, text, by=sam, now=timezone.now())
    casework.add_note(quill, "Nobody is named", by=sam, now=timezone.now())
    assert values(staff, **typed) == [f"note:{note.pk}"]
