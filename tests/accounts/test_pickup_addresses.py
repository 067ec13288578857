"""Several pickup addresses: one is the default, and the last one can't be deleted."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from shipping_portal.accounts.address.pickup_form import PickupAddressForm, make_default
from shipping_portal.accounts.models import Audit, PickupAddress, Sender, User
from tests import factories
from tests.accounts.forms import ADDRESS
from tests.pages.typed import messages_at, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("localities")]
LIST = "/settings/pickup-addresses/"
DARWIN = ADDRESS | {"line1": "1 Far Road", "suburb": "Darwin", "state": "NT", "postcode": "0800"}


@pytest.fixture
def browser(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


@pytest.fixture
def second(quill: Sender, alice: User) -> PickupAddress:
    """A second address, in Darwin, which isn't the default."""
    place = {"suburb": "DARWIN", "state": "NT", "postcode": "0800", "line1": "1 Far Road"}
    return factories.pickup_address(quill, email=alice.email, is_default=False, **place)


def test_another_address_changes_neither_the_default_nor_the_zone(browser: Client, quill: Sender) -> None:
    first = quill.pickup_address()
    assert browser.post(f"{LIST}new/", DARWIN)["Location"] == LIST
    quill.refresh_from_db()
    assert (quill.pickup_addresses.count(), quill.pickup_address(), quill.zone) == (2, first, "Australia/Melbourne")
    page = text(browser.get(LIST))
    assert "12 Example Lane, FITZROY 3065 Default" in page
    assert "1 Far Road, DARWIN 0800 Contact" in page


def test_an_extension_is_added_to_the_instructions_once_or_they_are_refused(
    browser: Client, quill: Sender, second: PickupAddress
) -> None:
    phone = {"phone": "0491 570 006 ext 12"}
    for typed in ("Ring twice", "Ring twice, phone ext. 12"):
        browser.post(f"{LIST}{second.pk}/", DARWIN | phone | {"instructions": typed})
        second.refresh_from_db()
        assert second.instructions == "Ring twice, phone ext. 12"
    answer = browser.post(f"{LIST}{second.pk}/", DARWIN | phone | {"instructions": "x" * 190})
    assert messages_at(answer, "instructions") == [
        "Use at most 200 characters; with “phone ext. 12” from the phone this has 205."
    ]


def test_each_address_follows_the_rules_of_the_first(browser: Client, quill: Sender) -> None:
    answer = browser.post(f"{LIST}new/", DARWIN | {"email": "stranger@example.com"})
    assert answer.status_code == 422
    assert "Choose one of the addresses on the page" in text(answer)
    assert quill.pickup_addresses.count() == 1


def test_choosing_a_default_sets_its_zone(browser: Client, quill: Sender, second: PickupAddress) -> None:
    browser.post(f"{LIST}{second.pk}/change/", {"default": "yes"})
    quill.refresh_from_db()
    assert (quill.pickup_address(), quill.zone) == (second, "Australia/Darwin")
    assert quill.pickup_addresses.filter(is_default=True).count() == 1
    assert Audit.objects.filter(action="default pickup address chosen", sender=quill).exists()


def test_an_edit_changes_only_its_own_address(browser: Client, quill: Sender, second: PickupAddress) -> None:
    browser.post(f"{LIST}{second.pk}/", DARWIN | {"line1": "2 Far Road"})
    second.refresh_from_db()
    assert (second.line1, second.is_default) == ("2 Far Road", False)
    assert quill.pickup_address().line1 == "12 Example Lane"


def test_deleting_the_default_makes_another_the_default(browser: Client, quill: Sender, second: PickupAddress) -> None:
    browser.post(f"{LIST}{quill.pickup_address().pk}/change/", {"delete": "yes"})
    quill.refresh_from_db()
    second.refresh_from_db()
    assert (quill.pickup_addresses.count(), second.is_default, quill.zone) == (1, True, "Australia/Darwin")
    answer = browser.post(f"{LIST}{second.pk}/change/", {"delete": "yes"}, follow=True)
    assert "This is the only pickup address." in text(answer)
    assert quill.pickup_addresses.count() == 1


def test_a_deleted_address_that_was_not_the_default_changes_neither_the_default_nor_the_zone(
    browser: Client, quill: Sender, second: PickupAddress
) -> None:
    first = quill.pickup_address()
    browser.post(f"{LIST}{second.pk}/change/", {"default": "yes"})
    third = factories.pickup_address(quill, email=second.email, is_default=False, line1="3 Third Street")
    browser.post(f"{LIST}{third.pk}/change/", {"delete": "yes"})
    quill.refresh_from_db()
    assert (quill.pickup_address(), quill.zone) == (second, "Australia/Darwin")
    assert set(quill.pickup_addresses.all()) == {first, second}


def test_a_stranger_finds_no_address_and_a_get_changes_nothing(
    browser: Client, second: PickupAddress, bob: User, visit: Callable[[User], Client]
) -> None:
    for end in ("", "change/"):
        assert visit(bob).post(f"{LIST}{second.pk}/{end}", DARWIN | {"delete": "yes"}).status_code == 404
    assert browser.get(f"{LIST}{second.pk}/change/?delete=yes").status_code == 405
    assert PickupAddress.objects.filter(pk=second.pk).exists()


@pytest.mark.parametrize(("person", "company"), [("Alice Quill", "Quill & Co"), ("Quill & co.", "")])
def test_the_person_who_adds_an_address_is_its_contact_and_no_name_is_printed_twice(
    browser: Client, quill: Sender, alice: User, person: str, company: str
) -> None:
    User.objects.filter(pk=alice.pk).update(name=person)
    Sender.objects.filter(pk=quill.pk).update(name="Quill & Co")
    form = browser.get(f"{LIST}new/").context["form"]
    assert (form["name"].value(), form["company"].value()) == (person, company)


def test_of_two_first_addresses_saved_at_once_one_is_the_default(quill: Sender, alice: User) -> None:
    quill.pickup_addresses.all().delete()
    forms = [PickupAddressForm(DARWIN, sender=quill, initial={}) for _ in range(2)]
    for form in forms:
        assert form.is_valid(), form.errors
        form.save(by=alice, at=timezone.now())
    assert quill.pickup_addresses.filter(is_default=True).count() == 1


def test_an_edit_begun_before_another_default_was_chosen_keeps_that_choice(
    quill: Sender, alice: User, second: PickupAddress
) -> None:
    form = PickupAddressForm(DARWIN, sender=quill, address=quill.pickup_address())
    assert form.is_valid(), form.errors
    make_default(second, by=alice, at=timezone.now())
    form.save(by=alice, at=timezone.now())
    assert list(quill.pickup_addresses.filter(is_default=True)) == [second]


def test_a_default_chosen_in_one_account_changes_nothing_in_another(
    browser: Client, second: PickupAddress, bob: User
) -> None:
    theirs = bob.membership.sender
    before = Sender.objects.filter(pk=theirs.pk).values().get()
    browser.post(f"{LIST}{second.pk}/change/", {"default": "yes"})
    assert Sender.objects.filter(pk=theirs.pk).values().get() == before
    assert theirs.pickup_addresses.get().is_default
    assert list(second.sender.pickup_addresses.filter(is_default=True)) == [second]
