"""The web server is killed during bookings through the API: each key still makes one order, and none is stuck."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.factories import OFFER
from tests.processes.conftest import Shop
from tests.processes.portal import until_ready

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("shop")]

AT_ONCE = 8
MAKE_TOKEN = """
from tests import factories
from tests.processes.actor import cast
print(factories.api_token(cast()[1]).text)
"""


class Program:
    """A program that posts over real HTTP. None is a response that never came."""

    def __init__(self, shop: Shop) -> None:
        self.url = f"{shop.alice.url}/api/v1/parcels"
        self.headers = {"Authorization": f"Bearer {shop.portal.run_code(MAKE_TOKEN).strip()}", "Connection": "close"}

    def book(self, quote: str, key: str, product: str = str(OFFER["code"])) -> Any:
        chosen = {"quote": quote, "product": product, "another": True}
        try:
            return requests.post(self.url, json=chosen, headers=self.headers | {"Idempotency-Key": key}, timeout=60)
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            return None


def killed_after(shop: Shop, program: Program, quote: str, key: str, seconds: float) -> list[Any]:
    """Post with one key, kill the web process this soon, and restart it. Return the responses."""
    with ThreadPoolExecutor(AT_ONCE) as hands:
        sent = [hands.submit(program.book, quote, key) for _ in range(AT_ONCE)]
        time.sleep(seconds)
        shop.portal.kill("web")
    port = int(shop.alice.url.rpartition(":")[2])
    shop.portal.start_web(port)
    until_ready(port)
    return [one.result() for one in sent]


def test_a_key_survives_kill_9_in_the_middle_of_a_post(shop: Shop) -> None:
    program, cut, made = Program(shop), 0, []
    for seconds in (0.0, 0.02, 0.04, 0.08, 0.16, 0.32):
        [quote], key, before = shop.portal.quotes(1), str(uuid.uuid4()), len(shop.portal.orders())
        answers = killed_after(shop, program, quote, key, seconds)
        cut += answers.count(None)
        answers = [one for one in answers if one is not None] + [program.book(quote, key) for _ in range(3)]
        assert {(one.status_code, one.content) for one in answers} == {(202, answers[-1].content)}, seconds
        other = program.book(quote, key, product="OTHER")
        assert (other.status_code, other.json()["type"].partition("#")[2]) == (422, "key-reused")
        assert len(shop.portal.orders()) == before + 1
        made.append(answers[-1].json()["id"])
    assert cut >= AT_ONCE  # or nothing was interrupted
    shop.wait_until_booked(made, seconds=60)
    assert sorted(shop.booked_at_the_carrier(made)) == sorted(made)
