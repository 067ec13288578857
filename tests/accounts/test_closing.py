"""An account is closed by its owner or an operator once nothing is open, and erased when its time is up."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules
from orders.models import DatabaseMark, Order
from shipping_portal.accounts.models import Audit, PickupAddress, Receiver, Sender, User
from shipping_portal.accounts.teams import closing
from shipping_portal.billing.models import Dispute
from shipping_portal.importing.models import Import
from shipping_portal.jobs import erased_keys, erasing, retention
from shipping_portal.refused import Refused
from shipping_portal.staff import casework
from shipping_portal.staff.models import Note, SenderMail
from tests import factories

pytestmark = pytest.mark.django_db

URL = "/settings/data/close/"
PAST = dt.timedelta(days=31)


@pytest.fixture
def browser(alice: User, visit: Callable[[User], Client]) -> Client:
    """Alice's browser, just after she entered her password."""
    client = visit(alice)
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": timezone.now().timestamp()}]
    session.save()
    return client


def close(sender: Sender, by: User) -> None:
    closing.close_account(sender, by=by, now=timezone.now())
    sender.refresh_from_db()


def delivered(sender: Sender, by: User, **fields: Any) -> Order:
    return factories.order(sender, by, status="booked", progress="delivered", progress_at=timezone.now(), **fields)


def test_an_owner_must_enter_the_password_again_first(alice: User, visit: Callable[[User], Client]) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    answer = visit(alice).get(URL)
    assert answer["Location"].startswith("/accounts/reauthenticate/")


def test_an_owner_closes_the_account_by_typing_its_number(browser: Client, quill: Sender, alice: User) -> None:
    page = browser.post(URL, {"number": "A-1"})
    assert (page.status_code, Sender.objects.get(pk=quill.pk).closed_at) == (422, None)
    assert f"This account is {quill.number}." in page.content.decode()
    assert browser.post(URL, {"number": quill.number.lower()})["Location"] == URL
    assert "was closed on" in browser.get(URL).content.decode()
    assert Audit.objects.get(action="account closed").actor == alice


def test_a_closed_account_books_nothing_and_can_still_read(browser: Client, quill: Sender, alice: User) -> None:
    close(quill, alice)
    with pytest.raises(booking_rules.Suspended):
        booking_rules.refuse_unless_booking_is_on(quill, timezone.now())
    assert [browser.get(address).status_code for address in ("/parcels/", "/settings/data/")] == [200, 200]


def disputed(quill: Sender, alice: User) -> None:
    charge = factories.charge(delivered(quill, alice))
    Dispute.objects.create(charge=charge, sender=quill, made_by=alice, made_at=timezone.now(), text="Why?")


@pytest.mark.parametrize(
    ("open_one", "why"),
    [
        (lambda of, by: factories.order(of, by, status="booked"), "1 of its parcels are on their way"),
        (lambda of, by: factories.order(of, by, status="unconfirmed"), "not resolved with the carrier"),
        (lambda of, by: Sender.objects.filter(pk=of.pk).update(unbilled=12), "12.00 of what it booked is on no bill"),
        (disputed, "Answer the dispute first"),
        (lambda of, by: factories.import_row(of, by, state="owed"), "An import is being booked"),
    ],
)
def test_an_account_stays_open_while_anything_in_it_is_open(
    browser: Client, quill: Sender, alice: User, open_one: Callable[..., Any], why: str
) -> None:
    open_one(quill, alice)
    assert why in browser.get(URL).content.decode()
    browser.post(URL, {"number": quill.number})
    assert Sender.objects.get(pk=quill.pk).closed_at is None
    with pytest.raises(Refused, match=why):
        closing.close_account(quill, by=alice, now=timezone.now())


def test_a_closed_account_is_erased_when_its_time_is_up(
    quill: Sender, alice: User, ana: User, bob: User, settings: Any, tmp_path: Path
) -> None:
    settings.ERASED_FILE = str(tmp_path / "erased")
    order, other = delivered(quill, alice), delivered(bob.membership.sender, bob)
    factories.saved_receiver(quill)
    factories.import_row(quill, alice)
    close(quill, alice)
    retention.purge(timezone.now())
    assert Receiver.objects.filter(sender=quill).exists(), "there is time to take it away"
    retention.purge(timezone.now() + PAST)
    order.refresh_from_db()
    quill.refresh_from_db()
    assert (order.receiver_name, order.pickup["email"], order.price) == ("Erased receiver", "", other.price)
    assert (quill.name, quill.suspension) == (f"Closed account {quill.number}", "closed")
    for model in (Receiver, PickupAddress, Import):
        assert not model.objects.filter(sender=quill).exists(), model
    assert not quill.memberships.exists()
    assert [(user.is_active, user.get_full_name()) for user in User.objects.filter(pk__in=[alice.pk, ana.pk])] == [
        (False, "A former member")
    ] * 2
    assert Order.objects.get(pk=other.pk).receiver_name == other.receiver_name
    assert User.objects.get(pk=bob.pk).is_active
    assert erased_keys.read_erased_keys() == {"sender": {quill.pk}}


def test_operators_later_notes_about_a_parcel_are_erased_with_the_account(
    quill: Sender, alice: User, sam: User
) -> None:
    order = delivered(quill, alice)
    erasing.erase({"order": [order.pk]})
    now = timezone.now()
    casework.add_note(quill, "Alice rang", by=sam, now=now, order=order)
    casework.queue_mail(order, to=alice, about="other", text="Dear Alice", by=sam, now=now)
    close(quill, alice)
    retention.purge(now + PAST)
    assert {*Note.objects.values_list("text", flat=True), *SenderMail.objects.values_list("text", flat=True)} == {
        "Erased"
    }


@pytest.mark.usefixtures("as_the_owner")
def test_an_account_that_was_erased_is_erased_again_after_a_restore(
    quill: Sender, alice: User, settings: Any, tmp_path: Path
) -> None:
    settings.ERASED_FILE = str(tmp_path / "erased")
    order = delivered(quill, alice)
    erased_keys.write_down({"sender": {quill.pk}}, at=timezone.now())
    DatabaseMark.objects.all().delete()
    call_command("after_restore", f"--backup-at={timezone.now().isoformat()}")
    quill.refresh_from_db()
    order.refresh_from_db()
    assert quill.is_suspended
    assert (quill.name, order.receiver_email) == (f"Closed account {quill.number}", "")
    assert not User.objects.get(pk=alice.pk).is_active


def test_an_operator_can_reopen_a_closed_account_until_it_is_erased(quill: Sender, alice: User, sam: User) -> None:
    close(quill, alice)
    quill.reinstate(by=sam, reason="the owner changed their mind", now=timezone.now())
    assert not quill.is_suspended
    assert quill.closed_at is None
    retention.purge(timezone.now() + PAST)
    assert User.objects.get(pk=alice.pk).is_active
