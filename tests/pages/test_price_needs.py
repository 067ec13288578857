"""The price card names what is missing: each required field emptied in turn, in each state a form starts in."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.drafting import drafts
from orders.models import Draft, Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.parcel_form import form
from tests.pages.typed import ABROAD, AT_HOME, BY_SCRIPT, beside, text
from tests.sandbox_carrier import SandboxCarrier

NAMES = {
    "receiver_name": "the name",
    "receiver_line1": "the street",
    "receiver_suburb": "the suburb",
    "receiver_postcode": "the postcode",
    "receiver_email": "the email",
    "weight_kg": "the weight",
    "length_cm": "the length",
    "width_cm": "the width",
    "height_cm": "the height",
}
NAMES_ABROAD = NAMES | {
    "receiver_suburb": "the city",
    "receiver_postcode": "the ZIP code",
    "receiver_phone": "the phone",
    "item_1_description": "what item 1 is",
    "item_1_value": "the value of item 1",
    "item_1_origin": "where item 1 was made",
}
EACH = [pytest.param(AT_HOME, name, words, id=f"home {name}") for name, words in NAMES.items()]
EACH += [pytest.param(ABROAD, name, words, id=f"abroad {name}") for name, words in NAMES_ABROAD.items()]
SOURCES = {
    "copied": Draft.Source.COPIED,
    "corrected": Draft.Source.CORRECTED,
    "checked": Draft.Source.PRICE_CHECK,
    "reopened": Draft.Source.TYPED,
}


@pytest.fixture
def begun(listed: Client, alice: User, quill: Sender) -> Callable[[str, dict[str, Any]], str]:
    """`begun("copied", values)` is the page of a form with these values that was started that way."""

    def begin(state: str, values: dict[str, Any]) -> str:
        if state == "new":
            return "/parcels/new/"
        known: dict[str, Any] = {"source": SOURCES[state]}
        if state in {"copied", "corrected"}:
            known["origin"] = factories.order(quill, alice, status="booked")
        draft = drafts.begin(quill, alice, values, now=timezone.now(), **known)
        return f"/parcels/drafts/{draft.uuid}/"

    return begin


@pytest.mark.parametrize("state", ["new", *SOURCES])
@pytest.mark.parametrize(("values", "name", "words"), EACH)
def test_the_card_names_the_one_field_that_is_missing(
    listed: Client, begun: Callable[..., str], state: str, values: dict[str, Any], name: str, words: str
) -> None:
    left = {**values, name: ""}
    page = begun(state, left)
    before = Quote.objects.count()
    if state != "new":  # as it opens, before a script has requested anything
        assert named(text(listed.get(page))) == words
    pressed = listed.post(page, left)
    assert named(text(pressed)) == words, "after a press of See prices, without JavaScript"
    [label] = re.findall(rf'<label for="id_{name}">(.*?)</label>', pressed.content.decode(), re.S)
    assert "(optional)" not in label
    script = listed.post(page, left, headers=BY_SCRIPT).json()["html"]
    assert named(" ".join(re.sub(r"<[^>]+>", " ", script).split())) == words
    assert Quote.objects.count() == before


WITHOUT = AT_HOME | {"description": ""}


def test_prices_need_no_contents_and_the_card_asks_for_them_before_book(
    carrier: SandboxCarrier, listed: Client
) -> None:
    page = text(beside(listed, WITHOUT))
    assert "Add what's inside to book" in page
    assert "Book parcel" not in page
    assert "Book parcel" in text(beside(listed, AT_HOME))


def test_without_javascript_the_prices_lead_to_the_contents(carrier: SandboxCarrier, listed: Client) -> None:
    page = listed.post("/parcels/new/", WITHOUT, follow=True)
    assert page.redirect_chain[-1][0].endswith("/prices/")
    assert "#id_description" in page.content.decode()
    assert "Book " not in text(page).replace("Booked", "")


def test_nothing_is_booked_before_somebody_says_what_is_inside(carrier: SandboxCarrier, listed: Client) -> None:
    listed.post("/parcels/new/", WITHOUT)
    draft, quote = Draft.objects.get(), Quote.objects.get()
    answer = listed.post(f"/parcels/drafts/{draft.uuid}/prices/book/", form(quote))
    assert answer.status_code == 422
    assert "Add what's inside first. Nothing was booked." in text(answer)
    assert not Order.objects.exists()


def test_a_field_somebody_is_typing_in_is_named_without_an_error(carrier: SandboxCarrier, listed: Client) -> None:
    half = AT_HOME | {"receiver_email": "priya@", "typing": "receiver_email"}
    page = text(beside(listed, half))
    assert "Check the email to see prices." in page
    assert "Enter a full email" not in page


def test_many_empty_fields_are_named_together(listed: Client) -> None:
    page = text(listed.get("/parcels/new/"))
    assert "Add the name, the address, the email, the weight and the size to see prices." in page


def named(page: str) -> str:
    found = re.findall(r"Add ([^.]+?) to see (?:the )?prices?\.", page)
    return found[0].replace("&#x27;", "'") if len(found) == 1 else repr(found)
