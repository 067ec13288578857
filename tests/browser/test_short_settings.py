"""V18: Settings and Notifications are short on a phone."""

import pytest

from tests.browser.conftest import Open, has_sideways_scroll, violations

HEIGHT = "document.documentElement.scrollHeight"


@pytest.mark.parametrize(("path", "most"), [("/settings/", 2100), ("/settings/notifications/", 1550)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_v18_settings_are_short_on_a_phone(log_in: Open, path: str, most: int, theme: str) -> None:
    page = log_in(width=360, touch=True, theme=theme)
    page.goto(path)
    assert page.evaluate(HEIGHT) <= most
    assert not has_sideways_scroll(page)
    assert violations(page) == []
