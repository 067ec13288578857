"""How a typed parcel and an earlier entry are read."""

from decimal import Decimal
from typing import Any

import pytest
from django.http import QueryDict

from orders.drafting import forms
from orders.drafting import parcel_details as entries
from orders.drafting.forms import ParcelForm
from shipping_portal.accounts.models import LocalityAlias, PickupAddress, Sender
from shipping_portal.carrier.messages import Item, Measures, Party
from shipping_portal.importing import checking
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines, text_of

pytestmark = pytest.mark.django_db
HOME = {
    "receiver_name": "Noor Haddad", "receiver_line1": "5 Main Road", "receiver_suburb": "Hobart",
    "receiver_state": "TAS", "receiver_postcode": "7000", "receiver_country": "AU",
    "receiver_email": "noor@example.com", "receiver_phone": "0491 570 156", "description": "Books",
    "weight_kg": "1.2", "length_cm": "30", "width_cm": "20", "height_cm": "10",
}  # fmt: skip
ABROAD = {"receiver_country": "NZ", "receiver_suburb": "Auckland", "receiver_state": "", "receiver_postcode": "1010",
"receiver_phone": "+64 21 123 4567", "item_1_description": "Book",
          "item_1_value": "9.50", "item_1_quantity": "2", "item_1_origin": "au",
          "item_1_hs_code": "4901.10"}  # fmt: skip
ODD: tuple[dict[str, str], ...] = (
    {}, {"receiver_name": ""}, {"receiver_name": "x" * 121}, {"receiver_name": "Дом"},
    {"receiver_company": "NOOR haddad"}, {"receiver_company": "Haddad Pty"}, {"receiver_country": ""},
    {"receiver_country": "au"},
    {"receiver_country": "XX"}, {"receiver_line1": ""}, {"receiver_line1": "5 Main Road, Hobart TAS"},
    {"receiver_line2": "Unit 3, Hobart"}, {"receiver_line1": "x" * 41}, {"receiver_line1": "x" * 256},
    {"receiver_suburb": ""}, {"receiver_suburb": "HOBART "}, {"receiver_suburb": "Hobarrt"},
    {"receiver_suburb": "Nowhere"}, {"receiver_postcode": "7001"}, {"receiver_postcode": ""},
    {"receiver_postcode": "3065"},
    {"receiver_suburb": "Darwin", "receiver_postcode": "800", "receiver_state": ""}, {"receiver_suburb": "Fitzroy",
    "receiver_postcode": "3056", "receiver_state": "VIC"}, {"receiver_state": "VIC"}, {"receiver_state": ""},
    {"receiver_email": ""}, {"receiver_email": "x"}, {"receiver_email": "é@example.com"},
    {"receiver_email": "noor@exämple.com"}, {"receiver_phone": ""},
    {"receiver_phone": "1300 555 123"}, {"receiver_phone": "123"}, {"receiver_phone": "+64 21 123 4567"},
    {"description": ""}, {"description": "d" * 301}, {"weight_kg": ""}, {"weight_kg": "0"}, {"weight_kg": "0.001"},
    {"weight_kg": "1,2"}, {"weight_kg": "1.2345"}, {"weight_kg": "9999.999"}, {"weight_kg": "10000"},
    {"weight_kg": "-1"}, {"weight_kg": "1e3"}, {"weight_kg": "٣"}, {"weight_kg": " 1.20 "}, {"length_cm": "x"},
    {"height_cm": ""}, {"customer_reference": "R" * 256}, {"customer_reference": " R 1 "},
    {"cover_amount": "0"}, {"cover_amount": "1500"}, {"cover_amount": "1500.01"}, {"cover_amount": "12.345"},
    {"cover_amount": "1,000"}, {"delivery_choice": "signature"}, {"delivery_place": "porch"},
    {"delivery_choice": "authority_to_leave", "delivery_place": "porch"}, {"delivery_choice": "signature",
    "delivery_place": "p" * 177}, {"delivery_choice": "signature", "delivery_place": "p" * 178},
    {"delivery_choice": "x"},
    ABROAD, ABROAD | {"receiver_phone": ""}, ABROAD | {"item_1_description": "", "item_1_value": "",
    "item_1_hs_code": "", "item_1_origin": ""}, ABROAD | {"item_1_value": "0"}, ABROAD | {"item_1_value": "100000"},
    ABROAD | {"item_1_value": ""}, ABROAD | {"item_1_quantity": "0"}, ABROAD | {"item_1_quantity": "1.5"},
    ABROAD | {"item_1_quantity": ""}, ABROAD | {"item_1_origin": "XX"}, ABROAD | {"item_1_origin": "Australia"},
    ABROAD | {"item_1_hs_code": "49011"}, ABROAD | {"item_1_hs_code": "4901101234"},
    ABROAD | {"item_1_hs_code": "49011012345"}, ABROAD | {"item_1_hs_code": ""}, ABROAD | {"item_2_value": "3"},
    ABROAD | {"item_5_description": "Pen", "item_5_value": "1", "item_5_quantity": "1", "item_5_origin": "CN",
    "item_5_hs_code": "960810"},
    ABROAD | {"contents_type": "Gift"}, ABROAD | {"contents_type": "Stuff"}, ABROAD | {"receiver_postcode": ""},
    ABROAD | {"receiver_country": "HK", "receiver_postcode": ""}, ABROAD | {"receiver_country": "GB",
    "receiver_postcode": "sw1a 1aa"},
    ABROAD | {"receiver_country": "US", "receiver_suburb": "Portland", "receiver_postcode": "97205-1234",
    "receiver_phone": "+1 503 555 0123"}, ABROAD | {"receiver_country": "US", "receiver_suburb": "Salem",
    "receiver_postcode": "97205"},
)  # fmt: skip


