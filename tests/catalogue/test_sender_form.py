"""The pickup address: the same rules as for the receiver, and an email address that somebody reads."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress

from shipping_portal.accounts.models import LocalityList, PickupAddress, User
from tests.catalogue.browsing import Browser, lost
from tests.catalogue.rows import rows
from tests.pages.typed import messages_at

pytestmark = pytest.mark.django_db

URL = "/settings/pickup-address/"
ADDRESS = {
    "name": "Ira Quill",
    "company": "Quill & Co",
    "line1": "12 Example Lane",
    "line2": "",
    "suburb": "fitzroy",
    "state": "VIC",
    "postcode": "3065",
    "phone": "0491570006",
    "instructions": "Behind the counter",
    "email": "alice@quill.example",
}
HIDDEN = "Use plain text on one line, without hidden characters."
PHONE = "Check this phone number: write it with its area code, or with + and the country's code."
EMAIL = "Choose one of the addresses on the page; the carrier won't take another."
PAIR = "Brunswick doesn't match 3065 on the carrier's list. Choose one of the places below, or correct both."
TWICE = "This was sent twice. Fill it in once."
SHARED = "This looks like a shared mailbox. Drivers and the carrier write here. Use an inbox a person reads."


@rows(
    "name, typed, message",
    ("B1", "sender's name", "name", "a\x00b", HIDDEN),
    ("B1", "sender's phone", "phone", "0491 570 006\x00", HIDDEN),
    ("B2", "sender's name", "name", "\x07", HIDDEN),
    ("B3", "pickup instructions", "instructions", "porch\r\nBcc: a@b", HIDDEN),
    ("B5", "sender's line of 256", "line1", "x" * 256, "Use at most 255 characters; this has 256."),
    (
        "B6",
        "sender's line",
        "line1",
        "12 Example Lane, Fitzroy VIC 3065",
        "Leave out “Fitzroy VIC 3065” here. It's printed from the suburb field.",
    ),
    (
        "B7",
        "sender's company",
        "company",
        "IRA  quill",
        "Contact and company are the same. Clear company so it prints once.",
    ),
    ("B18", "sender's suburb", "suburb", "Brunswick", PAIR),
    ("B23", "the sender's own support@", "email", "support@quill.example", EMAIL),
    ("B23", "noreply@", "email", "noreply@quill.example", EMAIL),
    ("B23", "somebody else's", "email", "bob@bolts.example", EMAIL),
    ("B24", "sender's phone", "phone", "<script>", PHONE),
    ("B24", "40 digits of the sender's", "phone", "4" * 40, PHONE),
    (
        "B25",
        "10,000 characters for the driver",
        "instructions",
        "x" * 10_000,
        "Use at most 200 characters; this has 10000.",
    ),
    ("B30", "sender's suburb", "suburb", ["fitzroy", "hobart"], TWICE),
    ("B30", "sender's e-mail", "email", ["alice@quill.example", "bob@bolts.example"], TWICE),
)
def test_a_bad_value_in_a_pickup_address_is_refused(
    alices: Browser, alice: User, name: str, typed: Any, message: str
) -> None:
    EmailAddress.objects.create(user=alice, email="support@quill.example", verified=True)
    form = {**ADDRESS, name: typed}
    answer = alices.send(URL, form)
    assert answer.status_code == 422
    assert messages_at(answer, name) == [message]
    cannot_be_shown = {name} if isinstance(typed, list) or name == "email" else set()
    assert set(lost(answer, form)) <= cannot_be_shown
    assert PickupAddress.objects.get().suburb == "FITZROY"


@rows("", ("B23", "a shared mailbox"))
def test_a_shared_mailbox_needs_confirmation(alices: Browser, alice: User) -> None:
    EmailAddress.objects.create(user=alice, email="info@quill.example", verified=True)
    form = {**ADDRESS, "email": "info@quill.example"}
    answer = alices.send(URL, form)
    assert messages_at(answer, "reads_mailbox") == [SHARED]
    assert alices.send(URL, {**form, "reads_mailbox": "on"}).status_code == 302


@rows(
    "typed",
    ("B29", "country and owner of the pickup address", {"country": "US", "sender": "1", "is_default": ""}),
    ("B29", "a place of 30 digits", {"place": "9" * 30}),
)
def test_unknown_fields_of_the_pickup_address_are_ignored(alices: Browser, typed: dict[str, str]) -> None:
    assert alices.send(URL, {**ADDRESS, **typed}).status_code == 302
    assert PickupAddress.objects.get().country == "AU"


@rows("", ("B19", "a state off the list, where no list of places is loaded"))
def test_a_state_must_be_on_the_list(alices: Browser) -> None:
    LocalityList.objects.all().delete()
    answer = alices.send(URL, {**ADDRESS, "state": "ZZ"})
    assert messages_at(answer, "state") == ["Choose one of the states on the list."]
