"""The columns of the parcels list, chosen by each person and kept."""

import datetime as dt
import re
from collections.abc import Callable

import pytest
import time_machine
from django.test import Client

from orders.models import Order
from shipping_portal.accounts.formatting import plain
from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
LIST, COLUMNS = "/parcels/", "/parcels/columns/"
USUAL = ["To", "Reference", "Order", "Status", "Pickup", "Due", "Price"]


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", product_name="Express Pickup")


def heads(browser: Client) -> list[str]:
    page = browser.get(LIST).content.decode()
    found = [re.sub(r"<[^>]*>", "", head).strip() for head in re.findall(r"(?s)<th\b.*?</th>", page)]
    cells = re.search(r"(?s)<tbody.*?</tr>", page)
    assert cells
    assert cells[0].count("<td") - cells[0].count('class="way"') == len(found)  # the journey has no heading
    return found[1:]  # the first column is the checkbox


@pytest.mark.parametrize(
    ("progress", "said"),
    [("in_transit", "Due Tue 8 Dec"), ("delivered", "Arrived Tue 1 Dec"), ("returning", "Due Tue 8 Dec")],
)
@time_machine.travel("2026-12-01T05:00Z", tick=False)
def test_a_delivered_parcel_shows_when_it_arrived_and_not_when_it_was_due(
    quill: Sender, alice: User, visit: Visit, progress: str, said: str
) -> None:
    """On a phone there is no heading: “Delivered, Tue 8 Dec” was read as the day it arrived."""
    moved = dt.datetime(2026, 12, 1, 1, tzinfo=dt.UTC)
    factories.order(quill, alice, status="booked", progress=progress, progress_at=moved, eta_to=dt.date(2026, 12, 8))
    page = visit(alice).get(LIST).content.decode()
    cell = re.search(r'(?s)<td role="cell" class="d">(.*?)</td>', page)
    assert cell
    assert " ".join(re.sub(r"<[^>]*>", "", cell[1]).split()) == said


def test_everybody_has_the_default_columns_until_they_choose(
    order: Order, alice: User, ana: User, visit: Visit
) -> None:
    browser = visit(alice)
    assert heads(browser) == USUAL
    answer = browser.post(COLUMNS, {"column": ["weight", "service", "nonsense"], "query": "sort=oldest&x=1"})
    assert answer["Location"] == "/parcels/?sort=oldest"
    assert heads(browser) == ["To", "Reference", "Status", "Service", "Weight"]
    page = browser.get(LIST).content.decode()
    assert "Express Pickup</td>" in page
    assert f"{plain(order.weight_kg)} kg</td>" in page
    assert heads(visit(ana)) == USUAL


def test_a_list_can_be_reduced_to_the_fixed_columns(order: Order, alice: User, visit: Visit) -> None:
    browser = visit(alice)
    browser.post(COLUMNS)
    assert heads(browser) == ["To", "Reference", "Status"]
