"""Form values and the responses to them."""

from typing import Any

from orders.models import Order, Quote
from shipping_portal.accounts.address.text import normalise_text
from tests.catalogue.browsing import Browser, ListeningCarrier, lost
from tests.pages.typed import messages_at

NEW = "/parcels/new/"
HIDDEN = "Use plain text on one line, without hidden characters."
TWICE = "This was sent twice. Fill it in once."


def refused(browser: Browser, form: dict[str, Any], name: str, message: str, listener: ListeningCarrier) -> None:
    """Check that the message is at its field, everything else typed is kept, and nothing happened."""
    answer = browser.send(NEW, form)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [message]
    is_seen = not isinstance(form[name], str) or normalise_text(form[name]) == form[name]
    cannot_be_shown = {name} if isinstance(form[name], list) or _is_a_choice(name) or not is_seen else set()
    assert set(lost(answer, form)) <= cannot_be_shown
    assert not Quote.objects.exists()
    assert not Order.objects.exists()
    assert listener.asked == []


def _is_a_choice(name: str) -> bool:
    """Return whether a field is a list or radio buttons, which can show only their own options."""
    return name in {"delivery_choice", "receiver_country", "contents_type"}