@pytest.fixture
def address(localities: None) -> PickupAddress:
    LocalityAlias.objects.create(word="FTZ", stands_for="FITZROY")
    return PickupAddress(
        name="Quill",
        email="q@quill.example",
        line1="1 A St",
        suburb="FITZROY",
        state="VIC",
        postcode="3065",
        country="AU",
    )


def typed(what: dict[str, str], address: PickupAddress, plain: dict[str, Any]) -> str:
    form = ParcelForm(HOME | what, sender=Sender(pk=1, country="AU"), address=address)
    if not form.is_valid():
        near = [f"{one.suburb} {one.postcode}" for one in form.near]
        said = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in form.errors.items())
        return f"{said} {near} {checking.restore_zeros(form)}"
    cleaned = {name: value for name, value in form.cleaned_data.items() if plain.get(name, "") != value}
    return f"{text_of(cleaned)} {form.details().may_prepay_duties}"


def test_a_typed_parcel_is_read_as_expected(address: PickupAddress) -> None:
    form = ParcelForm(HOME, sender=Sender(pk=1, country="AU"), address=address)
    assert form.is_valid()
    plain = form.cleaned_data
    said = [{name: text for name, text in what.items() if text != ABROAD.get(name)} for what in ODD]
    rows = [f"{text_of(name)} -> {typed(what, address, plain)}" for name, what in zip(said, ODD, strict=True)]
    compare("reads-parcels", [text_of(form.details()), *rows])


BOX = Measures(Decimal("2.5"), "lb", Decimal("10.5"), Decimal(4), Decimal("0.01"), "in")
ENTRY = entries.ParcelDetails(
    Party(country="AU", phone="0491 570 156"),
    Party(country="NZ", phone="021 123 4567"),
    BOX,
    "Books",
    (Item("Book", Decimal("9.50"), 2, "AU", "4901.10.1234"),),
    "Gift",
    Decimal("5.00"),
    "R",
)


def metric(weight: str, unit: str, side: str, size: str) -> Any:
    return entries.in_metric(Measures(Decimal(weight), unit, Decimal(side), Decimal(1), Decimal(1), size))


def test_an_earlier_entry_and_its_buttons_are_read_as_expected() -> None:
    again, other = (entries.ParcelDetails.from_json(ENTRY.to_json() | more) for more in ({}, {"size": "x"}))
    presses = [
        "receiver_company=A&x=1", "receiver_company=A&clear_company=", "use_place=A|VIC|3065&receiver_suburb=B",
        "use_place=A|B", "use_place=&clear_company=1",
    ]  # fmt: skip
    measures = [
        ("1", "lb", "1", "in"),
        ("1.23456", "kg", "1.2345", "cm"),
        ("1", "oz", "0.333", "in"),
        ("5", "g", "10", "cm"),
    ]
    days = ["2026-11-24", "2026-02-30", "24/11/2026", "20261124", "2026-11-24T00:00", "2026-W48-1", ""]
    compare(
        "reads-entries",
        [
            text_of(ENTRY.to_json()),
            f"{again == ENTRY}, {other.hash() == ENTRY.hash()}, {ENTRY.may_prepay_duties}, {ENTRY.hash()}",
            text_of(ENTRY.shipment(product_code="X", order_key="k")),
            *lines(metric, measures),
            *lines(lambda text: forms.after_presses(QueryDict(text)).urlencode(), presses, "after_presses"),
            *lines(forms.DayField(required=False).clean, days, "a day"),
            *(text_of(forms.initial_from(ENTRY, Sender(country=country))) for country in ("AU", "US")),
        ],
    )  # fmt: skip
