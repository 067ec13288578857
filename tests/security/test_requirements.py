"""What OWASP ASVS requires of the settings, the code and the login. docs/security/asvs.md lists each row."""

import ast
import importlib
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client
from django.utils.module_loading import import_string

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import reading
from tests import factories
from tests.security import patterns
from tests.security.documents import ROOMS, ROOT

pytestmark = pytest.mark.django_db


@cache
def sources() -> list[tuple[Path, ast.AST]]:
    """Return each file of the code with its syntax tree."""
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    return [(file, ast.parse(file.read_text())) for file in files if not {"migrations", "sandbox"} & {*file.parts}]


@pytest.fixture(autouse=True, scope="module")
def _trees_are_forgotten() -> Iterator[None]:
    """Forget the trees: the garbage collector would check millions of nodes for the rest of the run."""
    yield
    sources.cache_clear()


def calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """Yield every call in the code with the last part of the name it calls."""
    for file, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield file, node, getattr(node.func, "attr", getattr(node.func, "id", ""))


# -- 1: encoding and sanitization ----------------------------------------------------------------


def test_no_sql_is_put_together_from_values() -> None:
    for file, call, name in calls():
        if name in {"execute", "executemany", "raw", "RawSQL", "extra"}:
            built = [part for part in ast.walk(call.args[0]) if isinstance(part, ast.JoinedStr | ast.BinOp)]
            assert not built, f"{file}:{call.lineno}"


METHODS = {"fullmatch", "match", "search", "sub", "split", "findall", "finditer"}


def uses() -> set[tuple[str, re.Pattern[str], str]]:
    """Yield each use of a regular expression in the code: its file, the expression and the method called."""
    found = set()
    for file, call, method in calls():
        owner = getattr(call.func, "value", None)
        if method not in METHODS or not isinstance(owner, ast.Name) or not call.args:
            continue
        path = str(file.relative_to(ROOT))
        if owner.id == "re":
            pattern = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
            found |= {(path, re.compile(str(pattern)), method)} if pattern else set()
        elif owner.id.isupper():
            module = importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
            value = getattr(module, owner.id, None)
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found.add((path, value, method))
    return found


