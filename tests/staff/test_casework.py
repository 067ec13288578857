"""Casework: notes that senders never see, who has the case, and emails to its sender."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Audit, Membership, Role, Sender, User
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.staff import casework
from shipping_portal.staff.models import Assignment, Note, SenderMail
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db
Visit = Callable[[User], Client]
SIGNED = "https://carrier.example/t/?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl"
SECRET = "she sounded upset about the mugs"


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    made: Order = factories.order(quill, alice, status="booked")
    return made


def url(thing: Any, page: str) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_{page}", args=[thing.pk])


# -- Notes --------------------------------------------------------------------------------------


def test_a_note_about_an_order_shows_on_its_page_and_on_its_senders(staff: Client, sam: User, order: Order) -> None:
    staff.post(url(order, "note"), {"text": SECRET})
    for page in (url(order, "change"), url(order.sender, "change")):
        assert SECRET in text(staff.get(page))
    row = Audit.objects.get()
    assert (row.action, row.actor, row.subject, row.sender) == ("note added", sam, subject_of(order), order.sender)
    assert SECRET not in row.reason


def test_a_note_about_a_sender_shows_on_the_senders_page(staff: Client, order: Order) -> None:
    staff.post(url(order.sender, "note"), {"text": SECRET})
    assert SECRET in text(staff.get(url(order.sender, "change")))
    assert SECRET not in text(staff.get(url(order, "change")))


def test_senders_never_see_a_note(staff: Client, visit: Visit, alice: User, order: Order) -> None:
    staff.post(url(order, "note"), {"text": SECRET})
    staff.post(url(order.sender, "note"), {"text": SECRET})
    browser = visit(alice)
    for page in (f"/parcels/{order.uuid}/", "/parcels/", reverse("today"), reverse("settings")):
        assert SECRET not in browser.get(page).content.decode()


@pytest.mark.parametrize(
    ("typed", "said"), [("", "required"), (f"see {SIGNED}", "Leave this link out"), ("x" * 2001, "2000")]
)
def test_a_note_with_an_error_shows_it_and_keeps_what_was_typed(
    staff: Client, order: Order, typed: str, said: str
) -> None:
    page = staff.post(url(order, "note"), {"text": typed})
    assert said in str(page.context["form"].errors["text"])
    assert page.context["form"]["text"].value() == typed
    assert not Note.objects.exists()
    assert not Audit.objects.exists()


def test_a_note_is_never_changed(order: Order, sam: User) -> None:
    note = casework.add_note(order.sender, SECRET, by=sam, now=timezone.now())
    note.text = "something else"
    with pytest.raises(Note.AppendOnly):
        note.save()


# -- Whose case it is ---------------------------------------------------------------------------


def listed(staff: Client, case: str) -> list[Order]:
    return list(staff.get(reverse("admin:orders_order_changelist"), {"case": case}).context["cl"].result_list)


def test_a_case_is_taken_given_to_somebody_and_given_back(staff: Client, sam: User, order: Order) -> None:
    ida = factories.user("ida@portal.example", is_staff=True, is_superuser=True)
    for form, whose in (({"mine": "yes"}, "mine"), ({"operator": ida.pk}, "others"), ({"operator": ""}, "nobody")):
        staff.post(url(order, "assign"), form)
        assert {case for case in ("mine", "others", "nobody") if listed(staff, case) == [order]} == {whose}
    found = Audit.objects.order_by("pk").values_list("action", "subject", "reason")
    subject = subject_of(order)
    assert list(found) == [
        ("case assigned", subject, f"to user {sam.pk}"),
        ("case assigned", subject, f"to user {ida.pk}"),
        ("case assigned", subject, "to nobody"),
    ]


def test_the_list_and_the_page_say_whose_case_it_is(staff: Client, sam: User, order: Order) -> None:
    casework.give_case(order, sam, by=sam, now=timezone.now())
    assert sam.email in text(staff.get(reverse("admin:orders_order_changelist"), {"case": "mine"}))
    assert staff.get(url(order, "change")).context["assigned"].operator == sam


def test_your_own_cases_are_counted_on_the_first_page_and_one_click_away(
    staff: Client, sam: User, order: Order
) -> None:
    for whose, count in ((None, 0), (sam, 1)):
        casework.give_case(order, whose, by=sam, now=timezone.now())
        link = f'<a href="{reverse("admin:orders_order_changelist")}?case=mine">My cases: {count}</a>'
        assert link in staff.get(reverse("admin:index")).content.decode()
    assert listed(staff, "mine") == [order]


def test_a_case_can_only_be_given_to_an_operator(staff: Client, alice: User, order: Order) -> None:
    page = staff.post(url(order, "assign"), {"operator": alice.pk}, follow=True)
    assert "no longer an operator" in text(page)
    assert not Assignment.objects.exists()


# -- Emails to the sender ----------------------------------------------------------------------


def written(staff: Client, order: Order, **fields: Any) -> Any:
    values = {"to": order.made_by_id, "about": "missed", "text": "The driver comes on Friday."}
    return staff.post(url(order, "mail"), values | fields)


@pytest.mark.parametrize("about", SenderMail.About.values)
def test_each_prepared_text_starts_with_the_parcel_and_has_no_receivers_name(
    about: str, staff: Client, order: Order
) -> None:
    page = staff.get(url(order, "mail"), {"about": about})
    begun = page.context["form"]["text"].value()
    assert order.receiver_name not in begun
    assert about == "other" or str(order.carrier_reference) in begun
    assert page.context["form"]["about"].value() == about
    assert page.context["form"]["to"].value() == order.made_by_id


def test_an_email_is_sent_once_with_a_link_to_the_parcel(staff: Client, sam: User, order: Order, alice: User) -> None:
    written(staff, order)
    due = SenderMail.objects.get()
    assert mail.outbox == []
    casework.send_due_mail(due.pk)
    casework.send_due_mail(due.pk)
    [sent] = mail.outbox
    assert sent.to == [alice.email]
    assert str(order.carrier_reference) in sent.subject
    assert "The driver comes on Friday." in sent.body
    assert reverse("parcel", args=[order.uuid]) in sent.body
    assert order.receiver_name not in sent.subject + sent.body
    page = text(staff.get(url(order, "change")))
    assert "The driver didn't come, sent" in page
    assert "The driver comes on Friday." in page
    row = Audit.objects.get()
    assert (row.action, row.actor, row.subject) == ("mail to the sender", sam, subject_of(order))
    assert row.reason == f"{due}: missed"


@pytest.mark.parametrize(
    ("fields", "at"),
    [({"text": ""}, "text"), ({"text": f"see {SIGNED}"}, "text"), ({"to": "999999"}, "to"), ({"about": "x"}, "about")],
)
def test_an_error_in_an_email_is_shown_at_its_field(
    fields: dict[str, str], at: str, staff: Client, order: Order
) -> None:
    page = written(staff, order, **fields)
    assert page.context["form"].errors[at]
    assert not SenderMail.objects.exists()
    assert not Audit.objects.exists()


@pytest.mark.parametrize("role", [Role.BOOKKEEPER, Role.VIEWER])
def test_only_owners_and_shippers_are_emailed(role: str, staff: Client, order: Order, alice: User) -> None:
    Membership.objects.filter(user=alice).update(role=role)
    assert written(staff, order).context["form"].errors["to"]


def test_somebody_who_has_left_since_is_not_emailed(staff: Client, order: Order, alice: User) -> None:
    written(staff, order)
    Membership.objects.filter(user=alice).delete()
    casework.send_due_mail(SenderMail.objects.get().pk)
    assert mail.outbox == []
    kept = SenderMail.objects.get()
    assert (kept.sent_at, kept.due_at, kept.last_error) == (None, None, casework.LEFT)
    assert "not sent: the person left" in text(staff.get(url(order, "change")))


def test_an_email_is_sent_later_if_the_mail_server_is_down(
    order: Order, sam: User, alice: User, monkeypatch: Any
) -> None:
    def away(*_: Any) -> None:
        raise ConnectionRefusedError

    due = casework.queue_mail(order, to=alice, about="other", text="-", by=sam, now=timezone.now())
    monkeypatch.setattr("django.core.mail.EmailMessage.send", away)
    casework.send_due_mail(due.pk)
    due.refresh_from_db()
    assert due.sent_at is None
    assert due.tries == 1
    assert due.due_at > timezone.now()
