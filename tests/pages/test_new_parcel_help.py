"""How the server saves typing on the new-parcel form: sizes, pasting, prices beside it."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from orders.drafting import sizes
from orders.drafting.parcel_details import ParcelDetails
from orders.models import Order, Quote
from shipping_portal.accounts.models import Sender, User
from shipping_portal.carrier.messages import Measures
from tests import factories
from tests.pages.typed import ABROAD, AT_HOME, BY_SCRIPT, FROM_OHIO, beside, messages_at, text
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
        f"{factories.prices_of(quote)}book/",
        {"form_token": str(quote.uuid), "product": "STANDARD-PICKUP", "pickup_date": ""},
    )
    assert Order.objects.get().size == size


def test_other_measures_clear_the_chosen_size(carrier: SandboxCarrier, listed: Client, quill: Sender) -> None:
    size = factories.size(quill)
    listed.post("/parcels/new/", {**AT_HOME, "weight_kg": "9.5", "size": str(size.uuid)})
    assert Quote.objects.get().details["size"] == ""


def test_a_new_parcel_starts_with_the_default_size(listed: Client, quill: Sender) -> None:
    sizes.make_default(factories.size(quill))
    page = listed.get("/parcels/new/").content.decode()
    assert " checked>" in page.partition('name="size"')[2].partition("</label>")[0]


def test_an_entry_older_than_sizes_can_still_be_read_and_has_the_same_hash(listed: Client, quill: Sender) -> None:
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
def test_another_parcel_gets_new_prices(quill: Sender, alice: User, changed: dict[str, Any]) -> None:
    assert factories.details(quill, **changed).hash() != factories.details(quill).hash()


def test_prices_beside_the_form_follow_the_senders_rule(carrier: SandboxCarrier, listed: Client, quill: Sender) -> None:
    page = beside(listed, AT_HOME)
    cheapest = min(Quote.objects.get().products, key=lambda offer: float(offer["amount"]))
    before, _, after = page.content.decode().partition(f'value="{cheapest["code"]}"')
    assert " checked>" in after.partition("<span")[0]
    assert before.count(" checked>") == 0


def test_no_prices_are_requested_while_the_form_has_errors(carrier: SandboxCarrier, listed: Client) -> None:
    page = text(beside(listed, {**AT_HOME, "receiver_postcode": ""}))
    assert "Add the postcode to see prices." in page
    assert not Quote.objects.exists()


def test_a_pasted_address_fills_the_form_without_a_script(listed: Client) -> None:
    pasted = "Priya Nair\n4 Sample Street\ngate code 42\nBrunswick VIC 3056"
    page = listed.post(
        "/parcels/new/", {"pasted": pasted, "unpaste": "1", "weight_kg": "7"}, follow=True
    ).content.decode()
    page = " ".join(page.split())
    assert 'value="4 Sample Street"' in page
    assert "We didn't use “gate code 42”" in page
    assert 'value="7"' in page


def test_a_place_off_the_list_suggests_nearby_places_beside_the_form(carrier: SandboxCarrier, listed: Client) -> None:
    page = " ".join(beside(listed, {**AT_HOME, "receiver_postcode": "3065"}).content.decode().split())
    assert "Not on the carrier" in page
    assert 'type="radio" name="use_place" value="FITZROY|VIC|3065"' in page
    assert not Quote.objects.exists()


@pytest.mark.parametrize(
    ("changes", "given", "at"),
    [
        ({"weight_kg": "1,4"}, "one fix away Check the weight. Use a dot: 1.4. Weight needs a fix first.", "weight_kg"),
        ({"receiver_email": "foo"}, "Check the email. Enter a full email address", "receiver_email"),
        ({"receiver_postcode": "3065"}, "one fix away Check the suburb. Brunswick doesn't match", "receiver_postcode"),
        ({"receiver_postcode": "3065", "weight_kg": "x"}, "Prices are 2 fixes away", "receiver_suburb"),
    ],
)
def test_beside_the_form_the_field_to_fix_is_named_by_its_label(
    listed: Client, changes: dict[str, str], given: str, at: str
) -> None:
    typed = {**AT_HOME, **changes}
    assert given in text(beside(listed, typed))
    answer = listed.post("/parcels/new/", typed, headers=BY_SCRIPT)
    assert answer.status_code == 200  # an ordinary response, so the browser's console stays empty
    told_there = messages_at(listed.post("/parcels/new/", typed), at)
    assert [str(escape(words)) in answer.json()["errors"][at] for words in told_there] == [True]


@pytest.mark.parametrize(
    ("text_typed", "value"),
    [("3 lb 8 oz", "3.5"), ("3lb 1oz", "3.063"), ("12 oz", "0.75"), ("2 lbs", "2"), ("1.25", "1.25")],
)
def test_an_american_weight_is_written_in_pounds_and_ounces(
    carrier: SandboxCarrier, ohio: Client, text_typed: str, value: str
) -> None:
    ohio.post("/parcels/new/", {**FROM_OHIO, "weight_lb": text_typed})
    assert ParcelDetails.from_json(Quote.objects.get().details).measures.weight == Decimal(value)


@pytest.mark.parametrize(
    ("typed", "value"), [("$1,280.00", "1280.00"), ("1,280.50", "1280.50"), ("$28", "28"), ("Italy", None)]
)
def test_a_value_with_a_currency_sign_and_a_country_by_name_are_accepted(
    carrier: SandboxCarrier, listed: Client, typed: str, value: str | None
) -> None:
    changed = {"item_1_value": typed} if value else {"item_1_origin": typed}
    listed.post("/parcels/new/", {**ABROAD, **changed})
    item = ParcelDetails.from_json(Quote.objects.get().details).contents[0]
    assert (item.value == Decimal(value)) if value else (item.origin == "IT")


def test_somebody_is_found_with_and_without_accents_and_shown_with_their_street(listed: Client, quill: Sender) -> None:
    factories.saved_receiver(quill, name="Zoë Nguyễn", line1="3 Hunter St")
    for typed in ("zoe", "zoë", "ZOÉ", "nguyen"):
        [found] = listed.get("/suggest/receivers/", {"q": typed}).json()
        assert found["place"] == "Tamsin Ceramics, 3 Hunter St, HOBART 7000", typed
        assert "Zoë Nguyễn" in text(listed.get("/addresses/", {"q": typed}))
