"""An unclear booking is resolved from the admin's first page: three clicks and a typed reason."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import DJANGOS_OWN

REASON = "the carrier's support confirmed it on the phone"


def unclear(stack: Stack, *, minutes: int, status: str = "unconfirmed", **attempt: str) -> dict[str, Any]:
    """A demo sender's order to Darwin whose attempt got no usable reply: its number and its admin address."""
    code = f"""
import datetime, json
from django.utils import timezone
from orders.models import Order
from shipping_portal.accounts.models import Membership
from tests.staff import cases
member = Membership.objects.filter(user__email={stack.people["sender"]["email"]!r}).get()
at = timezone.now() - datetime.timedelta(minutes={minutes})
order = cases.unclear(member.sender, member.user, status={status!r}, sent_at=at, done_at=at, **{attempt!r})
Order.objects.filter(pk=order.pk).update(receiver_suburb="DARWIN CITY", receiver_state="NT", receiver_postcode="0800")
print(json.dumps({{"pk": order.pk, "uuid": str(order.uuid)}}))
"""
    found: dict[str, Any] = json.loads(stack.shell(code).splitlines()[-1])
    return found


def booked_there(stack: Stack, order: dict[str, Any]) -> dict[str, Any]:
    """Put the unclear order in the carrier's books: its reference and order id."""
    code = f"""
import json, uuid
from orders.calling import gateway
from orders.models import Order
order, carrier = Order.objects.get(pk={order["pk"]}), gateway.carrier_client(gateway.current_account())
shipment = order.details().shipment(product_code=order.product_code, order_key=order.order_key(), pickup_date=None)
made = carrier.book(carrier.booking_body(shipment), key=str(uuid.uuid4()))
print(json.dumps({{"reference": made.reference, "order_id": made.order_id}}))
"""
    found: dict[str, Any] = json.loads(stack.shell(code).splitlines()[-1])
    return found


def scan(stack: Stack, reference: str, postcode: str) -> None:
    """Send a scan by webhook for this reference, which matches no order."""
    stack.carrier.foreign(reference)
    code = f"""
from django.utils import timezone
from tests import factories
from tracking.scanning import scans
from tracking.models import Parcel
parcel = scans.parcel_for({reference!r}, account=factories.account(), at=timezone.now())
Parcel.objects.filter(pk=parcel.pk).update(last_scan_at=timezone.now())
factories.event(parcel, suburb="Darwin", postcode={postcode!r})
"""
    stack.shell(code)


@pytest.fixture
def resolved(stack: Stack) -> Iterator[None]:
    """Anything still unclear afterwards would disturb other tests."""
    yield
    code = (
        "from orders.models import Order; "
        "Order.objects.filter(status__in=['unconfirmed', 'conflict']).update(status='not_booked')"
    )
    stack.shell(code)


@pytest.mark.smoke
@pytest.mark.usefixtures("resolved")
def test_an_unclear_booking_is_adopted_in_three_clicks_and_a_reason(
    staff: Page, clicks: list[str], stack: Stack, log_in: Open
) -> None:
    order = unclear(stack, minutes=20)
    there = booked_there(stack, order)
    scan(stack, there["reference"], "0800")
    sender = log_in("sender")
    sender.goto(f"/parcels/{order['uuid']}/")
    expect(sender.get_by_text("Don't book it again").first).to_be_visible()

    staff.reload()
    staff.get_by_role("link", name="Booking outcome unknown", exact=True).click()
    staff.get_by_role("link", name=f"Resolve order {order['pk']}", exact=True).click()
    expect(staff.get_by_text("Late: open for")).to_be_visible()
    expect(staff.get_by_label("Carrier's reference")).to_have_value(there["reference"])
    staff.get_by_label("Carrier's order ID").fill(there["order_id"])
    staff.locator("[name=adopt-reason]").fill(REASON)
    staff.get_by_role("button", name="Adopt reference").click()
    expect(staff.get_by_text("Booked under the carrier's reference.")).to_be_visible()
    assert len(clicks) == 3, clicks

    sender.goto(f"/parcels/{order['uuid']}/")
    expect(sender.locator(".head .ref")).to_contain_text(there["reference"])
    staff.goto(f"/admin/accounts/audit/?q=order+{order['pk']}")
    row = staff.get_by_role("row").filter(has_text="reference adopted")
    expect(row).to_contain_text("operator@demo.example")
    expect(row).to_contain_text(f"{there['reference']}, order id {there['order_id']}: {REASON}")


@pytest.mark.usefixtures("resolved")
def test_a_booking_the_carrier_does_not_have_takes_three_clicks_and_a_reason(
    staff: Page, clicks: list[str], stack: Stack
) -> None:
    order = unclear(stack, minutes=0)
    staff.reload()
    staff.get_by_role("link", name="Booking outcome unknown", exact=True).click()
    staff.get_by_role("link", name=f"Resolve order {order['pk']}", exact=True).click()
    staff.locator("[name=not_booked-reason]").fill(REASON)
    staff.get_by_role("button", name="Resolve as not booked").click()
    expect(staff.get_by_text("Resolved as not booked.").first).to_be_visible()
    assert len(clicks) == 3, clicks


@pytest.mark.usefixtures("resolved")
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), pytest.param(360, "dark", marks=pytest.mark.nightly)])
def test_the_page_is_accessible_and_fits_with_everything_on_it(
    log_in: Open, stack: Stack, theme: str, width: int
) -> None:
    late, overdue = (
        unclear(stack, minutes=20),
        unclear(stack, minutes=130, status="conflict", seen_reference="STOLD00001"),
    )
    scan(stack, f"SELSE{width}{theme.upper()}", "2000")
    staff = log_in("operator", width=width, theme=theme)
    for order in (late, overdue):
        staff.goto(f"/admin/orders/order/{order['pk']}/resolve/")
        for summary in staff.locator("summary:visible").all():
            summary.click()
        assert violations(staff, but=DJANGOS_OWN) == []
        assert not has_sideways_scroll(staff)
    staff.locator("[name=reveal-reason]").fill(REASON)
    staff.get_by_role("button", name="Reveal personal data").click()
    expect(staff.get_by_text("Noor Tamsin").first).to_be_visible()
    assert violations(staff, but=DJANGOS_OWN) == []
    assert not has_sideways_scroll(staff)
