"""What the new-parcel form does with less typing, as the server answers it: sizes, pasting, prices beside it."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from orders import sizes
from orders.models import Order, Quote
from orders.parcel_details import ParcelDetails
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Measures
from tests import factories
from tests.pages.typed import AT_HOME, beside, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
MEASURES = ("weight_kg", "length_cm", "width_cm", "height_cm")


def test_a_chosen_size_fills_in_blank_measures_and_is_kept_on_the_order(
    carrier: SandboxCarrier, listed: Client, quill: Sender
) -> None:
    size = factories.size(quill)
    listed.post("/parcels/new/", {**AT_HOME, **dict.fromkeys(MEASURES, ""), "size": str(size.uuid)})
    quote = Quote.objects.get()
    assert ParcelDetails.from_json(quote.details).measures.weight == size.weight
    listed.post(
        f"/parcels/new/{quote.uuid}/book/",
        {"form_token": str(quote.uuid), "product": "STANDARD-PICKUP", "pickup_date": ""},
    )
    assert Order.objects.get().size == size


def test_other_measures_are_no_longer_that_size(carrier: SandboxCarrier, listed: Client, quill: Sender) -> None:
    size = factories.size(quill)
    listed.post("/parcels/new/", {**AT_HOME, "weight_kg": "9.5", "size": str(size.uuid)})
    assert Quote.objects.get().details["size"] == ""


def test_a_new_parcel_begins_with_the_default_size(listed: Client, quill: Sender) -> None:
    sizes.make_default(factories.size(quill))
    page = listed.get("/parcels/new/").content.decode()
    assert " checked>" in page.partition('name="size"')[2].partition("</label>")[0]


def test_an_entry_from_before_sizes_can_still_be_read_and_has_the_same_hash(listed: Client, quill: Sender) -> None:
    details = factories.details(quill)
    plain = details.to_json()
    del plain["size"]
    assert ParcelDetails.from_json(plain).hash() == factories.details(quill, size="any").hash()


@pytest.mark.parametrize(
    "changed",
    [
        {"customer_reference": "SHOP-2"},
        {"description": "Plates"},
        {"cover": Decimal("50.00")},
        {"receiver": factories.receiver(instructions="Leave it at the door")},
        {"measures": Measures(Decimal("2.5"), "kg", Decimal(32), Decimal(24), Decimal(11), "cm")},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_prices_of_another_parcel_are_asked_for_anew(quill: Sender, alice: User, changed: dict[str, Any]) -> None:
    assert factories.details(quill, **changed).hash() != factories.details(quill).hash()


def test_prices_beside_the_form_choose_by_the_senders_rule(
    carrier: SandboxCarrier, listed: Client, quill: Sender
) -> None:
    page = beside(listed, AT_HOME)
    cheapest = min(Quote.objects.get().products, key=lambda offer: float(offer["amount"]))
    before, _, after = page.content.decode().partition(f'value="{cheapest["code"]}"')
    assert " checked>" in after.partition("<span")[0]
    assert before.count(" checked>") == 0


def test_nothing_is_asked_while_the_form_is_not_right(carrier: SandboxCarrier, listed: Client) -> None:
    page = text(beside(listed, {**AT_HOME, "receiver_postcode": ""}))
    assert "Fill in the address and size to see prices." in page
    assert not Quote.objects.exists()


def test_a_pasted_address_fills_the_form_without_a_script(listed: Client) -> None:
    pasted = "Priya Nair\n4 Sample Street\ngate code 42\nBrunswick VIC 3056"
    page = listed.post("/parcels/new/pasted/", {"pasted": pasted, "unpaste": "1", "weight_kg": "7"}).content.decode()
    assert 'value="4 Sample Street"' in page
    assert "We didn't use “gate code 42”" in page
    assert 'value="7"' in page


def test_a_place_off_the_list_brings_its_neighbours_beside_the_form(carrier: SandboxCarrier, listed: Client) -> None:
    page = beside(listed, {**AT_HOME, "receiver_postcode": "3065"}).content.decode()
    assert "Not on the carrier" in page
    assert 'type="radio" name="use_place" value="FITZROY|VIC|3065"' in page
    assert not Quote.objects.exists()
