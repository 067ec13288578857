"""What the demo's operator finds on the first page, and that all of it can be done."""

import re
import urllib.request
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts import demo
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.disputes import disputing
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Dispute
from shipping_portal.billing.reports import checking, posting
from shipping_portal.refused import Refused
from shipping_portal.staff import queues
from shipping_portal.staff.demo import demo_history
from shipping_portal.staff.resolution import case, deciding
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(loaded: Path) -> User:
    return User.objects.get(email=demo.OPERATOR_EMAIL)


def standing() -> dict[str, int]:
    return {queue.name: queue.count for queue in queues.waiting_queues(timezone.now()) if queue.count}


def test_the_first_page_has_work(operator: User) -> None:
    assert standing() == {
        "order-unconfirmed": 1, "sender-waiting": 1, "parcel-nobody": 1, "billingreport-posting": 1,
        "chargeword-no": 1, "dispute-open": 1,
    }  # fmt: skip


def test_the_unclear_booking_is_adopted_with_details_from_the_carriers_dashboard(
    operator: User, loaded: Path, settings: Any
) -> None:
    with SandboxCarrier(loaded, key=settings.CARRIER_KEY) as carrier:
        settings.CARRIER_BASE_URL = carrier.url
        demo_history.follow_the_carrier()
        order = Order.objects.get(status="unconfirmed")
        reference = case.gather_evidence(order).likeliest
        with urllib.request.urlopen(f"{carrier.url}/dashboard", timeout=10) as reply:  # noqa: S310  (loopback)
            found = re.search(rf"<td>{reference}</td><td>([^<]+)</td><td>([^<]+)</td>", reply.read().decode())
        assert found
        assert found[2] == order.order_key()
        why = {"by": operator, "reason": "our key stands beside it", "now": timezone.now()}
        deciding.adopt_reference(order, reference, carrier_order_id=found[1], **why)
    polling.open_parcel(order.pk)
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("booked", reference)
    assert not {"order-unconfirmed", "parcel-nobody"} & {*standing()}


def test_the_unclear_booking_cannot_be_resolved_with_another_parcels_id(
    operator: User, loaded: Path, settings: Any
) -> None:
    with SandboxCarrier(loaded, key=settings.CARRIER_KEY) as carrier:
        settings.CARRIER_BASE_URL = carrier.url
        demo_history.follow_the_carrier()
        order, other = Order.objects.get(status="unconfirmed"), Order.objects.filter(status="booked").latest("pk")
        why = {"by": operator, "reason": "a wrong guess of mine", "now": timezone.now()}
        with pytest.raises(Refused):
            deciding.adopt_reference(
                order, case.gather_evidence(order).likeliest, carrier_order_id=other.carrier_order_id, **why
            )
    order.refresh_from_db()
    assert order.status == "unconfirmed"


def test_the_unknown_word_is_mapped_and_its_report_posted(operator: User) -> None:
    word, report = ChargeWord.objects.get(meaning=""), BillingReport.objects.get(state="checked")
    with pytest.raises(posting.NotReady):
        posting.post_report(report, by=operator, now=timezone.now())
    checking.decide_word(word, "oversize", now=timezone.now())
    checking.read_due_report(report.pk)
    posting.post_report(BillingReport.objects.get(pk=report.pk), by=operator, now=timezone.now())
    assert Charge.objects.posted().get(report=report).amount == Decimal(report.stated["AUD"])
    assert not {"billingreport-posting", "chargeword-no"} & {*standing()}


def test_the_dispute_is_answered(operator: User) -> None:
    dispute = Dispute.objects.get(state="open")
    assert dispute.charge.kind == "under-declared"
    disputing.answer_dispute(dispute, accepted=False, text="It was measured twice.", by=operator, now=timezone.now())
    assert "dispute-open" not in standing()


def test_the_account_is_approved(operator: User) -> None:
    waiting = Sender.objects.get(approved_at=None)
    signing_up.approve_account(waiting, by=operator, reason="Its site sells what it says.", now=timezone.now())
    assert "sender-waiting" not in standing()
