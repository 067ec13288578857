"""The address book: searched by the start of a word, with the rules of a new parcel, and no entry twice."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from shipping_portal.accounts.address import receivers
from shipping_portal.accounts.address.locality_lists import import_list
from shipping_portal.accounts.models import Receiver, ReceiverKey, Sender, User
from shipping_portal.db import keyset
from tests import factories
from tests.pages.typed import AT_HOME, text, value_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("localities")]

PARCEL = ("description", "weight_kg", "length_cm", "width_cm", "height_cm", "customer_reference", "cover_amount")
PRIYA = {name: value for name, value in AT_HOME.items() if name not in PARCEL} | {"group": "Markets"}


@pytest.fixture
def browser(alice: User, visit: Callable[[User], Client]) -> Client:
    return visit(alice)


def found(client: Client, query: str) -> list[str]:
    return [row.name for row in client.get(f"/addresses/?{query}").context["rows"]]


def test_an_address_is_kept_in_its_published_spelling_and_leads_to_a_parcel(browser: Client) -> None:
    assert browser.post("/addresses/new/", PRIYA)["Location"] == "/addresses/"
    kept = Receiver.objects.get()
    assert (kept.suburb, kept.state, kept.group, kept.is_saved) == ("BRUNSWICK", "VIC", "Markets", True)
    page = browser.get("/addresses/")
    assert "Priya Nair" in text(page)
    assert "Not yet" in text(page)
    assert f"/parcels/new/?receiver={kept.uuid}" in page.content.decode()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"receiver_name": ""}, "Enter the receiver's name."),
        ({"receiver_suburb": "Hobart"}, "Hobart doesn't match 3056 on the carrier's list."),
        ({"receiver_company": "priya nair"}, "Contact and company are the same."),
        ({"receiver_email": ""}, "Enter the receiver's email."),
        ({"group": "x" * 41}, "Use at most 40 characters"),
    ],
)
def test_an_address_keeps_the_rules_of_a_new_parcel(browser: Client, changes: dict[str, str], words: str) -> None:
    answer = browser.post("/addresses/new/", PRIYA | changes)
    assert answer.status_code == 422
    assert words in text(answer)
    assert not Receiver.objects.exists()


def test_a_suggested_place_is_accepted_with_one_click(browser: Client) -> None:
    browser.post("/addresses/new/", PRIYA | {"receiver_suburb": "Hobart", "use_place": "HOBART|TAS|7000"})
    assert Receiver.objects.get().postcode == "7000"


def test_an_edit_shows_what_is_kept_and_keys_follow_it(browser: Client, quill: Sender) -> None:
    kept = factories.saved_receiver(quill)
    page = browser.get(f"/addresses/{kept.uuid}/")
    assert value_of(page, "receiver_name") == "Noor Tamsin"
    browser.post(f"/addresses/{kept.uuid}/", PRIYA)
    kept.refresh_from_db()
    assert kept.name == "Priya Nair"
    assert found(browser, "q=pri") == ["Priya Nair"]
    assert found(browser, "q=noor") == []


def test_the_same_receiver_is_refused_a_second_time(browser: Client) -> None:
    browser.post("/addresses/new/", PRIYA)
    answer = browser.post("/addresses/new/", PRIYA | {"receiver_name": "PRIYA NAIR"})
    assert "is in your address book already" in text(answer)
    assert Receiver.objects.count() == 1


@pytest.mark.parametrize("q", ["noo", "TAMS", "noor tam", "cera", "noor.tamsin@", "7000", "0491 570 156", "tàm"])
def test_somebody_is_found_by_the_start_of_any_word(browser: Client, quill: Sender, q: str) -> None:
    factories.saved_receiver(quill)
    factories.saved_receiver(quill, name="Ada", company="", email="a@b.example", phone="", postcode="3065")
    assert found(browser, f"q={q}") == ["Noor Tamsin"]


@pytest.mark.parametrize("q", ["oor", "noor zed", "tasman%", "x' OR 1=1"])
def test_nobody_is_found_by_other_words(browser: Client, quill: Sender, q: str) -> None:
    factories.saved_receiver(quill)
    assert list(browser.get("/addresses/", {"q": q}).context["rows"]) == []


def test_groups_narrow_the_list(browser: Client, quill: Sender) -> None:
    factories.saved_receiver(quill, group="Markets")
    factories.saved_receiver(quill, name="Ada Lund", group="Shops")
    assert found(browser, "group=Shops") == ["Ada Lund"]
    assert found(browser, "group=Nobody") == []
    assert "No matches" in text(browser.get("/addresses/?group=Nobody"))


def test_the_next_page_starts_after_the_last_row(
    browser: Client, quill: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyset, "PAGE", 2)
    for name in "ABCDE":
        factories.saved_receiver(quill, name=name)
    first = browser.get("/addresses/")
    assert [row.name for row in first.context["rows"]] == ["E", "D"]
    assert found(browser, f"before={first.context['older']}") == ["C", "B"]
    assert found(browser, "before=no-number") == ["E", "D"]


def test_deleting_an_address_leaves_its_parcels(browser: Client, quill: Sender, alice: User) -> None:
    kept, order = factories.saved_receiver(quill), factories.order(quill, alice)
    browser.post(f"/addresses/{kept.uuid}/delete/")
    order.refresh_from_db()
    assert order.receiver_name == "Noor Tamsin"
    assert not Receiver.objects.exists()
    assert not ReceiverKey.objects.exists()


def test_merged_duplicates_add_up_their_uses(browser: Client, quill: Sender) -> None:
    now = timezone.now()
    kept = factories.saved_receiver(quill)
    other = factories.saved_receiver(quill, name="noor  TAMSIN", line1="4 Sample St", group="Shops")
    factories.saved_receiver(quill, name="Ada Lund")
    Receiver.objects.filter(pk=kept.pk).update(uses=1, is_saved=False)
    Receiver.objects.filter(pk=other.pk).update(uses=3, used_at=now)
    assert [[row.pk for row in rows] for rows in receivers.find_duplicates(quill)] == [[other.pk, kept.pk]]
    assert "4 Sample St" in text(browser.get("/addresses/duplicates/"))
    browser.post("/addresses/duplicates/", {"keep": kept.uuid, "row": [kept.uuid, other.uuid]})
    kept.refresh_from_db()
    assert (kept.uses, kept.used_at, kept.group, kept.is_saved) == (4, now, "Shops", True)
    assert Receiver.objects.count() == 2
    assert "No duplicates" in text(browser.get("/addresses/duplicates/"))


def test_a_merge_deletes_only_addresses_that_were_on_the_page(browser: Client, quill: Sender) -> None:
    """Another member may have added one since."""
    kept, other = (factories.saved_receiver(quill, line1=f"{number} Sample St") for number in (1, 2))
    added = factories.saved_receiver(quill, line1="3 Sample St")
    page = browser.post("/addresses/duplicates/", {"keep": kept.uuid, "row": [kept.uuid, other.uuid]}, follow=True)
    assert set(Receiver.objects.all()) == {kept, added}
    assert page.redirect_chain[-1][0] == "/addresses/duplicates/"


def test_a_merge_that_finds_nothing_says_so(browser: Client, quill: Sender) -> None:
    kept = factories.saved_receiver(quill)
    said = text(browser.post("/addresses/duplicates/", {"keep": kept.uuid, "row": kept.uuid}, follow=True))
    assert "These addresses have changed since, so nothing was merged." in said
    assert "is there once now" not in said


def test_the_page_posts_the_rows_that_it_shows(browser: Client, quill: Sender) -> None:
    rows = [factories.saved_receiver(quill, line1=f"{number} Sample St") for number in (1, 2)]
    page = browser.get("/addresses/duplicates/").content.decode()
    assert [page.count(f'name="row" value="{row.uuid}"') for row in rows] == [1, 1]


def test_people_in_two_countries_are_no_duplicates(browser: Client, quill: Sender) -> None:
    for country in ("NZ", "AT"):
        factories.saved_receiver(quill, name="Mei Chan", postcode="1010", country=country)
    assert receivers.find_duplicates(quill) == []


def test_a_row_without_duplicates_is_never_merged(browser: Client, quill: Sender) -> None:
    kept = factories.saved_receiver(quill)
    browser.post("/addresses/duplicates/", {"keep": kept.uuid})
    browser.post("/addresses/duplicates/", {})
    assert Receiver.objects.get() == kept


def test_a_newer_list_flags_places_it_no_longer_has_and_an_edit_clears_the_flag(browser: Client, quill: Sender) -> None:
    gone = factories.saved_receiver(quill)
    factories.saved_receiver(quill, name="Ada Lund", suburb="FITZROY", postcode="3065", state="VIC")
    rows = b"country,suburb,state,postcode\nAU,FITZROY,VIC,3065\nAU,BRUNSWICK,VIC,3056\n"
    change = import_list(rows, source="new.csv", by=None, at=timezone.now())[0]
    assert change.off_list == 1
    assert found(browser, "off_list=yes") == ["Noor Tamsin"]
    assert "Not on the carrier's list any more 1" in text(browser.get("/addresses/"))
    assert "Correct it before the next parcel" in text(browser.get(f"/addresses/{gone.uuid}/"))
    browser.post(f"/addresses/{gone.uuid}/", PRIYA)
    assert found(browser, "off_list=yes") == []


def test_a_list_that_has_the_place_again_clears_the_flag(quill: Sender) -> None:
    kept = factories.saved_receiver(quill)
    Receiver.objects.update(is_off_list=True)
    assert receivers.mark_off_list("AU") == 0
    kept.refresh_from_db()
    assert not kept.is_off_list


def test_a_fingerprint_depends_on_who_and_where_not_on_the_spelling() -> None:
    one = factories.receiver()
    same = factories.receiver(name="NOOR  tamsin", email="other@example.net", phone="")
    elsewhere = factories.receiver(line1="5 Sample Street")
    assert receivers.receiver_fingerprint(one) == receivers.receiver_fingerprint(same)
    assert receivers.receiver_fingerprint(one) != receivers.receiver_fingerprint(elsewhere)


def test_a_stranger_finds_nobody_and_a_get_deletes_nothing(
    browser: Client, quill: Sender, bob: User, visit: Callable[[User], Client]
) -> None:
    kept = factories.saved_receiver(quill)
    strange = visit(bob)
    assert strange.get(f"/addresses/{kept.uuid}/").status_code == 404
    assert strange.post(f"/addresses/{kept.uuid}/delete/").status_code == 404
    assert found(strange, "q=noor") == []
    strange.post("/addresses/duplicates/", {"keep": kept.uuid})
    assert browser.get(f"/addresses/{kept.uuid}/delete/").status_code == 405
    assert Receiver.objects.get() == kept


@pytest.mark.parametrize("page", ["", "?q=noor", "duplicates/"])
def test_a_page_takes_the_same_number_of_queries_with_many_rows(browser: Client, quill: Sender, page: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            browser.get(f"/addresses/{page}")
        return len(seen)

    numbers: list[Any] = []
    browser.get("/addresses/")
    for count in (2, 20):
        for number in range(count):
            factories.saved_receiver(quill, line1=f"{count} Street {number}")
        numbers.append(queries())
    assert numbers[0] == numbers[1] <= 10
