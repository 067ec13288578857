"""Several carrier accounts in the admin: which one takes new orders, what is tracked, and what can't be tracked."""

import datetime as dt
import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.calling import gateway
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.staff import queues
from shipping_portal.staff.alerts import health
from shipping_portal.staff.resolution import case
from tests import factories, older
from tests.staff.conftest import REASON

pytestmark = pytest.mark.django_db
ACCOUNT = "admin:orders_carrieraccount_change"


@pytest.fixture
def old(settings: Any, tmp_path: Path) -> CarrierAccount:
    """An older account whose contract differs from today's: it shows no orders and has other field names for people."""
    file = tmp_path / "older.toml"
    file.write_text('view = ""\nreceiver_name = "to.who"\norder_key = "our.key"\n')
    return older.named(settings, CONTRACT=str(file))


def shown(staff: Client, url: str, *arguments: Any) -> str:
    answer = staff.get(reverse(url, args=arguments) if ":" in url else url)
    assert answer.status_code == 200
    return " ".join(html.unescape(answer.content.decode()).split())


def act(account: CarrierAccount, name: str) -> str:
    return reverse("admin:orders_carrieraccount_act", args=[account.pk, name])


def left_behind(now: dt.datetime) -> queues.Queue:
    return next(queue for queue in queues.waiting_queues(now) if queue.url.endswith("needs=left-behind"))


def test_an_accounts_page_says_which_settings_describe_it_and_never_a_secret(
    staff: Client, old: CarrierAccount, settings: Any
) -> None:
    page = shown(staff, ACCOUNT, old.pk)
    for words in ("CARRIER_OLD_…", "No new orders", "older.toml", "1 in CARRIER_OLD_WEBHOOK_SECRETS"):
        assert words in page
    today = shown(staff, ACCOUNT, gateway.current_account().pk)
    for words in ("CARRIER_…", "Takes new orders", "None: all points as assumed", "2 in WEBHOOK_SECRETS"):
        assert words in today
    secrets = [older.KEY, older.LINK_KEY, older.WEBHOOK_SECRET, settings.CARRIER_KEY, settings.CARRIER_LINK_KEY]
    for secret in (*secrets, *(pair.partition(":")[2] for pair in settings.WEBHOOK_SECRETS)):
        assert secret not in page + today


def test_the_page_of_an_account_without_settings_explains_its_open_orders(
    staff: Client, quill: Sender, alice: User
) -> None:
    gone = older.unnamed()
    page = shown(staff, ACCOUNT, gone.pk)
    assert "Not in the settings" in page
    assert "errornote" not in page
    for status in ("booked", "unconfirmed", "cancelled"):
        factories.order(quill, alice, account=gone, status=status)
    assert "2 of its orders are still open, and we can't ask the carrier about them" in shown(staff, ACCOUNT, gone.pk)


def test_the_page_of_an_account_without_a_key_explains_its_open_orders(
    staff: Client, old: CarrierAccount, quill: Sender, alice: User, settings: Any
) -> None:
    factories.order(quill, alice, account=old, status="booked")
    assert "we can't ask the carrier" not in shown(staff, ACCOUNT, old.pk)
    settings.OLDER_CARRIERS["OLD"]["KEY"] = ""
    page = shown(staff, ACCOUNT, old.pk)
    assert "Key removed: its orders can't be checked" in page
    assert "1 of its orders is still open, and we can't ask the carrier about them" in page
    assert left_behind(timezone.now()).count == 1


def test_the_list_of_accounts_shows_their_roles(staff: Client, old: CarrierAccount) -> None:
    gateway.current_account()
    older.unnamed()
    page = shown(staff, "admin:orders_carrieraccount_changelist")
    for role in ("Takes new orders", "No new orders", "Not in the settings"):
        assert role in page


NOW = timezone.now()
DAYS = dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("order", "count"),
    [
        ({"status": "booked"}, 1),
        ({"status": "booked", "progress": "in_transit", "progress_at": NOW}, 1),
        ({"status": "booked", "progress": "delivered", "progress_at": NOW}, 0),
        ({"status": "booked", "progress": "lost", "progress_at": NOW}, 0),
        ({"status": "booked", "booked_at": NOW - 46 * DAYS}, 0),
        ({"status": "booked", "booked_at": NOW - 46 * DAYS, "progress": "held", "progress_at": NOW}, 1),
        ({"status": "unconfirmed", "created_at": NOW - 99 * DAYS}, 1),
        ({"status": "conflict"}, 1),
        ({"status": "cancelling"}, 1),
        ({"status": "cancel_unconfirmed"}, 1),
        ({"status": "cancel_asked"}, 1),
        ({"status": "cancelled"}, 0),
        ({"status": "draft"}, 0),
        ({"status": "rejected"}, 0),
    ],
)
def test_open_orders_of_an_account_without_settings_wait_for_a_person(
    staff: Client, old: CarrierAccount, quill: Sender, alice: User, order: dict[str, Any], count: int
) -> None:
    for account in (gateway.current_account(), old, older.unnamed()):
        factories.order(quill, alice, account=account, **order)
    queue = left_behind(timezone.now())
    assert queue.count == count
    assert staff.get(queue.url).context["cl"].result_count == count


def test_the_health_page_shows_every_account_in_the_settings(staff: Client, old: CarrierAccount) -> None:
    older.unnamed()
    CarrierAccount.objects.filter(pk=old.pk).update(stopped_at=timezone.now(), stopped_reason="closed at midnight")
    page = shown(staff, "/admin/health/")
    assert "closed at midnight" in page
    assert f"{gateway.current_account()}" in page
    assert "gone-account" not in page


