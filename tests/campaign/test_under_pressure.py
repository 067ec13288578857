"""One thing at a time goes wrong with real servers: a silent broker, none at all, no database, a worker that leaves."""

import signal
import statistics
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import pytest
import requests

from tests.campaign.actors import OFFER, PARCEL
from tests.campaign.browser import Browser, Noticed
from tests.campaign.servers import Servers
from tests.processes.portal import until

pytestmark = [pytest.mark.campaign, pytest.mark.full]

AT_ONCE = 8
MOST_ADDED_SECONDS = 1.2  # one broker's silence of a second, then the breaker spares everybody else


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("pressure"), seed=1, replays=True, trouble="") as running:
        yield running


class Desk:
    """The demo's sender at the prices of one parcel, which may be booked again and again under new form tokens."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.noticed = Noticed(servers.secrets)
        self.browser = Browser(servers.url, self.noticed)
        self.browser.log_in("mia@demo.example", "demo-sender-parcel")
        self.prices = self.browser.post("/parcels/new/", PARCEL | {"customer_reference": "SIM-NONE"}).headers[
            "Location"
        ]
        self.product = unescape(OFFER.findall(self.browser.get(self.prices).text)[0][1])

    def press(self, token: str) -> tuple[str, float]:
        """Where Book leads, and after how many seconds."""
        data = {"form_token": token, "product": self.product, "pickup_date": ""}
        began_at = time.monotonic()
        location = self.browser.post(f"{self.prices}book/", data).headers.get("Location", "")
        return location, time.monotonic() - began_at

    def press_all(self, tokens: list[str], *, at_once: int = AT_ONCE) -> tuple[list[str], list[float]]:
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(self.press, tokens))
        return [place for place, _ in answers], [seconds for _, seconds in answers]

    def booked(self) -> set[str]:
        """Our names of the orders the carrier has."""
        return {line["order_key"] for line in self.servers.ledger() if line["effect"] == "booked"}


@pytest.fixture
def desk(servers: Servers) -> Iterator[Desk]:
    servers.everything_runs()
    servers.tell_carrier("clear")
    at_prices = Desk(servers)
    yield at_prices
    assert not at_prices.noticed.faults


def tokens(count: int) -> list[str]:
    return [str(uuid.uuid4()) for _ in range(count)]


def order_in(location: str) -> str:
    return location.split("/")[2]


def p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]


def test_fifty_posts_of_one_form_are_one_order_and_fifty_equal_answers(desk: Desk) -> None:
    places, _ = desk.press_all(tokens(1) * 50, at_once=50)
    assert len(places) == 50
    assert set(places) == {f"/parcels/{order_in(places[0])}/booking/"}
    until(lambda: order_in(places[0]) in desk.booked(), seconds=20, what="it is booked")


def test_a_broker_that_hangs_costs_a_sender_a_second_at_most(desk: Desk, servers: Servers) -> None:
    _, healthy = desk.press_all(tokens(200))
    servers.stop_for("valkey", 300)
    places, hung = desk.press_all(tokens(200))
    assert len(set(places)) == 200
    assert all(place.endswith("/booking/") for place in places)
    assert p99(hung) - p99(healthy) <= MOST_ADDED_SECONDS
    wanted = {order_in(place) for place in places}
    until(lambda: wanted <= desk.booked(), seconds=150, what="the sweep booked them without the broker")


def test_without_any_broker_bookings_go_on_within_a_sweep(desk: Desk, servers: Servers) -> None:
    servers.kill("valkey")
    places, _ = desk.press_all(tokens(5))
    wanted = {order_in(place) for place in places}
    until(lambda: wanted <= desk.booked(), seconds=30, what="the sweep booked them")


def test_while_the_database_is_away_pages_say_when_to_come_back(desk: Desk, servers: Servers) -> None:
    servers.kill("postgres")
    answers = [
        requests.get(f"{servers.url}{path}", timeout=20) for path in ("/parcels/", "/accounts/login/") * 3
    ]
    assert {answer.status_code for answer in answers} == {503}
    assert all(answer.headers["Retry-After"] for answer in answers)
    servers.start("postgres")
    place, _ = desk.press(tokens(1)[0])
    until(lambda: order_in(place) in desk.booked(), seconds=30, what="it is booked once the database is back")


def test_a_worker_that_is_asked_to_leave_finishes_its_calls(desk: Desk, servers: Servers) -> None:
    for _ in range(3):
        servers.tell_carrier("trouble", operation="book", verb="slow", count=4, arg=1.0)
        places, _ = desk.press_all(tokens(4))
        time.sleep(0.5)
        for name in ("worker-a", "worker-b"):
            leave(servers, name)
        wanted = {order_in(place) for place in places}
        until(lambda wanted=wanted: wanted <= desk.booked(), seconds=30, what="they are booked")
    until(lambda: not unclear(desk, places), seconds=10, what="nothing is unclear")


def leave(servers: Servers, name: str) -> None:
    """SIGTERM, as a deployment sends it, and the next one comes."""
    process = servers.crew.members.pop(name)
    process.send_signal(signal.SIGTERM)
    process.wait(35)
    servers.start(name)


def unclear(desk: Desk, places: list[str]) -> list[str]:
    pages = [desk.browser.get(f"/parcels/{order_in(place)}/").text for place in places]
    return [page for page in pages if "may or may not be booked" in page]
