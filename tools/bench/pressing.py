"""The processes that press Book, ours and the usual one: each calls its application directly, without a web server.

They read [what, count] lines, and answer each with a line of JSON.
"""

import datetime as dt
import io
import json
import secrets
import sys
import time
import urllib.parse
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import django
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.queries import sql_of

SENDERS = 8
PATIENCE, LOOK = 60.0, 0.02  # seconds
SOON = dt.timedelta(minutes=1)  # longer than a lease, shorter than until the first poll
TRANSACTIONS = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")  # not counted
PARCEL = {
    "name": "Noor Tamsin", "email": "noor.tamsin@example.net", "phone": "0491 570 156", "line1": "4 Sample Street",
    "suburb": "HOBART", "state": "TAS", "postcode": "7000", "country": "AU", "description": "Boxed ceramic mugs",
    "weight_kg": "2.4", "length_cm": "32", "width_cm": "24", "height_cm": "11",
}  # fmt: skip


@dataclass(frozen=True)
class Browser:
    """A browser in which somebody is logged in."""

    ask: Any
    cookies: dict[str, str]
    csrf: str

    def post(self, path: str, fields: dict[str, Any], *, expected: int) -> float:
        """Send a form, and return the CPU seconds until it was answered."""
        body = urllib.parse.urlencode(fields).encode()
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "127.0.0.1", "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": str(len(body)),
            "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "HTTP_X_CSRFTOKEN": self.csrf, "wsgi.input": io.BytesIO(body), "wsgi.url_scheme": "http",
        }  # fmt: skip
        began = time.process_time()
        answer = self.ask(environ, lambda status, headers, exc_info=None: None)
        content = b"".join(answer)
        answer.close()
        took = time.process_time() - began
        if answer.status_code != expected:
            raise SystemExit(f"{path} answered {answer.status_code}: {content[:300]!r}")
        return took


class Ours:
    """Senders of the portal, who press Book on its page."""

    def __init__(self) -> None:
        from shipping_portal.accounts.models import Sender  # noqa: PLC0415  (the other side has no such app)
        from tools.bench.due_orders import DueOrders  # noqa: PLC0415

        ask, due_orders = WSGIHandler(), DueOrders()
        Sender.objects.filter(pk__in=[one.pk for one in due_orders.senders]).update(
            bookings_a_day=100_000, money_a_day=None, unbilled_limit=10**9
        )
        self.members = [one.made_by for one in due_orders.samples]
        self.browsers = [self._browser(ask, one) for one in self.members]
        self.shown: list[list[tuple[str, uuid.UUID]]] = []  # pages of prices, and their quotes, of each sender

    def _browser(self, ask: WSGIHandler, member: Any) -> Browser:
        from shipping_portal.accounts.login.session_store import SessionStore  # noqa: PLC0415
        from tools.bench.pages import BACKEND  # noqa: PLC0415

        csrf = secrets.token_hex(16)
        session = _logged_in(SessionStore(), member, BACKEND)
        session.update({"began_at": time.time(), "device": "Phone", "_csrftoken": csrf})
        session.save()
        return Browser(ask, {"session": session.session_key}, csrf)

    def begin(self, count: int) -> None:
        """Show each of them the prices of this many parcels."""
        from tests import factories  # noqa: PLC0415

        def shown(member: Any) -> tuple[str, uuid.UUID]:
            quote = factories.quote(member.membership.sender, member)
            return factories.prices_of(quote), quote.uuid

        self.shown = [[shown(one) for _ in range(count)] for one in self.members]

    def press(self, number: int) -> float:
        place = number % SENDERS
        page, quote = self.shown[place].pop()
        fields = {"product": "STANDARD-PICKUP", "another": "1", "form_token": quote}
        return self.browsers[place].post(f"{page}book/", fields, expected=302)

    def due(self, last: str = "") -> str:
        """Return the name of a job that is due, or "". The `last` one is checked first, which takes one query."""
        from shipping_portal.jobs.registry import all_kinds  # noqa: PLC0415

        kinds = sorted(all_kinds(), key=lambda kind: kind.name != last)
        return next((kind.name for kind in kinds if kind.due(timezone.now() + SOON).exists()), "")

    def make_the_rest_due(self) -> None:
        """Fetch now what the portal leaves for quiet times: the other size of each label."""
        from orders.models import Label  # noqa: PLC0415
        from shipping_portal.celery import publish_task  # noqa: PLC0415

        keys = list(Label.objects.filter(is_spare=True, due_at__isnull=False).values_list("pk", flat=True))
        Label.objects.filter(pk__in=keys).update(is_spare=False, due_at=timezone.now())
        for pk in keys:
            publish_task("jobs.label", pk)

    def statements(self) -> int:
        """Return how many statements one parcel takes, done in this process. The first of a day takes more."""
        self._parcel()
        return self._parcel()

    def _parcel(self) -> int:
        count = _statements(partial(self.press, 0)) + self._work()
        self.make_the_rest_due()
        return count + self._work()

    def _work(self) -> int:
        from shipping_portal.jobs.registry import all_kinds  # noqa: PLC0415

        count = 0
        while self.due():
            for kind in all_kinds():
                for pk in kind.due(timezone.now()).values_list("pk", flat=True):
                    count += _statements(partial(kind, pk))
        return count