def test_the_strip_and_the_queues_take_the_same_number_of_queries_with_older_accounts(
    old: CarrierAccount, settings: Any, quill: Sender, alice: User
) -> None:
    gateway.current_account()

    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            health.health_strip(timezone.now())
            queues.waiting_queues(timezone.now())
        return len(seen)

    factories.order(quill, alice, account=older.unnamed(), status="booked")
    first = asked()
    settings.OLDER_CARRIERS = settings.OLDER_CARRIERS | {"ELDER": older.described(ACCOUNT="elder")}
    gateway.all_accounts()
    for _ in range(3):
        factories.order(quill, alice, account=old, status="booked")
        CarrierAccount.objects.create(name="more", fingerprint=f"{Order.objects.count()}")
    assert asked() == first


def test_only_the_account_that_takes_new_orders_can_be_paused(staff: Client, old: CarrierAccount) -> None:
    for name in ("pause-bookings", "pause-quotes"):
        assert staff.get(act(gateway.current_account(), name)).status_code == 200
        assert staff.get(act(old, name)).status_code == 409
        assert act(old, name) not in shown(staff, ACCOUNT, old.pk)


def test_an_older_accounts_pause_can_still_be_ended(staff: Client, old: CarrierAccount) -> None:
    CarrierAccount.objects.filter(pk=old.pk).update(paused_at=NOW, pause_text="The depot is flooded.")
    assert staff.post(act(old, "resume-bookings"), {"reason": REASON}).status_code == 302
    old.refresh_from_db()
    assert old.paused_at is None


def test_the_stop_of_an_account_without_new_orders_can_be_lifted_by_hand(staff: Client, old: CarrierAccount) -> None:
    gateway.current_account()
    CarrierAccount.objects.update(stopped_at=NOW, stopped_reason="unpaid")
    assert staff.get(act(gateway.current_account(), "end-stop")).status_code == 409
    assert staff.get(act(old, "try-now")).status_code == 409
    assert staff.post(act(old, "end-stop"), {"reason": REASON}).status_code == 302
    old.refresh_from_db()
    assert (old.stopped_at, old.stopped_reason) == (None, "")
    assert gateway.current_account().stopped_at
    assert Audit.objects.get().action == "account's stop taken away"
    [queue] = [queue for queue in queues.waiting_queues(timezone.now()) if queue.name.endswith("stopped")]
    assert queue.count == 1


def test_a_fault_at_an_older_account_is_queued_like_any_other(staff: Client, old: CarrierAccount) -> None:
    gateway.current_account()
    old.note_fault("cancel: 404", timezone.now())
    [queue] = [queue for queue in queues.waiting_queues(timezone.now()) if "setup" in queue.title]
    assert queue.count == 1
    assert "older-account" in shown(staff, queue.url)


def test_an_older_accounts_report_can_be_uploaded_though_it_has_no_row_yet(staff: Client, settings: Any) -> None:
    settings.OLDER_CARRIERS = {"OLD": older.described()}
    form = staff.get(reverse("admin:billing_billingreport_upload")).context["form"]
    assert [str(account) for account in form.fields["account"].queryset] == [
        str(gateway.current_account()),
        "older-account at https://older.example/api",
    ]
    assert form["account"].value() == gateway.current_account().pk


# -- A case is read by the contract of its own account ----------------------------------------------

BODY = b'{"to": {"who": "Noor Tamsin"}, "our": {"key": "key-of-ours"}}'


def test_an_older_accounts_case_is_read_with_its_own_contract(
    staff: Client, old: CarrierAccount, unclear: Callable[..., Order]
) -> None:
    order = unclear(body=BODY, response=BODY)
    Order.objects.filter(pk=order.pk).update(account=old)
    order = Order.objects.get(pk=order.pk)
    found = case.gather_evidence(order)
    for masked in (
        found.request,
        found.response,
        shown(staff, "admin:orders_bookingattempt_change", order.attempts.get().pk),
    ):
        assert "Noor Tamsin" not in masked
        assert "N•••" in masked
    assert "Our order key: key-of-ours" in found.support_text


def test_adopting_needs_only_what_the_orders_own_carrier_can_show(
    staff: Client, old: CarrierAccount, unclear: Callable[..., Order]
) -> None:
    order, url = unclear(), "admin:orders_order_resolve"
    assert "must show our order key" in shown(staff, url, order.pk)
    Order.objects.filter(pk=order.pk).update(account=old)
    assert "Compare the places and the price yourself" in shown(staff, url, order.pk)


def test_a_revealed_body_is_redacted_by_its_own_accounts_contract(
    staff: Client, settings: Any, tmp_path: Path, unclear: Callable[..., Order]
) -> None:
    file = tmp_path / "older.toml"
    file.write_text(f'{older.LINKED}link_token_query = "pass"\n')
    account = older.named(settings, CONTRACT=str(file))
    order = unclear(response=b'{"a": "https://track.older.example/t/SQ7K2M?pass=s3same"}')
    Order.objects.filter(pk=order.pk).update(account=account)
    url = reverse("admin:orders_order_reveal", args=[order.pk])
    answer = staff.post(url, {"reveal-reason": REASON}).content.decode()
    assert answer.count("track.older.example") == 0
    assert "s3same" not in answer


def test_an_older_carriers_link_does_not_get_into_the_audit_log(staff: Client, settings: Any, tmp_path: Path) -> None:
    file = tmp_path / "older.toml"
    file.write_text(f'{older.LINKED}link_token_query = "pass"\n')
    older.named(settings, CONTRACT=str(file))
    text = "See https://track.older.example/t/SQ7K2M?pass=s3same"
    pressed = {"text": text, "ends": "30", "reason": REASON}
    answer = staff.post(act(gateway.current_account(), "pause-bookings"), pressed)
    assert "Leave this link out" in answer.content.decode()
    assert not Audit.objects.exists()
