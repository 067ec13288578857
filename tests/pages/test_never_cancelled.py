"""R3, R4: after a missed or futile pickup no control and no post cancels the parcel: alone, in bulk or in the admin."""

import re
from collections.abc import Callable

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from orders.models import CancelAttempt, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
SAID = {
    "pickup_missed": "Leave the label on and don't cancel.",
    "pickup_futile": "we'll move the day with the carrier. Don't cancel.",
}


@pytest.fixture(params=SAID)
def waiting(quill: Sender, alice: User, request: pytest.FixtureRequest) -> Order:
    made = factories.order(
        quill, alice, status="booked", progress=request.param, progress_at=timezone.now(), due_at=None
    )
    factories.stored_label(made)
    factories.parcel(made, progress=request.param, progress_at=timezone.now())
    return made


def controls(page: str) -> list[str]:
    """Return the text of each button and link on the page."""
    main = page[page.index("<main") : page.index("</main>")]
    return [re.sub(r"<[^>]+>", "", one) for one in re.findall(r"<(?:a|button)\b[^>]*>(.*?)</", main, re.DOTALL)]


def test_r3_no_page_of_the_parcel_has_a_control_that_cancels_it(waiting: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    for address in ("", "cancel/", "cancel/?need=not_sending", "cancel/?need=another_day"):
        page = client.get(f"/parcels/{waiting.uuid}/{address}").content.decode()
        assert not [words for words in controls(page) if "ancel" in words], address
        assert 'value="not_sending"' not in page


def test_r3_no_second_label_is_suggested_while_the_first_one_is_waiting(
    waiting: Order, alice: User, visit: Visit
) -> None:
    page = visit(alice).get(f"/parcels/{waiting.uuid}/").content.decode()
    assert "Send again" not in controls(page)


def test_r3_a_post_is_refused_with_what_to_do_instead(waiting: Order, alice: User, visit: Visit) -> None:
    answer = visit(alice).post(f"/parcels/{waiting.uuid}/cancel/", {"need": "not_sending"})
    assert answer.status_code == 409
    assert SAID[waiting.progress] in text(answer)
    assert not CancelAttempt.objects.exists()


def test_r3_the_parcel_is_not_cancelled_in_bulk(waiting: Order, alice: User, visit: Visit) -> None:
    client, chosen = visit(alice), {"order": [waiting.uuid]}
    assert "Cancel 1 parcel?" not in text(client.post("/parcels/cancel/", chosen))
    answer = client.post("/parcels/cancel/", {**chosen, "sure": "yes"})
    assert any("Not cancelled." in str(message) for message in get_messages(answer.wsgi_request))
    waiting.refresh_from_db()
    assert waiting.status == "booked"
    assert not CancelAttempt.objects.exists()


def test_r3_the_parcel_is_not_cancelled_in_the_admin(waiting: Order, sam: User, visit: Visit) -> None:
    client, act = visit(sam), f"/admin/orders/order/{waiting.pk}/acts/cancel/"
    assert act not in client.get(f"/admin/orders/order/{waiting.pk}/change/").content.decode()
    client.post(act, {"reason": "the sender asked us on the phone"})
    waiting.refresh_from_db()
    assert waiting.status == "booked"
    assert not CancelAttempt.objects.exists()


@pytest.mark.parametrize("need", ["another_day", "no_driver"])
def test_r4_another_pickup_day_never_cancels_the_parcel(quill: Sender, alice: User, visit: Visit, need: str) -> None:
    order = factories.order(quill, alice, status="booked")
    client = visit(alice)
    page = client.get(f"/parcels/{order.uuid}/cancel/", {"need": need}).content.decode()
    assert not [words for words in controls(page) if "ancel" in words]
    assert client.post(f"/parcels/{order.uuid}/cancel/", {"need": need}).status_code == 409
    assert not CancelAttempt.objects.exists()
