"""The receiver's address uses the terms of the receiver's country, whatever the sender's is."""

import datetime as dt
import json
import re
import uuid
from collections.abc import Callable
from html import unescape

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.drafting.parcel_details import ParcelDetails
from orders.views.replace import changed
from shipping_portal.accounts.models import LocalityList, Sender, User
from tests import factories
from tests.catalogue.meddling import Meddler
from tests.pages.place_words import ASKED, LABELS, PLACE
from tests.pages.refusing import no
from tests.pages.typed import AT_HOME, FROM_OHIO, messages_at, text

pytestmark = pytest.mark.django_db

OTTAWA = {"receiver_country": "CA", "receiver_suburb": "Ottawa", "receiver_state": "ON", "receiver_postcode": "K1P 5M7"}
IN_OTTAWA = {name.removeprefix("receiver_"): value for name, value in OTTAWA.items()}


def labels(answer: HttpResponse) -> tuple[str, ...]:
    """Return what the page calls the parts of the receiver's address, whichever form is on it."""
    found = dict(re.findall(r'<label for="[^"]*(receiver_\w+)">([^<]*)', answer.content.decode()))
    return tuple(unescape(found[name]).strip() for name in PLACE)


@pytest.mark.parametrize("country", LABELS)
@pytest.mark.parametrize("page", ["/parcels/new/", "/addresses/new/"])
def test_an_empty_address_uses_the_words_of_its_country(ohio: Client, page: str, country: str) -> None:
    answer = ohio.post(page, {"receiver_country": country})
    suburb, postcode, hint = ASKED[country]
    assert labels(answer) == LABELS[country]
    assert (messages_at(answer, PLACE[0]), messages_at(answer, PLACE[2])) == ([suburb], [postcode])
    assert hint in text(answer)


@pytest.mark.parametrize(
    ("country", "state"), [("AU", "Enter the state."), ("CA", "Enter the province."), ("US", "Enter the state.")]
)
def test_without_a_list_of_places_the_state_is_asked_for_by_its_name(ohio: Client, country: str, state: str) -> None:
    LocalityList.objects.all().delete()
    typed = {**FROM_OHIO, **OTTAWA, "receiver_country": country, "receiver_state": ""}
    assert messages_at(ohio.post("/parcels/new/", typed), "receiver_state") == [state]


@pytest.mark.parametrize(
    ("country", "suburb", "postcode", "part"),
    [
        ("AU", "Hobart", "7000", "suburb"),
        ("CA", "Ottawa", "K1P 5M7", "city"),
        ("US", "Portland", "97205", "city"),
        ("GB", "London", "SW1A 1AA", "town or city"),
        ("FR", "Lyon", "69001", "city"),
    ],
)
def test_a_line_that_repeats_the_place_names_the_field_by_its_label(
    ohio: Client, country: str, suburb: str, postcode: str, part: str
) -> None:
    place = {
        "receiver_state": "",
        "receiver_country": country,
        "receiver_suburb": suburb,
        "receiver_postcode": postcode,
    }
    typed = {**FROM_OHIO, **place, "receiver_line2": f"Floor 2, {suburb}"}
    seen = messages_at(ohio.post("/parcels/new/", typed), "receiver_line2")
    assert seen == [f"Leave out “{suburb}” here. It's printed from the {part} field."]


def known(sender: Sender, by: User) -> str:
    return f"/parcels/new/?receiver={factories.saved_receiver(sender, **IN_OTTAWA).uuid}"


def kept(sender: Sender, by: User) -> str:
    return f"/addresses/{factories.saved_receiver(sender, **IN_OTTAWA).uuid}/"


def drafted(sender: Sender, by: User) -> str:
    return f"/parcels/drafts/{factories.draft(sender, by, **OTTAWA).uuid}/"


def to_ottawa(sender: Sender) -> ParcelDetails:
    return factories.details(sender, receiver=factories.receiver(**IN_OTTAWA))


def priced(sender: Sender, by: User) -> str:
    return f"/parcels/new/?quote={factories.quote(sender, by, parcel=to_ottawa(sender)).uuid}"


def again(sender: Sender, by: User) -> str:
    return f"/parcels/new/?again={factories.order(sender, by, status='booked', **OTTAWA).uuid}"


def replaced(sender: Sender, by: User) -> str:
    return f"/parcels/{factories.order(sender, by, status='booked', **OTTAWA).uuid}/replace/"


