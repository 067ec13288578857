"""The broker only speeds things up. Without it every form is still accepted at once and every order is booked."""

import pytest

from tests.processes.conftest import Shop
from tests.processes.visitor import Answer, p99

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]

AT_ONCE = 8
ADDED_SECONDS = 1.2  # what a lost message may cost


def submit(shop: Shop, count: int) -> tuple[list[Answer], list[str]]:
    answers = shop.alice.press_all(shop.portal.quotes(count), at_once=AT_ONCE)
    assert {answer.status for answer in answers} == {302}
    return answers, [answer.order for answer in answers]


def with_a_hung_broker(shop: Shop, count: int) -> None:
    healthy, orders = submit(shop, count)
    shop.wait_until_booked(orders, seconds=60 + count / 2)
    shop.servers.freeze("valkey")
    try:
        hung, orders = submit(shop, count)
        assert p99(hung) - p99(healthy) <= ADDED_SECONDS, (p99(hung), p99(healthy))
        shop.wait_until_booked(orders, seconds=60 + count / 2)
    finally:
        shop.servers.thaw("valkey")
    assert sorted(shop.booked_at_the_carrier(orders)) == sorted(orders)


def test_a_hung_broker_delays_nobody_and_loses_nothing(shop: Shop) -> None:
    with_a_hung_broker(shop, 24)


@pytest.mark.nightly
def test_two_hundred_forms_are_accepted_with_a_hung_broker(shop: Shop) -> None:
    with_a_hung_broker(shop, 200)


def test_without_a_broker_from_the_start_the_sweep_books(shop: Shop) -> None:
    shop.portal.kill_workers()
    shop.servers.stop("valkey")
    shop.portal.start_workers()
    try:
        _, orders = submit(shop, AT_ONCE)
        shop.wait_until_booked(orders, seconds=30)
    finally:
        shop.servers.start("valkey")
