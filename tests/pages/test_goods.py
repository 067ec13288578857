"""A word that may mean dangerous goods raises one question; it never stops a parcel."""

import pytest
from django.test import Client

from orders.drafting import contents_form
from orders.models import Order, Quote
from tests import factories
from tests.pages.typed import ABROAD, AT_HOME, beside, text
from tests.sandbox_carrier import SandboxCarrier


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("Torch with batteries", "batteries"),
        ("PERFUME, boxed", "PERFUME"),
        ("aerosol deodorant", "aerosol"),
        ("red nail polish", "nail polish"),
        ("hand sanitizer", "sanitizer"),
        ("brass lighter", "lighter"),
        ("camping gas", "gas"),
        ("spray paint", "spray paint"),
    ],
)
def test_a_word_raises_its_own_question(typed: str, word: str) -> None:
    assert word in [asked.word for asked in contents_form.contents_questions([typed])]


@pytest.mark.parametrize("typed", ["Ceramic mugs", "gaskets", "painting by hand", "", "enlightertainment", "glued box"])
def test_a_longer_word_that_contains_one_raises_no_question(typed: str) -> None:
    assert contents_form.contents_questions([typed]) == []


def test_every_word_has_one_question_that_says_what_cannot_be_sent() -> None:
    words = [word for group in contents_form.QUESTIONS.values() for word in group]
    assert len(words) == len(set(words))
    assert all("?" in question and "can't go" in question for question in contents_form.QUESTIONS)


@pytest.mark.django_db
def test_the_question_shows_with_the_prices_and_the_parcel_is_booked(carrier: SandboxCarrier, listed: Client) -> None:
    page = listed.post("/parcels/new/", {**AT_HOME, "description": "Torch, batteries"}, follow=True)
    assert "You wrote “batteries”. Is it inside its device?" in text(page)
    assert 'href="/help/dangerous-goods/">What counts as dangerous' in page.content.decode()
    quote = Quote.objects.get()
    chosen = {"form_token": quote.uuid, "product": "STANDARD-PICKUP", "pickup_date": ""}
    assert listed.post(f"{factories.prices_of(quote)}book/", chosen).status_code == 302
    assert Order.objects.exists()


@pytest.mark.django_db
def test_contents_of_a_parcel_abroad_are_asked_about_too(carrier: SandboxCarrier, listed: Client) -> None:
    typed = {**ABROAD, "item_1_description": "Perfume, 50 ml"}
    page = beside(listed, typed)
    assert "You wrote “Perfume”. Does it contain alcohol?" in text(page)
