"""The database goes down and comes back: every page says when to retry, and every due order is booked."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.processes.conftest import QUICK
from tests.processes.portal import Portal, until, until_ready
from tests.processes.servers import Servers
from tests.processes.visitor import Answer, Visitor
from tests.sandbox_carrier import SandboxCarrier

pytestmark = [pytest.mark.processes]

HANDS, AWAY_SECONDS = 6, 3.0


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with Servers(tmp_path) as started:
        yield started


def test_while_the_database_is_down_every_page_is_503_and_later_every_order_is_booked(
    tmp_path: Path, servers: Servers
) -> None:
    port = free_port()
    with SandboxCarrier(tmp_path / "carrier", key="canary-carrier-key") as carrier:
        portal = Portal(tmp_path / "portal", carrier.url, contract=QUICK, database=servers.postgres())
        with portal:
            portal.start_web(port)
            until_ready(port)
            alice, quotes = Visitor(portal, f"http://127.0.0.1:{port}"), portal.quotes(HANDS * 10)
            with ThreadPoolExecutor(HANDS) as hands:
                ends_at = time.monotonic() + 60
                presses = [hands.submit(_until_taken, alice, quote, ends_at) for quote in quotes]
                servers.stop("postgres")
                away = [alice.look() for _ in range(3)]
                time.sleep(AWAY_SECONDS)
                servers.start("postgres")
                answers = [answer for press in presses for answer in press.result()]
            assert {answer.status for answer in away} == {503}
            refused = [answer for answer in answers + away if answer.status != 302]
            assert {(answer.status, answer.retry_after) for answer in refused} == {(503, "5")}
            taken = {answer.order for answer in answers if answer.status == 302}
            until(lambda: portal.orders() == dict.fromkeys(taken, "booked"), seconds=60, what="all booked")
    assert len(taken) == len(quotes)


def _until_taken(alice: Visitor, quote: str, ends_at: float) -> list[Answer]:
    """Retry the same form as the page asks. Everybody gives up at the same time."""
    token, answers = uuid.uuid4(), [alice.look()]
    while answers[-1].status != 302 and time.monotonic() < ends_at:
        if answers[-1].status not in {200, 503}:
            return answers
        time.sleep(0.2)
        answers.append(alice.press(quote, token))
    return answers[1:]