def kept() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield each expression a module defines by name, alone or in a collection, no matter where it is used."""
    for file, _ in sources():
        path = str(file.relative_to(ROOT))
        module = sys.modules.get(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for value in vars(module).values() if module else ():
            among = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for one in among:
                if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                    yield path, one, "search"


def expressions() -> list[tuple[str, re.Pattern[str], str]]:
    named = uses()
    known = {pattern for _, pattern, _ in named}
    every = named | {one for one in kept() if one[1] not in known}
    return sorted(every, key=lambda one: (one[0], one[1].pattern, one[2]))


FEW = 3  # pieces the daytime texts are made of
OLD_STREET = r"^(?:\w+[ /,]+)?\d+\w?(?:[/-]\d+\w?)*[ ,]+\D|\b(?:p\.? ?o\.? box|locked bag)\b"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (OLD_STREET, "search"),
        (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "search"),  # an email address without its lookbehind
        (r"#(?: *#? *)[\w-]+$", "match"),  # blanks that are one or the other's
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]*", "sub"),  # a token inside a token
        (r"x=(?:[a-f]+[0-9]?)*;", "search"),  # only after its start
    ],
)
def test_an_expression_slower_than_linear_is_found(pattern: str, method: str) -> None:
    expression = re.compile(pattern)
    assert any(
        patterns.is_slow(expression, method, attack, patterns.LONG // 2) for attack in patterns.attacks(expression, FEW)
    )


def slow(expression: re.Pattern[str], method: str, pieces: int, ends: Sequence[str] = patterns.ENDS) -> str:
    attacks = patterns.attacks(expression, pieces, ends)
    return next((f"{attack}: {why}" for attack in attacks if (why := patterns.is_slow(expression, method, attack))), "")


def test_no_regular_expression_is_slower_than_linear_for_a_few_texts() -> None:
    every = expressions()
    assert len(every) > 100
    found = {one: slow(one[1], one[2], FEW, patterns.ENDS[:1]) for one in every}
    assert {one: why for one, why in found.items() if why} == {}


@pytest.mark.nightly
def test_no_regular_expression_is_slower_than_linear_for_any_text() -> None:
    """Four times as many characters take about four times as long, whichever two pieces a text repeats."""
    found = {one: slow(one[1], one[2], patterns.MOST_PIECES) for one in expressions()}
    assert {one: why for one, why in found.items() if why} == {}


# -- 3 and 13: what is served --------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", ["/.git/config", "/.env", "/static/", "/static/../manage.py", "/%2e%2e/.env", "/media/", "/__debug__/"]
)
def test_none_of_our_files_are_served(given: str) -> None:
    assert Client().get(given).status_code == 404


# -- The settings of an installation -------------------------------------------------------------


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Load settings.py with an empty environment."""
    for name in [name for name in os.environ if re.match(r"(TESTING|DEMO|DEBUG|HSTS_|SESSION|SITE_URL)", name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SECRET_KEY", "only-for-this-test")
    monkeypatch.setenv("TESTING", "0")
    return runpy.run_path(str(ROOT / "shipping_portal/settings.py"))


def test_an_installation_is_secure_by_default(production: dict[str, Any]) -> None:
    assert not production["DEBUG"]
    assert production["ALLOWED_HOSTS"] == []
    assert production["SESSION_COOKIE_NAME"].startswith("__Host-")
    assert production["KNOWN_BROWSER_COOKIE"].startswith("__Host-")
    assert production["SESSION_COOKIE_SECURE"]
    assert production["SESSION_COOKIE_SAMESITE"] == "Lax"
    assert production["CSRF_USE_SESSIONS"]  # so it has no cookie
    assert not {"SESSION_COOKIE_DOMAIN", "SESSION_COOKIE_PATH", "SESSION_COOKIE_HTTPONLY"} & production.keys()
    assert (production["SECURE_HSTS_SECONDS"], production["SECURE_HSTS_INCLUDE_SUBDOMAINS"]) == (31_536_000, True)
    assert production["SECURE_SSL_REDIRECT"]
    assert production["CELERY_ACCEPT_CONTENT"] == ["json"]
    assert production["CACHES"]["default"]["BACKEND"].endswith(".JsonCache")  # throttles work without a broker
    assert "SESSION_SERIALIZER" not in production  # Django's is JSON


def test_every_cookie_is_only_for_our_host(alice: User) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Client()
    browser.post("/accounts/login/", {"login": alice.email, "password": factories.PASSWORD})
    assert len(browser.cookies) == 2
    for cookie in browser.cookies.values():
        assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")


# -- 6 and 11: logins and secrets ----------------------------------------------------------------


def test_an_unknown_login_takes_as_much_work_as_a_wrong_password(
    alice: User, monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any]
) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    hashed: list[str] = []
    really = Argon2PasswordHasher.encode
    verified = Argon2PasswordHasher.verify
    monkeypatch.setattr(Argon2PasswordHasher, "encode", lambda *a: hashed.append("work") or really(*a))
    monkeypatch.setattr(Argon2PasswordHasher, "verify", lambda *a: hashed.append("work") or verified(*a))
    for email in (alice.email, "nobody@nowhere.example"):
        hashed.clear()
        Client().post("/accounts/login/", {"login": email, "password": "wrong-password-altogether"})
        assert hashed == ["work"], email
    for email in (alice.email, "nobody@nowhere.example"):
        mailoutbox.clear()
        Client().post("/accounts/password/reset/", {"email": email})
        assert len(mailoutbox) == 1, email


def test_a_long_password_counts_to_its_last_character(alice: User) -> None:
    long = "correct horse battery staple " * 5
    alice.set_password(long)
    alice.save()
    for tried, status in ((long[:-2], 200), (long, 302)):
        assert Client().post("/accounts/login/", {"login": alice.email, "password": tried}).status_code == status
    names = [one["NAME"].rpartition(".")[2] for one in configured.AUTH_PASSWORD_VALIDATORS]
    assert "CommonPasswordValidator" in names
    assert not {"NumericPasswordValidator", "UppercaseValidator"} & set(names)  # length, not composition
    page = Client().get("/accounts/login/").content.decode()
    assert 'autocomplete="current-password"' in page
    assert "onpaste" not in page + "".join(file.read_text() for file in (ROOT / "static").rglob("*.js"))


def test_every_secret_has_enough_random_bits() -> None:
    """At least 128 bits from the operating system; `random` is used only for jitter."""
    sizes = {}
    for file, call, name in calls():
        if name in {"token_urlsafe", "token_hex", "token_bytes"} and file.name != "marks.py":  # a stamp is not a secret
            sizes[file.name] = call.args[0].value if call.args else 32  # type: ignore[attr-defined]
    assert sizes
    assert min(sizes.values()) >= 16
    drawing = {file.name for file, tree in sources() for node in ast.walk(tree) if _imports(node, "random")}
    assert drawing <= {"models.py", "registry.py", "machine.py", "labels.py", "pace.py", "turns.py", "packing.py"}
    hasher = import_string(configured.PASSWORD_HASHERS[0])
    assert hasher is Argon2PasswordHasher


def _imports(node: ast.AST, module: str) -> bool:
    return isinstance(node, ast.Import) and any(alias.name == module for alias in node.names)


# -- 15 and 16: code and logs --------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["production", "production-s3"])
def test_the_image_installs_only_what_is_in_the_lock_file(lock: str) -> None:
    lock = (ROOT / f"requirements/{lock}.txt").read_text()
    named = [line for line in lock.splitlines() if line[:1].isalpha()]
    assert named
    assert all("==" in line and line.endswith("\\") for line in named)  # the next line is its checksum
    assert "--hash=sha256:" in lock
    image = (ROOT / "deploy/Dockerfile").read_text()
    assert "ARG REQUIREMENTS=production\n" in image
    assert "pip install --require-hashes -r requirements/${REQUIREMENTS}.txt" in image


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], int]:
    return lambda: sum(record.levelname == "WARNING" for record in caplog.records)


