"""One form sent fifty times at once over real HTTP makes one order, and everybody is redirected to it."""

import uuid

import pytest

from tests.processes.conftest import Shop

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]


def test_fifty_presses_of_one_form_make_one_order_and_redirect_to_it(shop: Shop) -> None:
    [quote], token = shop.portal.quotes(1), uuid.uuid4()
    before = len(shop.portal.orders())
    answers = shop.alice.press_all([quote] * 50, at_once=50, token=token)
    assert {answer.status for answer in answers} == {302}
    assert len({answer.location for answer in answers}) == 1
    assert len(shop.portal.orders()) == before + 1
    order = answers[0].order
    shop.wait_until_booked([order], seconds=20)
    assert shop.booked_at_the_carrier([order]) == [order]
