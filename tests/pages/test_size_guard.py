"""The size guard on the pages: it warns before booking, one click accepts the weight or ignores it, and nothing typed is
lost.
"""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.drafting.parcel_details import ParcelDetails
from orders.models import Draft, Order, Quote
from shipping_portal.accounts.models import ParcelSize, Sender, User
from tests import factories
from tests.pages.typed import AT_HOME, FROM_OHIO, beside, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

WORDS = "Last 3 of 5 “Shoebox” parcels were measured at 1.3 kg. You're declaring 1 kg, which may add a charge later."


def billed(of: Sender, by: User, size: ParcelSize, measured: str = "") -> None:
    order = factories.order(of, by, status="booked", size=size, weight_kg=Decimal(1))
    factories.charge(order)
    if measured:
        factories.charge(order, "under-declared", "4.13", measured_kg=Decimal(measured))


@pytest.fixture
def shoebox(quill: Sender, alice: User) -> ParcelSize:
    """A size whose last five parcels include three measured at 1.3 kg."""
    size = factories.size(quill, name="Shoebox", weight=Decimal(1))
    for measured in ("1.3", "", "1.3", "", "1.3"):
        billed(quill, alice, size, measured)
    return size


@pytest.fixture
def typed(shoebox: ParcelSize) -> dict[str, Any]:
    return {**AT_HOME, "weight_kg": "1", "size": str(shoebox.uuid), "customer_reference": "PO-77"}


def link(answer: Any, words: str) -> str:
    """Return where the link with these words leads."""
    found = re.search(rf'<a[^>]* href="([^"]*)"[^>]*>{words}', answer.content.decode())
    assert found, words
    return found[1].replace("&amp;", "&")


def pressed(answer: Any) -> str:
    """Return what pressing “use the measured weight” sends."""
    found = re.search(r'name="use_weight" value="([^"]*)"', answer.content.decode())
    assert found
    return found[1]


def weight_of(answer: Any) -> Decimal:
    quote = Draft.objects.get(uuid=answer.redirect_chain[-1][0].split("/")[3]).quote
    assert quote
    return ParcelDetails.from_json(quote.details).measures.weight


def test_the_prices_page_says_what_the_sizes_parcels_weighed(
    carrier: SandboxCarrier, listed: Client, typed: dict[str, Any]
) -> None:
    page = listed.post("/parcels/new/", typed, follow=True)
    assert WORDS in text(page)
    assert "Use 1.3 kg Keep 1 kg" in text(page)
    assert "Book" in text(page), "nobody is held up"


def test_the_warning_shows_beside_the_form_too(carrier: SandboxCarrier, listed: Client, typed: dict[str, Any]) -> None:
    part = beside(listed, typed)
    assert WORDS in text(part)
    assert 'data-use-weight="1.3"' in part.content.decode()
    kept = {**typed, "kept": typed["size"]}
    assert "measured at" not in text(beside(listed, kept))


def test_one_click_accepts_the_measured_weight_without_javascript(
    carrier: SandboxCarrier, listed: Client, typed: dict[str, Any]
) -> None:
    page = listed.post("/parcels/new/", typed, follow=True)
    taken = listed.post(page.redirect_chain[-1][0], {"use_weight": pressed(page)}, follow=True)
    assert weight_of(taken) == Decimal("1.30")
    assert "1.3 kg, 32 × 24 × 11 cm" in text(taken)
    assert "measured at" not in text(taken)
    again = listed.get(link(taken, "Edit")).content.decode()
    for value in ('value="1.3', 'value="PO-77"', 'value="Priya Nair"', 'value="4 Sample Street"'):
        assert value in again


def test_the_declared_weight_is_kept_and_the_warning_does_not_repeat_in_this_form(
    carrier: SandboxCarrier, listed: Client, typed: dict[str, Any], shoebox: ParcelSize
) -> None:
    page = listed.post("/parcels/new/", typed, follow=True)
    prices = page.redirect_chain[-1][0]
    kept = listed.post(prices, {"kept": str(shoebox.uuid)}, follow=True)
    assert "measured at" not in text(kept)
    form = listed.get(link(kept, "Edit"))
    assert f'name="kept" value="{shoebox.uuid}"' in form.content.decode()
    changed = {**typed, "receiver_name": "Noor Tamsin", "kept": str(shoebox.uuid)}
    missed = listed.post("/parcels/new/", {**changed, "receiver_email": ""})
    assert f'name="kept" value="{shoebox.uuid}"' in missed.content.decode()
    priced = listed.post("/parcels/new/", changed, follow=True)
    assert "measured at" not in text(priced)
    checked = listed.post(priced.redirect_chain[-1][0], follow=True)
    assert "measured at" not in text(checked)
    assert weight_of(checked) == 1


def test_the_kept_weight_cannot_inject_html(listed: Client, quill: Sender, alice: User) -> None:
    prices = factories.prices_of(factories.quote(quill, alice))
    page = listed.post(prices, {"kept": '"><b>&x=1'}, follow=True).content.decode()
    form = listed.get(prices.removesuffix("prices/")).content.decode()
    for body in (page, form):
        assert "<b>&x" not in body


def test_an_american_sender_sees_pounds_and_packages(carrier: SandboxCarrier, ohio: Client) -> None:
    owner = User.objects.get(email="uma@parts.example")
    business = owner.membership.sender
    sides = {"length": Decimal(10), "width": Decimal(6), "height": Decimal(4)}
    size = factories.size(
        business, name="Bolts", weight=Decimal("2.5"), weight_units="lb", dimension_units="in", **sides
    )
    for measured in ("1.3", "1.4"):
        billed(business, owner, size, measured)
    page = ohio.post("/parcels/new/", {**FROM_OHIO, "weight_lb": "2.5", "size": str(size.uuid)}, follow=True)
    assert "Last 2 “Bolts” packages were measured at about 3.09 lb. You're declaring 2.5 lb" in text(page)


def test_a_parcel_booked_from_this_page_shows_no_warning(
    carrier: SandboxCarrier, listed: Client, typed: dict[str, Any]
) -> None:
    page = listed.post("/parcels/new/", typed, follow=True)
    quote = Quote.objects.latest("pk")
    code = quote.products[0]["code"]
    listed.post(f"{factories.prices_of(quote)}book/", {"product": code, "form_token": str(quote.uuid)})
    assert Order.objects.filter(form_token=quote.uuid).exists()
    assert "measured at" not in text(listed.get(page.redirect_chain[-1][0]))


def test_the_sizes_page_counts_what_was_charged_and_says_what_is_typical(
    listed: Client, quill: Sender, alice: User, shoebox: ParcelSize
) -> None:
    factories.size(quill, name="Unused")
    page = text(listed.get("/sizes/"))
    assert "5 parcels 3 of 5 60% under-declared 1.3 kg" in page
    assert "Not yet – –" in page


def test_the_guard_takes_the_same_number_of_queries_with_many_parcels(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User, typed: dict[str, Any], shoebox: ParcelSize
) -> None:  # fmt: skip
    page = listed.post("/parcels/new/", typed, follow=True).redirect_chain[-1][0]
    found = []
    for more in (0, 3, 30):
        for _ in range(more):
            billed(quill, alice, shoebox, "1.3")
        for url in (page, "/sizes/"):
            with CaptureQueriesContext(connection) as seen:
                listed.get(url)
            found.append(len(seen))
    assert found[:2] == found[2:4] == found[4:]
    assert max(found) <= 14
