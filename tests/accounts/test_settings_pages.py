"""First steps and settings: pickup address, sender email, label size."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import Audit, LocalityList, PickupAddress, Sender, User
from tests import factories
from tests.accounts.forms import ADDRESS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("localities")]

URL = "/settings/pickup-address/"


@pytest.fixture
def browser(alice: User, visit: Any) -> Client:
    client: Client = visit(alice)
    return client


def test_a_pickup_address_is_stored_in_its_published_spelling_and_sets_the_zone(browser: Client, quill: Sender) -> None:
    Sender.objects.update(zone="Australia/Perth")
    assert browser.post(URL, ADDRESS)["Location"] == "/settings/"
    stored = PickupAddress.objects.get()
    assert (stored.suburb, stored.state, stored.postcode) == ("FITZROY", "VIC", "3065")
    assert (stored.phone, stored.instructions) == ("0491 570 006", "Behind the counter")
    quill.refresh_from_db()
    assert quill.zone == "Australia/Melbourne"
    assert Audit.objects.filter(action="pickup address saved", sender=quill).exists()


def test_a_zones_name_wraps_only_after_its_slash(browser: Client) -> None:
    assert "<dd>Australia/<wbr>Melbourne</dd>" in browser.get("/settings/").content.decode()


def test_the_first_address_leads_back_to_the_first_steps(browser: Client) -> None:
    PickupAddress.objects.all().delete()
    assert "Book your first" not in browser.get("/start/").content.decode()
    assert browser.post(URL, ADDRESS)["Location"] == "/start/"
    assert PickupAddress.objects.get().country == "AU"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "Enter the name of the person the driver asks for"),
        ({"postcode": ""}, "Enter the postcode"),
        ({"email": ""}, "Choose the address the carrier"),
        ({"company": "ira  quill"}, "Contact and company are the same"),
        ({"line1": "12 Example Lane, Fitzroy VIC 3065"}, "Leave out “Fitzroy VIC 3065” here"),
        ({"line2": "Victoria"}, "Leave out “Victoria” here"),
        ({"line1": "x" * 256}, "at most 255"),
        ({"line1": "a\r\nBcc: b"}, "hidden characters"),
        ({"suburb": "Brunswick"}, "match 3065 on the carrier"),
        ({"phone": "1300 123 456"}, "t take 13, 1300 or 1800"),
        ({"instructions": "x" * 201}, "at most 200"),
        ({"email": "bob@bolts.example"}, "Choose one of the addresses on the page"),
        ({"email": "stranger@example.com"}, "Choose one of the addresses on the page"),
    ],
)
def test_an_address_the_carrier_cannot_use_is_refused_with_the_reason(
    browser: Client, changes: dict[str, str], words: str
) -> None:
    response = browser.post(URL, ADDRESS | changes)
    assert response.status_code == 422
    assert words in response.content.decode().replace("&#x27;", "'")
    assert PickupAddress.objects.get().suburb == "FITZROY"
    assert not Audit.objects.filter(action="pickup address saved").exists()


def test_a_mismatched_place_is_corrected_with_one_click(browser: Client) -> None:
    page = browser.post(URL, ADDRESS | {"suburb": "Brunswick"})
    near = {str(place): place.pk for place in page.context["form"].near}
    assert set(near) == {"BRUNSWICK VIC 3056", "FITZROY VIC 3065"}
    browser.post(URL, ADDRESS | {"suburb": "Brunswick", "place": near["BRUNSWICK VIC 3056"]})
    assert (PickupAddress.objects.get().suburb, PickupAddress.objects.get().postcode) == ("BRUNSWICK", "3056")


def test_a_place_of_another_country_cannot_be_chosen(browser: Client) -> None:
    portland = places.active_places("US").get()
    browser.post(URL, ADDRESS | {"place": portland.pk})
    assert PickupAddress.objects.get().suburb == "FITZROY"


def test_without_a_list_the_typed_place_is_accepted(browser: Client, localities: None) -> None:
    LocalityList.objects.all().delete()
    browser.post(URL, ADDRESS | {"suburb": "Far Away", "postcode": " 6798 "})
    assert (PickupAddress.objects.get().suburb, PickupAddress.objects.get().postcode) == ("Far Away", "6798")


def test_a_long_line_is_saved_and_warned_about(browser: Client) -> None:
    line = "Warehouse four behind the old tram depot 12"
    page = browser.post(URL, ADDRESS | {"line1": line}, follow=True).content.decode()
    assert PickupAddress.objects.get().line1 == line
    assert f"has {len(line)} of 40 characters" in page


def test_a_shared_mailbox_needs_confirmation_that_somebody_reads_it(browser: Client, alice: User) -> None:
    EmailAddress.objects.create(user=alice, email="info@quill.example", verified=True)
    shared = ADDRESS | {"email": "info@quill.example"}
    assert "This looks like a shared mailbox" in browser.post(URL, shared).content.decode()
    browser.post(URL, shared | {"reads_mailbox": "on"})
    stored = PickupAddress.objects.get()
    assert stored.email == "info@quill.example"
    assert stored.shared_mailbox_confirmed_at is not None
    assert Audit.objects.filter(action="shared mailbox confirmed", actor=alice).exists()
    browser.post(URL, ADDRESS)
    assert PickupAddress.objects.get().shared_mailbox_confirmed_at is None


def test_an_unverified_or_support_address_is_not_offered(browser: Client, alice: User) -> None:
    EmailAddress.objects.create(user=alice, email="new@quill.example", verified=False)
    EmailAddress.objects.create(user=alice, email="support@quill.example", verified=True)
    page = browser.get(URL).content.decode()
    assert "alice@quill.example" in page
    assert "new@quill.example" not in page
    assert "support@quill.example" not in page


def test_a_person_with_only_a_support_address_reads_what_to_do(visit: Any) -> None:
    business = factories.sender(name="Help Desk Hats")
    person = factories.user("support@hats.example")
    factories.member(business, person)
    assert "Add and verify your own address" in visit(person).get(URL).content.decode()


def test_an_american_sender_sees_american_words(visit: Any) -> None:
    business = factories.sender(name="Rose City", country="US")
    person = factories.user("rosa@rosecity.example")
    factories.member(business, person)
    page = visit(person).get(URL).content.decode()
    assert "ZIP code" in page
    assert "Oregon" in page
    assert "Suburb" not in page


def test_the_label_size_is_chosen_and_recorded(browser: Client, quill: Sender) -> None:
    assert browser.post("/settings/label-size/", {"label_size": "cropped"})["Location"] == "/settings/"
    quill.refresh_from_db()
    assert quill.label_size == "cropped"
    assert browser.post("/settings/label-size/", {"label_size": "huge"}).status_code == 422


def test_only_the_owner_changes_the_pickup_address(ana: User, bea: User, vic: User, visit: Any) -> None:
    for member in (ana, bea, vic):
        assert visit(member).get(URL).status_code == 404
        assert visit(member).post(URL, ADDRESS).status_code == 404
        assert visit(member).get("/settings/").status_code == 200
    assert visit(ana).get("/settings/label-size/").status_code == 200
    for member in (bea, vic):
        assert visit(member).get("/settings/label-size/").status_code == 404
        assert visit(member).get("/start/").status_code == 404


@pytest.mark.parametrize("address", ["/start/", "/settings/", URL, "/settings/label-size/", "/suggest/localities/"])
def test_strangers_are_asked_to_log_in_and_operators_get_404(address: str, sam: User, visit: Any) -> None:
    assert Client().get(address)["Location"].startswith("/accounts/login/")
    assert visit(sam).get(address).status_code == 404


def test_extra_fields_change_nothing(browser: Client, quill: Sender) -> None:
    browser.post(URL, ADDRESS | {"country": "US", "sender": "999", "is_default": ""})
    stored = PickupAddress.objects.get()
    assert (stored.country, stored.sender_id) == ("AU", quill.pk)
