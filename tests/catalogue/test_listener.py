"""The listener behind the real web server: bodies with a false length, and a burst of scans."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
from django.conf import settings

from tests.catalogue.pushing import URL, basic, wire
from tests.catalogue.rows import rows
from tests.catalogue.serving import Listener, serving

pytestmark = [pytest.mark.processes, pytest.mark.xdist_group("listener")]  # one web server for all

BODY = wire()
LENGTH = len(BODY)
MOST = 64 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    with serving(tmp_path_factory.mktemp("listener")) as it:
        yield it


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


@rows(
    "pieces, answered, kept",
    ("W10", "honest", (b"Content-Length: %d\r\n\r\n" % LENGTH, BODY), {200}, [BODY]),
    ("W10", "a length too short", (b"Content-Length: %d\r\n\r\n" % (LENGTH - 9), BODY), {200}, [BODY[:-9]]),
    ("W10", "a length too long", (b"Content-Length: %d\r\n\r\n" % (LENGTH + 9), BODY), {400}, []),
    ("W10", "a negative length", (b"Content-Length: -1\r\n\r\n", BODY), {400}, []),
    ("W10", "a length that isn't a number", (b"Content-Length: 1e3\r\n\r\n", BODY), {400}, []),
    ("W10", "two lengths", (b"Content-Length: 5\r\nContent-Length: %d\r\n\r\n" % LENGTH, BODY), {400}, []),
    ("W10", "a length and chunks", (b"Content-Length: 5\r\n", CHUNKED, chunk(BODY), END), {400, 200}, None),
    ("W10", "one chunk", (CHUNKED, chunk(BODY), END), {200}, [BODY]),
    ("W10", "many chunks", (CHUNKED, *(chunk(bytes([b])) for b in BODY), END), {200}, [BODY]),
    ("W10", "chunks without their end", (CHUNKED, chunk(BODY)), {400, 0}, []),
    ("W10", "a chunk cut short", (CHUNKED, chunk(BODY)[:-20]), {400, 0}, []),
    ("W10", "a chunk of no size", (CHUNKED, b"zz\r\n", BODY), {400, 0}, []),
    ("W10", "1 MiB of chunks", (CHUNKED, *(chunk(b" " * MOST) for _ in range(16)), END), {413, 0}, []),
)
def test_a_body_with_a_false_length_is_never_stored_in_part(
    server: Listener, pieces: tuple[bytes, ...], answered: set[int], kept: list[bytes] | None
) -> None:
    before = len(server.stored())
    status = server.says(*pieces)
    assert status in answered
    new = server.stored()[before:]
    assert [body for _, body in new] == kept if kept is not None else {body for _, body in new} <= {BODY}


EVENTS, LINES = 5_000, 8
PATIENCE = 5.0  # seconds, for 99 of 100 answers on a busy machine; the carrier waits for ten


@pytest.mark.nightly
@rows("", ("W29", "5,000 events at once"))
def test_a_burst_is_stored_completely_while_pages_are_served(server: Listener) -> None:
    before = len(server.stored())
    bodies = [
        wire(event_id=str(uuid.UUID(int=number + 1)), carrier_reference=f"SBURST{number % 500:03d}")
        for number in range(EVENTS)
    ]
    shares = [bodies[number::LINES] for number in range(LINES)]
    with ThreadPoolExecutor(LINES + 1) as pool:
        visitor = pool.submit(lambda: [_ask(server, "GET", "/readyz") for _ in range(200)])
        answers = list(chain.from_iterable(pool.map(lambda share: _deliver(server, share), shares)))
        visits = visitor.result()
    stored = server.stored()[before:]
    assert sorted(body for _, body in stored) == sorted(bodies)
    assert {state for state, _ in stored} == {"new"}  # a worker reads them, and none is here
    for asked in (answers, visits):
        assert {status for status, _ in asked} == {200}
        assert sorted(seconds for _, seconds in asked)[len(asked) * 99 // 100] < PATIENCE


def _deliver(server: Listener, bodies: list[bytes]) -> list[tuple[int, float]]:
    return [_ask(server, "POST", URL, body) for body in bodies]


def _ask(server: Listener, method: str, path: str, body: bytes | None = None) -> tuple[int, float]:
    """Return the status and duration, in seconds, of one request on its own connection."""
    began_at = time.monotonic()
    line = server.line()
    line.request(method, path, body, {"Authorization": basic(settings.WEBHOOK_SECRETS[0])})
    status = line.getresponse().status
    line.close()
    return status, time.monotonic() - began_at