def row(sender: Sender, by: User) -> str:
    made = factories.import_row(sender, by, corrected=OTTAWA, problems={"receiver_name": ["Look here."]})
    return reverse("import_row", args=[made.file.uuid, made.pk])


@pytest.mark.parametrize("way", [known, kept, drafted, priced, again, replaced, row])
def test_an_address_known_already_is_shown_in_the_words_of_its_country(
    listed: Client, quill: Sender, alice: User, way: Callable[[Sender, User], str]
) -> None:
    assert labels(listed.get(way(quill, alice), follow=True)) == LABELS["CA"]


@pytest.mark.parametrize("page", ["/parcels/new/", "replace"])
def test_a_pasted_address_uses_the_words_of_its_country(listed: Client, quill: Sender, alice: User, page: str) -> None:
    url = replaced(quill, alice) if page == "replace" else page
    pasted = "Claire Roy\n4 Sample Street\nOttawa ON K1P 5M7\nCanada"
    answer = listed.post(url, {**AT_HOME, "receiver_country": "HK", "pasted": pasted, "unpaste": "1"}, follow=True)
    assert labels(answer) == LABELS["CA"]
    assert "Postal code (optional)" not in text(answer)  # as it was with Hong Kong


@pytest.mark.parametrize("page", [known, kept, replaced, row])
def test_the_page_has_the_words_of_every_country_for_its_script(
    listed: Client, quill: Sender, alice: User, page: Callable[[Sender, User], str]
) -> None:
    body = listed.get(page(quill, alice), follow=True).content.decode()
    found = re.search(r'<form[^>]* data-words="([^"]*)"', body)
    assert found
    seen = json.loads(unescape(found[1]))
    for country, said in LABELS.items():
        words = seen.get(country, seen[""])
        assert tuple(words[name] for name in PLACE) == said
        assert words["hint"].endswith(ASKED[country][2])


REFUSED = {"receiver_postcode": ["is unknown"], "receiver_state": ["is none"], "sender_postcode": ["is old"]}
SAID = ["Postal code: is unknown.", "Province: is none.", "Pickup address, Postcode: is old."]


@pytest.mark.parametrize("refuses", ["book", "quote"])
def test_a_refusal_names_each_end_in_the_words_of_its_own_country(
    line: Meddler, quill: Sender, alice: User, refuses: str
) -> None:
    parcel = factories.abroad(quill, receiver=factories.receiver(**IN_OTTAWA))
    order = bookings.submit(
        quote=factories.quote(quill, alice, parcel=parcel), code="STANDARD-PICKUP", by=alice,
        form_token=uuid.uuid4(), pickup_date=None, now=timezone.now(),
    )  # fmt: skip
    if refuses == "quote":
        order.change(quoted_at=timezone.now() - dt.timedelta(days=2))
    line.says(refuses, no(REFUSED))
    bookings.process_booking(order.pk)
    order.refresh_from_db()
    assert order.problem["said"] == SAID


def test_a_refusal_shows_at_the_field_in_the_words_of_its_label(listed: Client, quill: Sender, alice: User) -> None:
    problem = {"text": SAID[0], "said": SAID, "fields": REFUSED}
    order = factories.order(quill, alice, status="rejected", problem=problem, **OTTAWA)
    form = listed.get(f"/parcels/new/?again={order.uuid}", follow=True)
    assert SAID[0] in messages_at(form, "receiver_postcode")
    assert messages_at(form, "receiver_state") == [SAID[1]]
    assert SAID[2] in text(form)


@pytest.mark.parametrize("page", ["prices", "replacement"])
def test_refused_prices_use_the_words_of_the_receivers_country(
    line: Meddler, listed: Client, quill: Sender, alice: User, page: str
) -> None:
    old = factories.quote(quill, alice, parcel=to_ottawa(quill), at=timezone.now() - dt.timedelta(days=2))
    url, typed = factories.prices_of(old), {}
    if page == "replacement":
        url = f"/parcels/{factories.order(quill, alice, status='booked').uuid}/replace/{old.uuid}/"
        typed = {"product": "STANDARD-PICKUP", "form_token": str(uuid.uuid4())}
    line.says("quote", no(REFUSED))
    assert " ".join(SAID) in text(listed.post(url, typed, follow=True))


def test_what_a_fix_changes_is_named_in_the_words_of_the_new_country(quill: Sender, alice: User) -> None:
    before = factories.details(quill)
    names = [what for what, _, _ in changed(before, to_ottawa(quill))]
    assert names == ["City", "Province", "Postal code", "Country"]
