"""The carrier's weekly report in the admin, in a real browser: from the file to its posting, and each of its pages."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.billing.conftest import line, refund, summed
from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations
from tests.processes.portal import ROOT

DJANGOS_OWN = frozenset({"empty-table-header"})  # the first cell of its inline tables, which holds nothing
MONEY = re.compile(r"^admin$|:billing_|^billing ")
LOOKS = [(360, "light"), (1280, "dark")]
COUNT_CLICKS = """document.addEventListener("pointerdown", () => {
    sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1;
}, true);"""
TIMEOUT = 60_000


def booked(stack: Stack) -> str:
    """The reference of a parcel of the demo's sender."""
    code = """
from shipping_portal.accounts.models import Membership
from tests import factories
member = Membership.objects.first()
print(factories.order(member.sender, member.user, status="booked", due_at=None).carrier_reference)
"""
    return stack.shell(code).split()[-1]


def test_a_report_is_read_and_posted_in_three_clicks_a_file_and_a_reason(
    log_in: Open, stack: Stack, tmp_path: Path
) -> None:
    reference, file = booked(stack), tmp_path / "billing-2026-11-23.csv"
    cost = line(reference, "14.08", Warranty_Price="2.00")
    size = line(reference, "4.20", Type="Adjustment: Incorrect size declared")
    file.write_bytes(summed(cost, size, refund(reference, "1.00", Refund_Reason="Delay"), line("SFOREIGN1")))
    page = log_in("operator")
    page.add_init_script(COUNT_CLICKS)
    page.goto("/admin/")
    page.get_by_role("link", name="Upload a report").click()
    page.get_by_label("File:").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Checked, not posted.")).to_be_visible(timeout=TIMEOUT)  # the page reloaded by itself
    balance = page.get_by_role("region", name="Balance check")
    expect(balance.get_by_role("row").nth(1)).to_have_text(re.compile(r"AUD\s+29\.36\s+29\.36\s+Matches"))
    for found in ("Order cost", "Extra Cover", "Size or weight adjustment", "Refund for delay"):
        expect(page.get_by_role("region", name="By charge type").get_by_text(found)).to_be_visible()
    expect(page.get_by_role("link", name="1 line", exact=True)).to_be_visible()  # of the foreign reference
    assert violations(page, but=DJANGOS_OWN) == []
    page.get_by_label("Reason").fill("Read against the invoice.")
    page.get_by_role("button", name="Post").click()
    expect(page.get_by_text("Post: done for billing-2026-11-23.csv.")).to_be_visible()
    assert int(page.evaluate("sessionStorage.clicks")) == 3


def test_without_javascript_a_reports_page_reloads_by_itself(log_in: Open, tmp_path: Path) -> None:
    file = tmp_path / "billing-2026-11-16.csv"
    file.write_bytes(summed(*(line(f"SQUIET{number:03d}") for number in range(20))))
    page = log_in("operator", javascript=False)
    page.goto("/admin/billing/billingreport/upload/")
    page.get_by_label("File:").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Checked, not posted.")).to_be_visible(timeout=TIMEOUT)
    expect(page.get_by_role("link", name="20 lines")).to_be_visible()


@pytest.fixture(scope="module")
def room(stack: Stack) -> Any:
    """An operator's cookie, and the admin's pages about money in each of their states."""
    command = [sys.executable, "-m", "tests.browser.gallery", "operator"]
    done = subprocess.run(
        command, cwd=ROOT, env=stack.portal.env, capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])["operator"]


@pytest.mark.nightly  # test_every_page.py checks each in the operator's room before every merge
def test_every_page_about_money_is_accessible_and_fits(room: Any, open_browser: Open, stack: Stack) -> None:
    page = open_browser()
    page.context.add_cookies([{"name": "session", "value": room["cookie"], "url": stack.url}])
    pages = {name: address for name, address in room["pages"].items() if MONEY.search(name)}
    assert len(pages) >= 20
    faults = []
    for name, address in pages.items():
        page.goto(address)
        for width, theme in LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=theme)
            page.evaluate("document.getAnimations().forEach(change => change.finish())")
            faults += [f"{name} {width} {theme}: {fault}" for fault in violations(page, but=DJANGOS_OWN)]
            if has_sideways_scroll(page):
                faults.append(f"{name} {width}: scrolls sideways")
            keep(page, f"{name}-{width}-{theme}")
    assert faults == []


def keep(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        file = Path(folder) / f"money-{re.sub(r'[^a-z0-9]+', '-', name.lower())}.png"
        page.screenshot(path=file, full_page=True, animations="disabled")


STRAYS = """
from django.utils import timezone
from orders.models import Order
from shipping_portal.accounts.models import Membership, Sender
from tests import factories
from tests.staff import cases
member = Membership.objects.select_related("sender", "user").first()
cases.unclear(member.sender, member.user)
name = f"PO {Order.objects.count()}"
factories.order(member.sender, member.user, status="booked", due_at=None, customer_reference=name)
report = factories.billing_report(uploaded_at=timezone.now())
today = timezone.now().date()
factories.charge(None, reference="SNOBODY71", report=report, customer_reference=name, day=today)
factories.charge(None, "oversize", "4.20", reference="SNOBODY72", report=report, day=today.replace(year=2025))
factories.charge(None, "delay-refund", "-3.00", reference="SNOBODY73", report=report, day=today)
print(member.sender.number)
"""


@pytest.mark.parametrize(("width", "scheme"), [(w, s) for w in (360, 1280) for s in ("light", "dark")])
def test_unassigned_lines_are_ticked_shown_and_assigned(log_in: Open, stack: Stack, width: int, scheme: Any) -> None:
    number = stack.shell(STRAYS).split()[-1]
    page = log_in("operator")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto("/admin/billing/charge/?owner=nobody")
    for reference in ("SNOBODY71", "SNOBODY72", "SNOBODY73"):
        page.get_by_role("row").filter(has_text=reference).first.get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("Assign to one sender")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_label("Assign to").fill(number)
    page.get_by_role("button", name="Show where they go").click()
    expect(page.get_by_text("Total, 2 lines:")).to_be_visible()
    expect(page.get_by_text("It may belong to an unresolved booking")).to_be_visible()
    assert violations(page, but=DJANGOS_OWN) == []
    assert not has_sideways_scroll(page)
    keep(page, f"assign-{width}-{scheme}")
    page.get_by_label("Reason").fill("The carrier named the account.")
    page.get_by_role("button", name="Assign selected").click()
    expect(page.get_by_text("2 assigned to")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="SNOBODY73").first).to_be_visible()
