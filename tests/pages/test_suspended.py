"""R11: a suspended sender reads everything and books nothing; this lists every URL that takes a form."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests.access import OURS, address, audience, things_of
from tests.pages.typed import text
from tracking.models import Parcel

pytestmark = pytest.mark.django_db

REFUSED = {
    "new_parcel",
    "draft",
    "check_price",
    "quotes",
    "book",
    "replace",
    "older_quotes",
    "older_book",
    "older_replacement",
    "older_live_prices",
    "older_paste",
    "older_drafts",
    "book_import",
    "send_back",
    "watched",
}
# These book no parcel: the account, lists and notes, printing, cancelling, and opening files.
ALLOWED = {
    "pickup_address", "add_pickup_address", "edit_pickup_address", "change_pickup_address", "profile", "appearance",
    "keyboard", "security", "business", "booking_rules", "own_limits", "label_size", "team", "second_factor_rule",
    "change_member", "change_invitation", "notifications", "confirm_price", "cancel", "dismiss", "dismiss_many", "print_queue", "originals",
    "printed_many", "print_stations", "print_at_station", "stop_station", "withdraw_prints", "add_receiver", "take_left_out", "price_import_again", "answer_import", "save_rows",
    "choose_services", "decide_import", "remove_import",
    "merge_receivers", "edit_receiver", "delete_receiver", "add_size", "edit_size", "change_size", "delete_size",
    "new_import", "import", "match_columns", "import_row", "cancel_many", "note_many", "send_again", "export",
    "save_view", "choose_columns", "packing_slips", "stop_watching", "delete_draft", "charge_is_wrong", "pack_proof", "pack_everything",
    "close_account", "api_tokens", "change_token", "promise",
    "webhooks", "webhook_endpoint", "rotate_webhook", "change_webhook", "receiver_page", "return_link",
}  # fmt: skip
ROUTES = [(route, details) for route, details in OURS if "owner" in audience(details)]


@pytest.fixture
def things(quill: Sender, alice: User, sam: User) -> dict[str, Any]:
    made = things_of(quill, alice)
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    return made


def test_r11_booking_is_refused_and_nothing_else_books(
    things: dict[str, Any], alice: User, visit: Callable[[User], Client]
) -> None:
    client, taken = visit(alice), {}
    fields = {"form_token": things["quote"].uuid, "product": "STANDARD-PICKUP", "reference": "S7K2QX9"}
    before = sorted(Order.objects.values_list("pk", "status"))
    for route, details in ROUTES:
        answer = client.post(address(route, things), fields)
        if answer.status_code not in {404, 405}:
            taken[str(details.name)] = answer.status_code
    assert {name for name, status in taken.items() if status == 403} == REFUSED
    assert set(taken) - REFUSED - ALLOWED == set(), "decide whether a suspended sender may send these"
    assert sorted(Order.objects.values_list("pk", "status")) == before
    assert not Parcel.objects.filter(reference="S7K2QX9").exists()


def test_r11_every_page_still_opens_and_says_why_booking_is_off(
    things: dict[str, Any], alice: User, visit: Callable[[User], Client]
) -> None:
    client = visit(alice)
    for route, _ in ROUTES:
        answer = client.get(address(route, things))
        assert answer.status_code in {200, 302, 404, 405}, route
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
            assert "Booking is off for this account since" in text(answer), route
