"""The same box to the same person within two hours: the portal asks once before booking it again."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Draft, Order, Quote
from orders.views import quotes
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.parcel_form import form
from tests.pages.typed import AT_HOME, beside, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
Press = Callable[..., Any]


@pytest.fixture
def duplicate(quill: Sender, alice: User) -> Order:
    """A parcel booked fourteen minutes ago to Noor Tamsin, who is in every quote of the factories."""
    at = timezone.now() - dt.timedelta(minutes=14)
    return factories.order(quill, alice, status="booked", carrier_reference="S7K2QX", created_at=at)


@pytest.fixture
def press(alice: User, quill: Sender, visit: Visit) -> Press:
    """Book one offer of a new quote."""
    page = visit(alice)

    def pressed(quote: Quote | None = None, **changes: Any) -> Any:
        quote = quote or factories.quote(quill, alice)
        chosen = {"product": "STANDARD-PICKUP", "pickup_date": "", "form_token": str(quote.uuid), **changes}
        return page.post(f"{factories.prices_of(quote)}book/", chosen)

    return pressed


def test_a_second_parcel_needs_one_more_click_on_the_same_page(duplicate: Order, press: Press) -> None:
    answer = press()
    assert answer.status_code == 409
    assert "You booked S7K2QX to Noor Tamsin 14 min ago. Book another?" in text(answer)
    assert Order.objects.count() == 1
    body = answer.content.decode()
    assert "Book another, $12.08" in text(answer)
    assert 'name="another" value="yes"' in body
    assert press(another="yes").status_code == 302
    assert Order.objects.count() == 2


def test_a_press_that_was_faster_is_asked_about(
    duplicate: Order, press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither press saw the other's order yet when it checked: the sender's lock decides."""
    monkeypatch.setattr(quotes, "_may_be_duplicate", lambda *asked: False)
    answer = press()
    assert (answer.status_code, Order.objects.count()) == (409, 1)
    assert "Book another?" in text(answer)
    assert press(another="yes").status_code == 302