class Usual:
    """Users of the usual way, who post to its API."""

    def __init__(self, way: Any) -> None:
        self.way, ask = way, WSGIHandler()
        self.browsers = [self._browser(ask, f"user-{number}") for number in range(SENDERS)]

    def _browser(self, ask: WSGIHandler, name: str) -> Browser:
        from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415

        user = self.way.User.objects.create_user(name)
        session = _logged_in(SessionStore(), user, "django.contrib.auth.backends.ModelBackend")
        session.save()
        csrf = secrets.token_hex(16)
        return Browser(ask, {"sessionid": session.session_key, "csrftoken": csrf}, csrf)

    def begin(self, _count: int) -> None:
        """Do nothing: no preparation is needed."""

    def press(self, number: int) -> float:
        return self.browsers[number % SENDERS].post("/orders/", PARCEL, expected=202)

    def due(self, _last: str = "") -> str:
        """Return "labels" until there are two of each order."""
        is_missing = self.way.Label.objects.count() < 2 * self.way.Order.objects.count()
        return "labels" if is_missing else ""

    def make_the_rest_due(self) -> None:
        """Do nothing: both labels are fetched at once."""

    def statements(self) -> int:
        """Return how many statements one parcel takes, done in this process."""
        self.way.app.conf.task_always_eager = True
        count = _statements(partial(self.press, 0))
        self.way.app.conf.task_always_eager = False
        return count


class Program:
    """The requests that the measuring process may make of one side."""

    def __init__(self, side: Any) -> None:
        self.side, self.looking = side, ThreadPoolExecutor(1)  # its own connection, which is not counted
        self.threads = ThreadPoolExecutor(SENDERS)

    def looker(self, _: int) -> int:
        """Return the PostgreSQL process that only checks whether something is due."""
        return int(self.looking.submit(_backend).result())

    def begin(self, count: int) -> None:
        """Prepare this many presses for each sender."""
        self.side.begin(count)

    def press(self, count: int) -> list[float]:
        """Press Book this many times; return the CPU seconds of each press."""
        return [self.side.press(number) for number in range(count)]

    def press_at_once(self, count: int) -> None:
        """Press Book this many times in each of eight threads, each for a different sender."""
        list(self.threads.map(lambda sender: [self.side.press(sender) for _ in range(count)], range(SENDERS)))

    def finish(self, _: int) -> float:
        """Return how many seconds it took until nothing was due."""
        began = time.perf_counter()
        for do in (self._wait, self.side.make_the_rest_due, self._wait):
            self.looking.submit(do).result()
        return time.perf_counter() - began

    def statements(self, _: int) -> int:
        self.side.begin(2)
        return int(self.side.statements())

    def _wait(self) -> None:
        ends, due = time.monotonic() + PATIENCE, ""
        while due := self.side.due(due):
            if time.monotonic() > ends:
                raise RuntimeError(f"the workers did not finish the jobs that were due, such as {due}")
            time.sleep(LOOK)


def _logged_in(session: Any, user: Any, backend: str) -> Any:
    session.update({SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: backend})
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    return session


def _backend() -> int:
    connection.ensure_connection()
    return int(connection.connection.info.backend_pid)


def _statements(do: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as queries:
        do()
    return sum(not sql.startswith(TRANSACTIONS) for sql in sql_of(queries))


def serve(side: Any) -> None:
    """Answer each line of standard input with what that method of Program returns."""
    program = Program(side)
    for line in sys.stdin:
        what, count = json.loads(line)
        print(json.dumps(getattr(program, what)(count)), flush=True)


def main_ours() -> None:
    django.setup()
    serve(Ours())


def main_usual() -> None:
    from tools.bench import usual  # noqa: PLC0415  (it has its own settings)

    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        for model in (usual.Order, usual.Parcel, usual.Label):
            editor.create_model(model)
    serve(Usual(usual))
