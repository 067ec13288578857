"""Only a few pages wait for the carrier at once. Any other page says when to come back and keeps everything
typed.
"""

import ast
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.calling import waiting
from orders.models import CarrierCall, Order
from orders.quoting import asking
from shipping_portal import gunicorn_settings
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import AT_HOME, BY_SCRIPT, text
from tests.sandbox_carrier import SandboxCarrier
from tests.staff import cases
from tests.staff.conftest import REASON

pytestmark = pytest.mark.django_db

PROCESS, PERSON = "Many people are asking the carrier right now.", "Two of your pages are waiting for the carrier"
AGAIN = "Try again in 5 s."


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill all the waiting places of this process."""
    places = threading.BoundedSemaphore(1)
    places.acquire()
    monkeypatch.setattr(waiting, "PLACES", places)


@pytest.fixture
def page(alice: User, visit: Callable[[User], Client], localities: None, carrier: SandboxCarrier) -> Client:
    return visit(alice)


def wait_twice(person: User) -> None:
    """Make this many pages of this person wait in some process."""
    soon = timezone.now() + waiting.LONGEST
    User.objects.filter(pk=person.pk).update(waits_until=soon, waits_also_until=soon)


def test_a_full_process_keeps_the_form_and_says_when_to_press_again(page: Client, full: None) -> None:
    answer = page.post("/parcels/new/", AT_HOME)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert f"{PROCESS} {AGAIN} Nothing was booked." in text(answer)
    assert "e-mail you when the carrier gives prices" not in text(answer)
    for name in ("receiver_name", "receiver_line1", "receiver_email", "description", "weight_kg"):
        assert f'value="{AT_HOME[name]}"' in answer.content.decode(), name
    assert not CarrierCall.objects.exists()


def test_a_third_page_of_one_person_is_refused_and_another_person_is_not(
    page: Client, alice: User, ana: User, visit: Callable[[User], Client]
) -> None:
    wait_twice(alice)
    answer = page.post("/parcels/new/", AT_HOME)
    assert (answer.status_code, answer["Retry-After"]) == (429, "5")
    assert f"{PERSON} already. {AGAIN}" in text(answer)
    assert visit(ana).post("/parcels/new/", AT_HOME).status_code == 302


def test_a_refused_wait_does_not_count_as_a_request_for_prices(page: Client, alice: User, quill: Sender) -> None:
    wait_twice(alice)
    page.post("/parcels/new/", AT_HOME)
    quill.refresh_from_db()
    assert quill.quotes_this_minute == 0


def test_the_page_itself_retries_the_prices_beside_the_form(page: Client, full: None) -> None:
    answer = page.post("/parcels/new/", AT_HOME, headers=BY_SCRIPT)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert AGAIN in answer.content.decode()


def test_prices_checked_again_stay_on_their_page(page: Client, alice: User, quill: Sender, full: None) -> None:
    old = factories.quote(quill, alice)
    answer = page.post(factories.prices_of(old), {}, follow=True)
    assert answer.redirect_chain == [(factories.prices_of(old), 302)]
    assert f"{PROCESS} {AGAIN}" in text(answer)


def test_a_parcel_being_corrected_keeps_its_form(page: Client, alice: User, quill: Sender, full: None) -> None:
    order = factories.order(quill, alice, status="booked")
    answer = page.post(f"/parcels/{order.uuid}/replace/", AT_HOME)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert f'value="{AT_HOME["receiver_line1"]}"' in answer.content.decode()


def test_the_page_of_parcel_tools_says_when_to_come_back(
    page: Client, alice: User, quill: Sender, contract: Callable[[str], None], full: None
) -> None:
    contract('link = "signed"\nlink_page = "https://carrier.example/t/"')
    order = factories.order(quill, alice, status="booked")
    answer = page.get(f"/orders/{order.uuid}/tracking-page/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert f"{PROCESS} {AGAIN} Your parcel is not affected." in text(answer)


def test_an_operators_decision_is_kept_on_its_page(
    alice: User, sam: User, quill: Sender, visit: Callable[[User], Client], full: None
) -> None:
    order = cases.unclear(quill, alice)
    decision = {"decision": "adopt", "adopt-reference": "SFOUND12345", "adopt-reason": REASON}
    answer = visit(sam).post(reverse("admin:orders_order_resolve", args=[order.pk]), decision)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert PROCESS in text(answer)
    assert REASON in text(answer)
    order.refresh_from_db()
    assert order.status == "unconfirmed"


def test_the_carriers_order_id_is_kept_too(
    alice: User, sam: User, quill: Sender, visit: Callable[[User], Client], full: None
) -> None:
    order = factories.order(quill, alice, status="booked", carrier_order_id="")
    url = reverse("admin:orders_order_act", args=[order.pk, "add-order-id"])
    answer = visit(sam).post(url, {"carrier_order_id": "id-1", "reason": REASON})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert Order.objects.get().carrier_order_id == ""


def test_the_page_after_a_wait_is_an_ordinary_one(page: Client, full: None) -> None:
    page.post("/parcels/new/", AT_HOME)
    answer = page.get("/parcels/")
    assert (answer.status_code, "Retry-After" in answer) == (200, False)


def test_jobs_wait_as_usual(page: Client, alice: User, quill: Sender, full: None) -> None:
    wait_twice(alice)
    parcel = factories.details(quill)
    assert asking.ask_for_prices(quill, parcel, by=alice, now=timezone.now(), typed=False).products


def test_a_place_is_free_again_after_the_call_however_it_ends(page: Client, alice: User) -> None:
    for _ in range(3):
        with pytest.raises(KeyError), waiting.at_a_page(alice):
            raise KeyError
    alice.refresh_from_db()
    assert (alice.waits_until, alice.waits_also_until) == (None, None)


def test_two_may_wait_and_a_dead_processs_places_are_free_in_a_minute(alice: User) -> None:
    with waiting.at_a_page(alice), waiting.at_a_page(alice):
        with pytest.raises(waiting.Full), waiting.at_a_page(alice):
            pass
        User.objects.update(waits_until=timezone.now())
        with waiting.at_a_page(alice):
            pass
    assert waiting.LONGEST.total_seconds() <= 60


def test_a_quarter_of_the_threads_may_wait() -> None:
    assert gunicorn_settings.threads == settings.WEB_THREADS == 16
    places = threading.BoundedSemaphore(4)
    assert waiting.PLACES._value == places._value  # type: ignore[attr-defined]


ROOT = Path(__file__).resolve().parents[2]
# The function that takes the place, for each module that calls the carrier while somebody waits.
HELD_BY = {
    "orders/quoting/asking.py": "orders/quoting/asking.py",
    "tracking/pages.py": "tracking/pages.py",
    "tracking/watching.py": "tracking/watching.py",
    "shipping_portal/staff/resolution/verifying.py": "shipping_portal/staff/resolution/deciding.py",
}


def test_no_page_calls_the_carrier_without_a_place() -> None:
    asking = set()
    for path in (
        path for folder in ("orders", "tracking", "shipping_portal") for path in (ROOT / folder).rglob("*.py")
    ):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if any(word.arg == "is_person" for call in calls for word in call.keywords):
            asking.add(str(path.relative_to(ROOT)))
    assert asking - {"orders/calling/gateway.py"} == set(HELD_BY)
    for path in HELD_BY.values():
        assert "with waiting.at_a_page(by)" in (ROOT / path).read_text(), path
