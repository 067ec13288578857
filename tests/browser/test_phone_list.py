"""On a phone a row of the list takes two lines, and the Print page's first button prints."""

import json

from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, has_sideways_scroll, violations

MOST = 76  # pixels per row
# Fifty rows with long names and places, in every state that has its own badge.
FIFTY = """
from django.utils import timezone
from orders.models.statuses import Progress, Status
from shipping_portal.accounts.models import User
from tests import factories
import datetime as dt
user = User.objects.get(email={email!r})
sender = user.membership.sender
states = [dict(status=one) for one in Status if one != Status.BOOKED]
states += [dict(status="booked", progress=one, progress_at=timezone.now()) for one in Progress]
late = dt.date(2026, 1, 5)
for number in range(50):
    name = ["Wilhelmina Featherstonehaugh-Cholmondeley", "Rosa Lindqvist", "Priya Nair and Daughters"][number % 3]
    place = ["Ballarat Central", "Surry Hills", "Royal Melbourne Hospital"][number % 3]
    made = factories.order(sender, user, receiver_name=name, receiver_suburb=place, receiver_state="VIC",
        eta_to=late if number % 2 else None, customer_reference=f"LONG-{{number:04}}", **states[number % len(states)])
    if number % 5 == 0:
        factories.stored_label(made)
"""


def test_fifty_rows_of_the_list_take_two_lines_each_on_a_phone(log_in: Open, stack: Stack) -> None:
    stack.shell(FIFTY.format(email=stack.people["sender"]["email"]))
    page = log_in("sender", width=360)
    page.goto("/parcels/?q=LONG")
    heights = page.eval_on_selector_all(
        "table.list tbody tr", "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert len(heights) == 50
    assert [high for high in heights if high > MOST] == [], json.dumps(heights)
    outside = "badges => badges.filter(it => it.getBoundingClientRect().right > 344).map(it => it.innerText)"
    assert page.eval_on_selector_all("table.list .badge", outside) == []
    assert not has_sideways_scroll(page)
    assert violations(page) == []


def test_the_first_button_of_the_print_page_prints_on_a_phone(log_in: Open, stack: Stack) -> None:
    stack.shell(FIFTY.format(email=stack.people["sender"]["email"]))
    page = log_in("sender", width=360)
    page.goto("/parcels/print/")
    first = page.locator(".queue .btn").first
    expect(first).to_contain_text("Print")
    expect(page.locator("#came-out")).to_be_hidden()
    assert page.locator("main .btn.go:visible").count() == 1
    answer = page.request.get(first.get_attribute("href") or "")
    assert answer.headers["content-type"] == "application/pdf"
    page.reload()
    expect(page.locator("#came-out")).to_be_visible()
    assert violations(page) == []
    assert not has_sideways_scroll(page)