def test_the_question_is_also_shown_before_book_is_pressed(
    duplicate: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    page = visit(alice).get(factories.prices_of(factories.quote(quill, alice)))
    assert "You booked S7K2QX to Noor Tamsin 14 min ago. Book another?" in text(page)
    assert 'name="another"' not in page.content.decode()


def test_the_chosen_pickup_day_is_kept_after_the_question(
    duplicate: Order, press: Press, quill: Sender, alice: User
) -> None:
    body = press().content.decode()
    day = body.partition('name="pickup_date" value="2')[2][:9]
    asked = " ".join(press(pickup_date=f"2{day}").content.decode().split())
    assert f'name="pickup_date" value="2{day}" checked' in asked
    assert 'name="pickup_date" value="" checked' not in asked


@pytest.mark.parametrize("status", ["booking", "unconfirmed", "conflict", "booked"])
def test_a_booking_in_progress_or_unclear_counts(quill: Sender, alice: User, press: Press, status: str) -> None:
    factories.order(quill, alice, status=status)
    answer = press()
    assert answer.status_code == 409
    assert "Book another?" in text(answer)


@pytest.mark.parametrize("status", ["draft", "rejected", "not_booked", "cancelling", "cancelled"])
def test_a_parcel_not_booked_or_cancelled_asks_nothing(quill: Sender, alice: User, press: Press, status: str) -> None:
    factories.order(quill, alice, status=status)
    assert press().status_code == 302


@pytest.mark.parametrize(
    "differs",
    [
        {"receiver_name": "Greta Lindqvist"},
        {"receiver_line1": "1 Other Road"},
        {"weight_kg": "9.1"},
        {"submitted_at": timezone.now() - dt.timedelta(hours=2, minutes=1)},
    ],
    ids=lambda differs: next(iter(differs)),
)
def test_another_person_place_size_or_day_asks_nothing(duplicate: Order, press: Press, differs: dict[str, Any]) -> None:
    Order.objects.filter(pk=duplicate.pk).update(**differs)
    assert press().status_code == 302


def test_capitals_and_another_order_number_are_still_the_same_person(duplicate: Order, press: Press) -> None:
    Order.objects.update(receiver_name="NOOR TAMSIN", customer_reference="PO-99", description="other things")
    assert press().status_code == 409


def test_another_accounts_parcels_ask_nothing(duplicate: Order, bob: User, visit: Visit) -> None:
    own = factories.quote(bob.membership.sender, bob)
    chosen = {"product": "STANDARD-PICKUP", "pickup_date": "", "form_token": str(own.uuid)}
    assert visit(bob).post(f"{factories.prices_of(own)}book/", chosen).status_code == 302


def test_a_form_sent_again_leads_to_its_own_order(duplicate: Order, press: Press, quill: Sender, alice: User) -> None:
    quote = factories.quote(quill, alice)
    first = press(quote, another="yes")
    assert press(quote)["Location"] == first["Location"]
    other = press(factories.quote(quill, alice), form_token=str(uuid.uuid4()))
    assert other.status_code == 409


def booked_draft(sender: Sender, person: User, status: str) -> str:
    """Return the address of a draft whose booking came to this status."""
    draft = factories.draft(sender, person)
    Draft.objects.filter(pk=draft.pk).update(order=factories.order(sender, person, status=status), values={})
    return f"/parcels/drafts/{draft.uuid}/"


@pytest.mark.parametrize("status", ["booking", "booked", "unconfirmed", "cancelling"])
def test_typing_on_after_a_colleague_booked_the_draft_asks_before_a_second_parcel_is_booked(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User, ana: User, status: str
) -> None:
    """Ana's page was open all the time. The street that she changes there makes it no duplicate by its receiver."""
    page = beside(listed, AT_HOME, booked_draft(quill, ana, status))
    assert "Book another?" in page.content.decode()
    later = Draft.objects.get(order=None)
    prices = f"/parcels/drafts/{later.uuid}/prices/"
    assert "Book another?" in text(listed.get(prices))
    assert listed.post(f"{prices}book/", form(later.quote)).status_code == 409
    assert Order.objects.count() == 1
    for more in ({"another": "yes"}, {"another": "yes"}, {}):  # the last two lead to the parcel that the first made
        assert listed.post(f"{prices}book/", form(later.quote, **more)).status_code == 302
    assert Order.objects.count() == 2


def test_an_older_page_of_prices_asks_before_it_books_the_draft_a_second_time(
    listed: Client, quill: Sender, alice: User, ana: User
) -> None:
    """Ana corrected the street and booked. Alice's page still shows the prices of before."""
    corrected = factories.details(quill, receiver=factories.receiver(line1="44 Sample Street"))
    shown, newer = factories.quote(quill, alice), factories.quote(quill, ana, parcel=corrected)
    draft = factories.draft(quill, alice)
    book = f"/parcels/drafts/{draft.uuid}/prices/book/"
    assert listed.post(book, form(newer)).status_code == 302
    asked = listed.post(book, form(shown))
    assert asked.status_code == 409
    assert "Book another?" in text(asked)
    assert Order.objects.count() == 1
    for quote, more in ((shown, {"another": "yes"}), (shown, {}), (newer, {})):
        assert listed.post(book, form(quote, **more)).status_code == 302
    assert Order.objects.count() == 2


@pytest.mark.parametrize("status", ["rejected", "cancelled", "not_booked"])
def test_typing_on_after_a_booking_that_came_to_nothing_asks_nothing(
    carrier: SandboxCarrier, listed: Client, quill: Sender, ana: User, status: str
) -> None:
    page = beside(listed, AT_HOME, booked_draft(quill, ana, status))
    assert "Book another?" not in page.content.decode()


def test_the_question_next_to_the_form_needs_an_answer_too(
    duplicate: Order, carrier: SandboxCarrier, listed: Client
) -> None:
    Order.objects.update(
        receiver_name="Priya Nair",
        receiver_company="",
        receiver_line1="4 Sample Street",
        receiver_line2="",
        receiver_suburb="BRUNSWICK",
        receiver_postcode="3056",
    )
    page = beside(listed, AT_HOME).content.decode()
    assert "Book another?" in page
    assert 'name="another" value="yes" disabled' in page
