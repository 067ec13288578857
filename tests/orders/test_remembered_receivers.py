"""The receiver of an earlier parcel is found by the first letters of a word."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]


def test_booking_remembers_the_receiver_and_counts_each_parcel(submitted: Submit, quill: Sender) -> None:
    submitted()
    submitted(receiver=factories.receiver(name="NOOR TAMSIN", email="noor@new.example"))
    [receiver] = receivers.suggest_receivers(quill, "noo")
    assert (receiver.uses, receiver.email, receiver.is_saved) == (2, "noor@new.example", False)
    assert receivers.suggest_receivers(quill, "noor@new") == [receiver]


def test_a_receiver_saved_by_hand_keeps_its_contact_details(submitted: Submit, quill: Sender) -> None:
    submitted()
    quill.receivers.update(is_saved=True)
    submitted(receiver=factories.receiver(email="other@example.net"))
    assert [(one.uses, one.email) for one in quill.receivers.all()] == [(2, "noor.tamsin@example.net")]


@pytest.mark.parametrize("typed", ["no", "Tam cer", "0491 570", "noor.t", "7000", "NÔOR"])
def test_a_receiver_is_found_by_the_start_of_any_word(submitted: Submit, quill: Sender, typed: str) -> None:
    submitted()
    assert len(receivers.suggest_receivers(quill, typed)) == 1


@pytest.mark.parametrize("typed", ["4 sam", "Sample  St", "street"])
def test_a_past_receiver_is_found_by_the_street(submitted: Submit, quill: Sender, typed: str) -> None:
    submitted()
    other = factories.sender()
    receivers.count_use(other, factories.receiver(name="Somebody Else"), at=timezone.now())
    assert [one.name for one in receivers.suggest_receivers(quill, typed)] == ["Noor Tamsin"]


def test_a_street_takes_one_more_query_over_only_the_newest_receivers(
    quill: Sender, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "MOST_STREETS", 2)
    for number in range(3):
        party = factories.receiver(name=f"Rosa {number}", line1=f"{number} Elm Road")
        receivers.count_use(quill, party, at=timezone.now())
    with django_assert_num_queries(2):
        assert {one.name for one in receivers.suggest_receivers(quill, "elm road")} == {"Rosa 1", "Rosa 2"}
    with django_assert_num_queries(1):
        assert len(receivers.suggest_receivers(quill, "rosa")) == 3


@pytest.mark.parametrize("typed", ["", "n", "amsin", "noor x"])
def test_too_few_letters_or_another_word_find_nobody(submitted: Submit, quill: Sender, typed: str) -> None:
    submitted()
    assert receivers.suggest_receivers(quill, typed) == []


@pytest.mark.parametrize("last", ["\U0010ffff", "\ud7ff"])
def test_the_last_unicode_letters_find_nobody_and_break_nothing(quill: Sender, last: str) -> None:
    for typed in (f"ab@{last}", f"ab.{last}"):
        assert receivers.suggest_receivers(quill, typed) == []


def test_the_page_gets_what_fills_the_form_and_no_other_accounts_receivers(
    submitted: Submit, alice: User, bob: User, visit: Callable[[User], Client]
) -> None:
    submitted()
    [row] = visit(alice).get("/suggest/receivers/?q=noor").json()
    assert (row["name"], row["place"]) == ("Noor Tamsin", "Tamsin Ceramics, 4 Sample Street, HOBART 7000")
    assert row["values"]["receiver_line1"] == "4 Sample Street"
    assert row["values"]["delivery_choice"] == "authority_to_leave"
    assert visit(bob).get("/suggest/receivers/?q=noor").json() == []


@pytest.mark.usefixtures("localities")
def test_the_page_gets_a_parsed_pasted_address(alice: User, visit: Callable[[User], Client]) -> None:
    text = "Priya Nair\n4 Sample Street\nHobart TAS 7000\ngate code 42"
    pressed = {"pasted": text, "unpaste": "1"}
    found = visit(alice).post("/parcels/new/", pressed, headers={"Accept": "application/json"}).json()
    assert found["values"]["receiver_name"] == "Priya Nair"
    assert found["left"] == ["gate code 42"]


def test_receivers_saved_by_hand_come_first_then_the_most_used_then_the_latest(quill: Sender, bob: User) -> None:
    now = timezone.now()
    uses = {"Noor Once": [5], "Noor Twice": [9, 8], "Noor Lately": [1], "Noor Kept": [9]}
    for name, days in uses.items():
        for ago in days:
            receivers.count_use(quill, factories.receiver(name=name), at=now - dt.timedelta(days=ago))
    quill.receivers.filter(name="Noor Kept").update(is_saved=True)
    receivers.count_use(bob.membership.sender, factories.receiver(name="Noor Elsewhere"), at=now)
    found = receivers.suggest_receivers(quill, "noor")
    assert [one.name for one in found] == ["Noor Kept", "Noor Twice", "Noor Lately", "Noor Once"]
    assert [(one.uses, (now - one.used_at).days) for one in found] == [(1, 9), (2, 8), (1, 1), (1, 5)]


def test_newer_contact_details_are_found_and_older_ones_are_not(quill: Sender) -> None:
    for phone in ("0491 570 156", "0491 570 157"):
        receivers.count_use(quill, factories.receiver(phone=phone), at=timezone.now())
    assert [one.phone for one in receivers.suggest_receivers(quill, "0491 570 157")] == ["0491 570 157"]
    assert receivers.suggest_receivers(quill, "0491 570 156") == []
