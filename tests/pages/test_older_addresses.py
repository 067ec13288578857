"""Open pages of the previous version, and bookmarks: each address leads to a draft."""

from typing import Any

import pytest
from django.test import Client

from orders.models import Draft, Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import AT_HOME, BY_SCRIPT, text, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


@pytest.fixture
def quote(quill: Sender, alice: User) -> Quote:
    return factories.quote(quill, alice)


def pressed(quote: Quote) -> dict[str, Any]:
    return {"form_token": quote.uuid, "product": factories.OFFER["code"], "pickup_date": ""}


def test_a_bookmark_of_prices_makes_one_draft_however_often_it_is_opened(listed: Client, quote: Quote) -> None:
    for _ in range(2):
        answer = listed.get(f"/parcels/new/{quote.uuid}/")
        draft = Draft.objects.get()
        assert answer["Location"] == f"/parcels/drafts/{draft.uuid}/prices/"
    assert draft.quote == quote
    assert "Prices for Noor Tamsin" in text(listed.get(answer["Location"]))
    assert value_of(listed.get(f"/parcels/drafts/{draft.uuid}/"), "receiver_line1") == "4 Sample Street"


def test_book_on_a_page_still_open_books_once(listed: Client, quote: Quote) -> None:
    for _ in range(2):
        answer = listed.post(f"/parcels/new/{quote.uuid}/book/", pressed(quote))
        assert answer["Location"] == f"/parcels/{Order.objects.get().uuid}/booking/"


def test_the_button_of_a_correction_still_open_cancels(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User, quote: Quote
) -> None:
    order = factories.order(quill, alice, status="booked")
    address = f"/parcels/{order.uuid}/replace/{quote.uuid}/"
    assert f"Cancel {order} and book again, $" in text(listed.get(address, follow=True))
    assert listed.post(address, pressed(quote))["Location"] == f"/parcels/{order.uuid}/replacing/"
    assert Draft.objects.get().origin == order


@pytest.mark.parametrize("address", ["/parcels/drafts/", "/parcels/new/prices/"])
def test_a_script_still_open_saves_and_gets_prices(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User, address: str
) -> None:
    draft = factories.draft(quill, alice)
    answer = listed.post(address, {**AT_HOME, "draft": str(draft.uuid)}, headers=BY_SCRIPT).json()
    assert (answer["draft"], answer["errors"]) == (str(draft.uuid), {})
    assert "Book " in answer["html"]
    draft.refresh_from_db()
    assert draft.values["receiver_line1"] == AT_HOME["receiver_line1"]


def test_a_link_to_a_draft_leads_to_its_own_address(listed: Client, quill: Sender, alice: User) -> None:
    draft = factories.draft(quill, alice)
    assert listed.get(f"/parcels/new/?draft={draft.uuid}")["Location"] == f"/parcels/drafts/{draft.uuid}/"