REFUSED: list[tuple[str, Callable[[Client], Any], int]] = [
    ("a forged form", lambda browser: Client(enforce_csrf_checks=True).post("/accounts/login/", {}), 403),
    ("a body that is no form", lambda browser: browser.post("/parcels/new/", b"{}", content_type="text/json"), 415),
    ("a NUL in the query", lambda browser: browser.get("/parcels/?q=%00"), 400),
    ("another host", lambda browser: browser.get("/", headers={"host": "evil.example"}), 400),
    ("another method", lambda browser: browser.delete("/parcels/"), 405),
]


@pytest.mark.parametrize(("what", "ask", "status"), [(what, ask, status) for what, ask, status in REFUSED])
def test_bypassing_the_forms_writes_one_log_line(
    what: str, ask: Callable[[Client], Any], status: int, alice: User, visit: Any, caplog: Any
) -> None:
    caplog.clear()
    assert ask(visit(alice)).status_code == status
    assert sum(record.levelname in {"WARNING", "ERROR"} for record in caplog.records) == 1, what


# -- 2: the numbers of the business --------------------------------------------------------------


def test_the_limits_are_the_agreed_ones() -> None:
    default = {field.name: field.default for field in Sender._meta.fields if field.has_default()}
    assert (default["bookings_a_day"], default["quotes_a_minute"]) == (2000, 60)
    assert (reading.MOST_ROWS, reading.MOST_BYTES) == (2000, 2 * 1024 * 1024)
    assert configured.DATA_UPLOAD_MAX_NUMBER_FIELDS == 600


def test_no_step_can_be_done_before_the_one_it_needs(quill: Sender, alice: User, visit: Any) -> None:
    """There is no booking without a price, and no label or cancellation before the carrier has booked."""
    browser = visit(alice)
    nobody = "00000000-0000-4000-8000-000000000000"
    assert browser.post(f"/parcels/drafts/{nobody}/prices/book/", {"product": "STANDARD-PICKUP"}).status_code == 404
    assert Order.objects.count() == 0
    for status in ("draft", "booking", "unconfirmed", "rejected", "cancelled"):
        order = factories.order(quill, alice, status=status)
        assert browser.get(f"/parcels/{order.uuid}/label/full.pdf").status_code in (404, 409), status
        browser.post(f"/parcels/{order.uuid}/cancel/", {"need": "not-sending", "confirm": "1"})
        order.refresh_from_db()
        assert order.status == status
