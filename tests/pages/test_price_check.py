"""A price by suburb or postcode, size and weight alone: nobody's name, nothing to book."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import booking_rules
from orders.drafting import drafts, sizes
from orders.models import Draft, Quote
from shipping_portal.accounts.models import Locality, Sender
from tests import factories
from tests.pages.typed import messages_at, text, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
MEASURES = {"weight_kg": "1.2", "length_cm": "30", "width_cm": "20", "height_cm": "10"}
UNKNOWN = "“Nowhere” isn't on the carrier's list. Check the spelling, or try the postcode."


def check(page: Client, **typed: str) -> Any:
    return page.post("/prices/", {**MEASURES, **typed}, follow=True)


@pytest.mark.parametrize("place", ["3056", "Brunswick", "brunswick vic 3056"[:9], "3056 Brunswick"])
def test_a_place_by_its_name_or_its_postcode_has_prices(carrier: SandboxCarrier, listed: Client, place: str) -> None:
    answer = check(listed, place=place)
    assert answer.redirect_chain[-1][1] == 302
    assert "To Brunswick VIC 3056" in text(answer)
    assert "$" in text(answer)
    assert "Book" not in text(answer).replace("Nothing is booked", "")


def test_a_postcode_of_several_suburbs_names_the_one_it_used(carrier: SandboxCarrier, listed: Client) -> None:
    known = Locality.objects.get(suburb="BRUNSWICK")
    Locality.objects.create(
        list=known.list,
        country="AU",
        suburb="BRUNSWICK WEST",
        state="VIC",
        postcode="3056",
        normalised="brunswick west",
    )
    answer = check(listed, place="3056")
    assert "3056 has 2 suburbs. These prices are for Brunswick." in text(answer)


def test_a_default_size_leaves_only_the_place_to_type(carrier: SandboxCarrier, listed: Client, quill: Sender) -> None:
    size = factories.size(quill)
    sizes.make_default(size)
    assert f'value="{size.uuid}"' in listed.get("/prices/").content.decode()
    answer = listed.post("/prices/", {"place": "3056", "size": str(size.uuid)}, follow=True)
    assert "To Brunswick VIC 3056" in text(answer)


@pytest.mark.parametrize(
    ("changes", "name", "told"),
    [
        ({"place": ""}, "place", "Enter where it goes."),
        (
            {"place": "Nowhere"},
            "place",
            "“Nowhere” isn't on the carrier's list. Check the spelling, or try the postcode.",
        ),
        ({"place": "3056", "weight_kg": "1,2"}, "weight_kg", "Use a dot: 1.2."),
    ],
)
def test_what_is_wrong_is_told_at_its_field(listed: Client, changes: dict[str, str], name: str, told: str) -> None:
    answer = check(listed, **changes)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [told]


def test_a_checked_price_is_booked_by_nobody_and_becomes_a_parcel(carrier: SandboxCarrier, listed: Client) -> None:
    check(listed, place="3056")
    quote = Quote.objects.get()
    with pytest.raises(booking_rules.ServiceNotOffered):
        booking_rules.bookable_offer(quote, quote.products[0]["code"], None, timezone.now())
    draft = Draft.objects.get()
    assert listed.get(f"/parcels/drafts/{draft.uuid}/prices/")["Location"] == f"/prices/{draft.uuid}/"
    assert not drafts.listed(draft.made_by).exists()
    form = listed.get(f"/parcels/drafts/{draft.uuid}/")
    assert [value_of(form, name) for name in ("receiver_suburb", "weight_kg")] == ["BRUNSWICK", "1.2"]


def test_another_accounts_price_is_not_found(listed: Client, bob: Any) -> None:
    theirs = factories.draft(bob.membership.sender, bob)
    assert listed.get(f"/prices/{theirs.uuid}/").status_code == 404
    assert listed.get(f"/prices/{uuid.uuid4()}/").status_code == 404
