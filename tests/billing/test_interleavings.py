"""Reports and lines change in any order, and the net amount is always the sum of the lines."""

from collections.abc import Callable
from functools import partial

import pytest

from shipping_portal import celery
from shipping_portal.accounts.models import User
from shipping_portal.billing.reports import checking
from tests import stories
from tests.billing.story import Story

pytestmark = pytest.mark.django_db
Tell = Callable[[int, int], None]


@pytest.fixture
def tell(alice: User, bob: User, sam: User, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """`tell(40, 30)` runs forty stories of up to thirty steps."""
    monkeypatch.setattr(checking, "BATCH", 2)
    monkeypatch.setattr(celery, "_broken_until", float("inf"))  # messages are lost; the story checks by itself
    Story.cast = (alice, bob, sam)
    return partial(stories.tell, Story)


def test_net_is_the_sum_of_the_lines_in_half_a_dozen_stories(tell: Tell) -> None:
    tell(6, 30)


@pytest.mark.full
def test_net_is_the_sum_of_the_lines_in_twenty_stories(tell: Tell) -> None:
    tell(20, 30)


@pytest.mark.nightly
def test_net_is_the_sum_of_the_lines_in_a_hundred_and_twenty_long_stories(tell: Tell) -> None:
    tell(120, 50)
