"""One logged-in person without a browser: forms posted over real HTTP, many at once."""

import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import requests

from tests.factories import OFFER
from tests.processes.portal import Portal

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """The response to one press of Book and how long it took."""

    status: int
    seconds: float
    location: str
    retry_after: str

    @property
    def order(self) -> str:
        return self.location.split("/")[2]


class Visitor:
    def __init__(self, portal: Portal, url: str) -> None:
        self.url, held = url, portal.log_in()
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Connection"] = "close"  # an idle connection may be closed just as we use it
        self.session.cookies.set("session", held["cookie"])
        self.csrf = held["csrf"]

    def press(self, quote: str, token: uuid.UUID | None = None) -> Answer:
        """Book the only offer of a quote. Without a token it is a new form."""
        form = {
            "csrfmiddlewaretoken": self.csrf,
            "product": str(OFFER["code"]),
            "form_token": str(token or uuid.uuid4()),
            "another": "yes",
        }
        return self.ask("POST", f"/parcels/new/{quote}/book/", form)

    def look(self) -> Answer:
        return self.ask("GET", "/parcels/", None)

    def press_all(self, quotes: Iterable[str], *, at_once: int, token: uuid.UUID | None = None) -> list[Answer]:
        with ThreadPoolExecutor(at_once) as hands:
            return list(hands.map(lambda quote: self.press(quote, token), quotes))

    def ask(self, method: str, path: str, form: dict[str, str] | None) -> Answer:
        began_at = time.monotonic()
        reply = self.session.request(
            method, self.url + path, data=form, timeout=PATIENCE_SECONDS, allow_redirects=False
        )
        seconds = time.monotonic() - began_at
        headers = reply.headers
        return Answer(reply.status_code, seconds, headers.get("Location", ""), headers.get("Retry-After", ""))


def p99(answers: list[Answer]) -> float:
    """Return the 99th percentile of the response times, in seconds."""
    ordered = sorted(answer.seconds for answer in answers)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
