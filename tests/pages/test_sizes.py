"""Sizes: boxes with a name, which are chosen instead of measured."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.drafting import sizes
from orders.views.sizes import SizeForm
from shipping_portal.accounts.models import ParcelSize, Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

MUG = {
    "name": "Mug box",
    "weight": "1.25",
    "length": "32",
    "width": "24.5",
    "height": "11",
    "description": "Ceramic mugs",
}


@pytest.fixture
def browser(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


def names(sender: Sender) -> list[str]:
    return [size.name for size in sizes.list_sizes(sender)]


def test_a_size_is_kept_as_entered_and_listed_with_its_number_of_uses(
    browser: Client, quill: Sender, alice: User
) -> None:
    assert browser.post("/sizes/new/", MUG)["Location"] == "/sizes/"
    size = ParcelSize.objects.get()
    assert (str(size.weight), size.weight_units, str(size.width)) == ("1.2500", "kg", "24.500")
    for _ in range(2):
        factories.order(quill, alice, size=size)
    page = text(browser.get("/sizes/"))
    for words in ("Mug box", "1.25 kg", "32 × 24.5 × 11 cm", "Ceramic mugs", "2 parcels"):
        assert words in page


def test_without_sizes_the_page_says_what_they_are_for(browser: Client) -> None:
    assert "No sizes yet" in text(browser.get("/sizes/"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "Name the size"),
        ({"name": "mug BOX"}, "There is a size named “mug BOX” already."),
        ({"weight": "0"}, "This must be more than 0."),
        ({"height": ""}, "Enter the height. The carrier needs all three."),
        ({"width": "wide"}, "Enter a number, like 32."),
    ],
)
def test_a_size_follows_the_rules_of_a_new_parcel(
    browser: Client, quill: Sender, changes: dict[str, str], words: str
) -> None:
    factories.size(quill)
    answer = browser.post("/sizes/new/", MUG | changes)
    assert answer.status_code == 422
    assert words in text(answer)
    assert ParcelSize.objects.count() == 1


def test_an_american_sender_enters_pounds_and_inches(visit: Callable[[User], Client]) -> None:
    business = factories.sender(name="Rose City", country="US")
    person = factories.user("rosa@rosecity.example")
    factories.member(business, person)
    typed = {"name": "Box", "weight": "2.5", "length": "12", "width": "9", "height": "4"}
    visit(person).post("/sizes/new/", typed)
    size = ParcelSize.objects.get()
    assert (size.weight_units, size.dimension_units, str(size.weight)) == ("lb", "in", "2.5000")


def test_a_size_keeps_its_units_when_it_is_edited(browser: Client, quill: Sender) -> None:
    size = factories.size(quill, weight_units="lb", dimension_units="in")
    assert "Weight , lb" in text(browser.get(f"/sizes/{size.uuid}/"))
    typed = {"name": "Big", "weight": "3", "length": "12", "width": "9", "height": "4"}
    browser.post(f"/sizes/{size.uuid}/", typed)
    size.refresh_from_db()
    assert (size.name, str(size.weight), size.weight_units) == ("Big", "3.0000", "lb")


def test_up_and_down_change_the_order_and_stop_at_its_ends(browser: Client, quill: Sender) -> None:
    made = {name: factories.size(quill, name=name) for name in ("A", "B", "C")}

    def press(name: str, move: str) -> list[str]:
        url = f"/sizes/{made[name].uuid}/"
        assert browser.post(f"{url}change/", {"move": move})["Location"] == f"/sizes/#size-{made[name].uuid}"
        return names(quill)

    assert press("C", "up") == ["A", "C", "B"]
    assert press("A", "down") == ["C", "A", "B"]
    assert press("C", "up") == ["C", "A", "B"]
    assert press("B", "down") == ["C", "A", "B"]
    assert press("B", "sideways") == ["C", "A", "B"]


def test_one_size_is_the_default(browser: Client, quill: Sender) -> None:
    size = factories.size(quill)
    browser.post(f"/sizes/{size.uuid}/change/", {"default": "yes"})
    quill.refresh_from_db()
    assert quill.default_size == size
    page = text(browser.get("/sizes/"))
    assert "Mug box Default" in page
    assert "Make default" not in page


def test_the_form_offers_the_sizes_used_most_and_the_default_in_the_senders_own_order(
    quill: Sender, alice: User
) -> None:
    made = [factories.size(quill, name=f"Box {number}") for number in range(7)]
    for size, times in zip(made, (0, 3, 1, 0, 2, 4, 0), strict=True):
        for _ in range(times):
            factories.order(quill, alice, size=size)
    assert [size.name for size in sizes.offered_sizes(quill)] == ["Box 1", "Box 2", "Box 4", "Box 5"]
    Sender.objects.update(default_size=made[6])
    quill.refresh_from_db()
    assert [size.name for size in sizes.offered_sizes(quill)] == ["Box 1", "Box 4", "Box 5", "Box 6"]


def test_deleting_a_size_leaves_its_parcels(browser: Client, quill: Sender, alice: User) -> None:
    size = factories.size(quill)
    Sender.objects.update(default_size=size)
    order = factories.order(quill, alice, size=size)
    browser.post(f"/sizes/{size.uuid}/delete/")
    order.refresh_from_db()
    quill.refresh_from_db()
    assert (ParcelSize.objects.count(), order.size, quill.default_size) == (0, None, None)


def test_the_number_of_sizes_is_limited(browser: Client, quill: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MOST", 1)
    factories.size(quill, name="Other")
    assert "Delete one you don't use" in text(browser.post("/sizes/new/", MUG))
    assert names(quill) == ["Other"]


def test_a_name_is_unique_even_if_two_save_it_at_once(quill: Sender) -> None:
    form = SizeForm(MUG, sender=quill)
    assert form.is_valid()
    factories.size(quill)
    assert not form.save()
    assert form.errors["name"] == ["There is a size named “Mug box” already."]


def test_a_stranger_finds_no_size_and_a_get_changes_nothing(
    browser: Client, quill: Sender, bob: User, visit: Callable[[User], Client]
) -> None:
    size = factories.size(quill)
    for end in ("", "change/", "delete/"):
        assert visit(bob).post(f"/sizes/{size.uuid}/{end}", MUG).status_code == 404
    for end in ("change/", "delete/"):
        assert browser.get(f"/sizes/{size.uuid}/{end}").status_code == 405
    assert names(quill) == ["Mug box"]


def test_the_list_takes_the_same_number_of_queries_with_many_sizes(browser: Client, quill: Sender, alice: User) -> None:
    found = []
    browser.get("/sizes/")  # the first visit also writes the session
    for count in (1, 2, 30):
        for number in range(count):
            factories.order(quill, alice, size=factories.size(quill, name=f"{count} {number}"))
        with CaptureQueriesContext(connection) as seen:
            browser.get("/sizes/")
        found.append(len(seen))
    assert found[0] == found[1] == found[2]
