"""The operator replays a hundred stored webhooks: three clicks and a reason, announced first, done once, audited."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.browser.walking import DJANGOS_OWN
from tests.processes.portal import until

REASON = "the carrier renamed a member; the contract file knows it now"


def hundred_unread(stack: Stack) -> None:
    """Webhooks in a format the contract didn't know when they came but knows today; one per parcel."""
    code = """
import hashlib, json, uuid
from tests import factories
for number in range(100):
    scan = {"carrier_reference": f"SAGAIN{number:04d}", "event_id": str(uuid.uuid4()), "event_type": "Delivered",
            "scan_time": "2026-01-05T10:00:00Z", "description": "Parcel delivered"}
    body = json.dumps(scan).encode()
    factories.delivery(body=body, sha256=hashlib.sha256(body).hexdigest(), state="quarantined",
                       reason="the description is missing")
"""
    stack.shell(code)


def scans_stored(stack: Stack) -> int:
    code = """
from tracking.models import TrackingEvent
print(TrackingEvent.objects.filter(parcel__reference__startswith="SAGAIN").count())
"""
    return int(stack.shell(code).split()[-1])


def test_a_hundred_webhooks_are_replayed_in_three_clicks_and_a_reason(log_in: Open, stack: Stack) -> None:
    hundred_unread(stack)
    staff = log_in("operator")
    clicks: list[str] = []

    def click(what: str, role: str = "link") -> None:
        clicks.append(what)
        staff.get_by_role(role, name=re.compile(what)).first.click()  # type: ignore[arg-type]

    click("Webhooks without a scan")
    click("Reprocess these")
    expect(staff.get_by_text("100 new scans")).to_be_visible()
    expect(staff.get_by_text("Nothing has changed yet.")).to_be_visible()
    assert scans_stored(stack) == 0
    assert violations(staff, but=DJANGOS_OWN) == []
    staff.set_viewport_size({"width": 360, "height": 900})
    assert not has_sideways_scroll(staff)
    staff.get_by_label("Reason").fill(REASON)
    click(r"Reprocess 100", "button")
    expect(staff.get_by_text("100 webhooks reprocessed: 100 changed, 0 unchanged.")).to_be_visible()
    assert len(clicks) == 3
    assert scans_stored(stack) == 100
    staff.goto("/admin/accounts/audit/")
    row = staff.get_by_role("row").filter(has_text="webhooks read again")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("100 webhooks, ")
    expect(row).to_contain_text(REASON)


def test_the_gap_meter_and_an_unknown_word_fit_a_phone(log_in: Open, stack: Stack) -> None:
    code = """
from django.utils import timezone
from tests import factories
from shipping_portal.accounts.models import Membership
from tracking.models import EventWord
member, now = Membership.objects.first(), timezone.now()
parcel = factories.parcel(factories.order(member.sender, member.user, status="booked", carrier_reference="SGAPS00001"))
for _ in range(3):
    factories.event(parcel, event_type="With sorter", source="poll", received_at=now, scan_time=now)
print(EventWord.objects.create(word="with sorter", spellings=["With sorter"], scans=3, first_seen_at=now).pk)
"""
    word = stack.shell(code).split()[-1]
    staff = log_in("operator", width=360)
    expect(staff.get_by_text("are going missing: polling found 3 scans first")).to_be_visible()
    staff.get_by_role("link", name="See the scans").click()
    expect(staff.locator("#result_list tbody tr")).to_have_count(3)
    for address in (
        f"/admin/tracking/eventword/{word}/decide/?progress=in_transit",
        "/admin/tracking/webhookdelivery/replay/",
    ):
        staff.goto(address)
        assert violations(staff, but=DJANGOS_OWN) == [], address
        assert not has_sideways_scroll(staff), address
    staff.goto(f"/admin/tracking/eventword/{word}/decide/?progress=in_transit")
    staff.get_by_label("Reason").fill(REASON)
    staff.get_by_role("button", name="Map to: On the way").click()
    expect(staff.get_by_text("Parcels to recalculate in the next few minutes: 1.")).to_be_visible()
    progress = "from tracking.models import Parcel; print('is', Parcel.objects.get(reference='SGAPS00001').progress)"
    until(
        lambda: stack.shell(progress).split()[-1] == "in_transit", seconds=20, what="the sweep folds the parcel again"
    )
