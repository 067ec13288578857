"""An invited person joins, in a real browser: no test client sends the Origin header that a browser does."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Stack, violations

INVITED = """
from django.utils import timezone
from shipping_portal.accounts.models import User
from shipping_portal.accounts.teams import team
owner = User.objects.get(email={email!r})
key = team.token_hash({token!r})
team._create_invitation(owner.membership.sender, {invited!r}, "viewer", key, by=owner, now=timezone.now())
"""


@pytest.mark.parametrize("javascript", [True, False])
def test_an_invited_person_joins(open_browser: Open, stack: Stack, *, javascript: bool) -> None:
    token, invited = f"a-token-for-the-invited-{javascript}", f"invited-{javascript}@quill.example".lower()
    stack.shell(INVITED.format(email=stack.people["sender"]["email"], token=token, invited=invited))
    page = open_browser(javascript=javascript, width=360)
    page.goto(f"/invitation/{token}/")
    page.fill("input[name=name]", "Ida Invited")
    page.fill("input[name=password]", "a staple, 7 lamps and rain")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_text("You were logged out")).to_have_count(0)
    assert "/invitation/" not in page.url
    if javascript:  # which the check needs
        assert violations(page) == []


def test_somebody_logs_out_from_the_page_with_the_carriers_link(log_in: Open, stack: Stack) -> None:
    code = """
from shipping_portal.accounts.models import User
from tests import factories
user = User.objects.get(email={email!r})
print(factories.order(user.membership.sender, user, status="booked").uuid)
"""
    order = stack.shell(code.format(email=stack.people["sender"]["email"])).split()[-1]
    page = log_in("sender")
    page.goto(f"/orders/{order}/tracking-page/")
    page.locator("details.me summary").click()
    page.get_by_role("link", name="Log out").click()
    page.locator("main").get_by_role("button", name="Log out").click()
    page.wait_for_load_state()
    page.goto("/today/")
    assert "/accounts/login/" in page.url
