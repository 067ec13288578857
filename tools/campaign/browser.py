"""One person's browser: cookies, the form's CSRF token, patience while the portal is down, and checks for leaks."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape

import requests

PATIENCE_SECONDS = 90.0
LOG_INS = 3
LOCKED_SECONDS = 12.0
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Noticed:
    """What visitors saw that they should never see; shared by all of them."""

    secrets: Sequence[str]
    faults: Counter[str] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)

    def look_at(self, reply: requests.Response) -> None:
        """Check that a 503 says when to come back, that no other error above 499 is shown, and no secret."""
        self.answers[reply.status_code] += 1
        where = re.sub(r"[0-9a-f-]{36}", "…", reply.request.path_url)
        if reply.status_code >= 500 and not (reply.status_code == 503 and reply.headers.get("Retry-After")):
            self.faults[f"{reply.status_code} at {where}"] += 1
        if any(secret.encode() in reply.content for secret in self.secrets):
            self.faults[f"a secret on {where}"] += 1


class GaveUp(Exception):
    """Raised when the portal didn't answer for longer than anybody waits."""


class Browser:
    """A browser that asks until it gets an answer, like a person who presses reload. Any form may be sent twice."""

    def __init__(self, url: str, noticed: Noticed) -> None:
        self.url, self.noticed = url, noticed
        self.session = requests.Session()
        self.session.trust_env = False
        self.csrf = ""

    def get(self, path: str) -> requests.Response:
        reply = self._ask("GET", path, None)
        found = TOKEN.search(reply.text)
        if found:
            self.csrf = unescape(found.group(1))
        return reply

    def post(self, path: str, data: dict[str, str]) -> requests.Response:
        return self._ask("POST", path, data)

    def log_in(self, email: str, password: str) -> None:
        """Log in. If the answer was lost, start again from the page, because its session ended with the lost answer."""
        for _ in range(LOG_INS):
            self.get("/accounts/login/")
            reply = self.post("/accounts/login/", {"login": email, "password": password})
            if reply.status_code == 302:
                self.get("/parcels/new/")
                return
            # A server killed during a login leaves the lock of its rate limit behind for ten seconds.
            time.sleep(LOCKED_SECONDS / LOG_INS)
        raise RuntimeError(f"{email} could not log in: {reply.status_code}")

    def _ask(self, method: str, path: str, data: dict[str, str] | None) -> requests.Response:
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < ends_at:
            body = None if data is None else {**data, "csrfmiddlewaretoken": self.csrf}
            try:
                reply = self.session.request(
                    method, self.url + path, data=body, timeout=30, allow_redirects=False,
                    headers={"Referer": self.url + path},
                )  # fmt: skip
            except requests.RequestException:
                self.noticed.answers[0] += 1
            else:
                self.noticed.look_at(reply)
                if reply.status_code < 500:
                    return reply
            time.sleep(0.3)
        raise GaveUp(path)
