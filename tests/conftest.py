"""The cast, the sandbox carrier and a closed network. Alice is an owner, Ana ships for her, Bob is a stranger, Sam is staff."""

import datetime as dt
import gc
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection
from django.template import Context, Template
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from orders.calling import turns
from shipping_portal.accounts.models import Role, Sender, User
from shipping_portal.carrier.connection import close_kept
from shipping_portal.ops import starting
from tests import factories
from tests.catalogue.meddling import Meddler
from tests.flushing import audit_triggers_step_aside_for_a_flush  # noqa: F401  (a fixture of every test)
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tests.template import begin_as_a_copy
from tools.dev.testing import LANDING_ONLY, LONGEST

# A property is broken by what it finds, not by a busy machine that took longer over it than usual.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
NIGHTLY_SECONDS = 5400  # a sabotage is given four campaigns of fifteen minutes
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)  # the cast joined their teams before any event of a test


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run real processes (except smoke tests) and exhaustive tests only with `--full`.

    What needs no database runs beside SQLite only. A nightly test has more than the ten minutes after which
    pytest-timeout ends a test and says where it stood. The longest tests begin first, then the largest groups.
    """
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.timeout(NIGHTLY_SECONDS))
        heavy = any(map(item.get_closest_marker, ("browser", "processes", "campaign", "sabotage")))
        heavy |= item.nodeid.startswith(LANDING_ONLY)
        if heavy and not item.get_closest_marker("smoke"):
            item.add_marker(pytest.mark.full)
    if "postgresql" in settings.DATABASES["default"]["ENGINE"]:
        config.hook.pytest_deselected(items=[item for item in items if not _needs_a_database(item)])
        items[:] = filter(_needs_a_database, items)
    items[:] = longest_first(items)


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the longest tests first, then the largest groups."""
    sizes = Counter(map(_group, items))
    return sorted(items, key=lambda item: (_place(item), -sizes[_group(item)]))


def _place(item: pytest.Item) -> int:
    """Return a test's place among the longest, or the last place."""
    return next((at for at, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))


def _group(item: pytest.Item) -> str:
    """Return the name of the tests that one worker runs, or the test's own."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else item.nodeid


def _needs_a_database(item: pytest.Item) -> bool:
    marks = ("django_db", "processes", "campaign", "sabotage")
    fixtures = {"db", "transactional_db"} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures) or any(map(item.get_closest_marker, marks))


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a measurement even if the test passes. xdist drops what its workers print, except on standard error."""

    def write(text: str) -> None:
        with capfd.disabled():
            sys.stderr.write(f"\n{text}\n")

    return write


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    return True  # it starts migrated, and its folder or server ends with the run


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    begin_as_a_copy(settings.DATABASES["default"], tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Work as the portal's own role. The owner has created the test database and has nothing more to do."""
    _work_as(settings.APP_DATABASE)


@pytest.fixture(scope="session")
def live_server(django_db_setup: None, live_server: LiveServer) -> LiveServer:
    """Start the server after the test database is chosen. It would share one connection with a database in memory."""
    return live_server


@pytest.fixture(scope="module")
def as_the_owner(django_db_setup: None) -> Iterator[None]:
    """Work as the owner, like commands that change more than rows."""
    _work_as(OWNERS)
    yield
    _work_as(settings.APP_DATABASE)


OWNERS = dict(settings.DATABASES["default"])


def _work_as(role: dict[str, Any]) -> None:
    """Connect as another role from here on. The change is in place, so other threads use it too."""
    if settings.IS_OWNER:
        connection.close()
        connection.settings_dict.update({**role, "NAME": connection.settings_dict["NAME"]})


@pytest.fixture(autouse=True, scope="session")
def _nobody_sleeps_for_a_turn() -> None:
    """Let calls take turns without waiting. See `clock` in tests/orders/test_turns.py."""
    turns.APART = 0.0


@pytest.fixture(autouse=True)
def _no_connection_is_kept_from_test_to_test() -> Iterator[None]:
    yield
    close_kept()


@pytest.fixture(autouse=True)
def _nothing_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget that a test began work: otherwise the process would end itself at another test's restore."""
    monkeypatch.setattr(starting, "_begun", False)


@pytest.fixture(autouse=True, scope="session")
def _static_files_are_found_when_asked_for() -> None:
    """Find static files only when asked. WhiteNoise would read them all for each test client: a quarter of page tests' time."""
    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(autouse=True, scope="session")
def _widgets_are_not_noted(django_test_environment: None) -> None:
    """Keep the test client from copying the context of each template of a widget: a form has hundreds of options."""
    noted = Template._render

    def render(self: Template, context: Context) -> str:
        is_widget = (self.name or "").startswith("django/forms/")
        return self.nodelist.render(context) if is_widget else noted(self, context)

    Template._render = render


@pytest.fixture(autouse=True, scope="session")
def _passwords_are_hashed_cheaply() -> None:
    """Make hashing cheap. In production Argon2 takes a quarter of a second of CPU for each password on purpose."""
    Argon2PasswordHasher.time_cost, Argon2PasswordHasher.memory_cost = 1, 8
    Argon2PasswordHasher.parallelism = 1


def pytest_collection() -> None:
    """Keep the garbage collector from scanning what is collected: that took a fifth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning the collected tests, which stay until the end."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _closed_network() -> Iterator[None]:
    """Allow only loopback connections. A test that tries any other fails."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign]
    yield
    socket.socket.connect = connect  # type: ignore[method-assign]


@pytest.fixture
def carrier(tmp_path: Path, settings: Any) -> Iterator[SandboxCarrier]:
    """A separate sandbox carrier over real HTTP, used by the portal. Replays are off."""
    with SandboxCarrier(tmp_path / "carrier", key=settings.CARRIER_KEY, link_key=settings.CARRIER_LINK_KEY) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it
        assert improper(it.requests()) == []


@pytest.fixture
def line(carrier: SandboxCarrier, settings: Any) -> Iterator[Meddler]:
    """The connection to the sandbox carrier, where a test can change replies."""
    with Meddler(carrier.url) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it


@pytest.fixture
def contract(tmp_path: Path, settings: Any) -> Callable[[str], None]:
    """`contract("replays = true")` gives the portal a contract file."""

    def use(toml: str) -> None:
        path = tmp_path / f"contract-{abs(hash(toml))}.toml"
        path.write_text(toml)
        settings.CARRIER_CONTRACT = str(path)

    return use


@pytest.fixture
def carrier_with(tmp_path: Path, settings: Any) -> Iterator[Callable[..., SandboxCarrier]]:
    """`carrier_with('view = ""')` is a carrier with only this in its contract file."""
    running: list[SandboxCarrier] = []

    def start(toml: str, **choices: Any) -> SandboxCarrier:
        file = tmp_path / "told.toml"
        file.write_text(toml)
        settings.CARRIER_CONTRACT = str(file)
        made = SandboxCarrier(tmp_path / "told", contract=toml, key=settings.CARRIER_KEY, **choices)
        running.append(made.__enter__())
        settings.CARRIER_BASE_URL = made.url
        return made

    yield start
    for made in running:
        assert improper(made.requests()) == []
        made.__exit__(None, None, None)


@pytest.fixture
def parcel_tools(contract: Callable[[str], None]) -> None:
    """The carrier gives signed links to its Authorised Tracking Page; the assumed contract gives none."""
    contract('link = "signed"\nlink_page = "https://track.example/t/"\nlink_hosts = "track.example"\n')


@pytest.fixture
def localities(db: None) -> None:
    factories.localities()


@pytest.fixture
def quill(db: None) -> Sender:
    """Alice's business, which ships from Fitzroy."""
    return factories.sender(name="Quill & Co")


@pytest.fixture
def alice(quill: Sender) -> User:
    user = factories.user("alice@quill.example", name="Alice Quill")
    factories.member(quill, user, role=Role.OWNER, since=LONG_AGO)
    factories.pickup_address(quill, email=user.email)
    return user


@pytest.fixture
def ana(quill: Sender, alice: User) -> User:
    return _member(quill, "ana", Role.SHIPPER)


@pytest.fixture
def bea(quill: Sender, alice: User) -> User:
    """The bookkeeper."""
    return _member(quill, "bea", Role.BOOKKEEPER)


@pytest.fixture
def vic(quill: Sender, alice: User) -> User:
    """The viewer."""
    return _member(quill, "vic", Role.VIEWER)


def _member(sender: Sender, name: str, role: str) -> User:
    user = factories.user(f"{name}@quill.example", name=name.title())
    factories.member(sender, user, role=role, since=LONG_AGO)
    return user


@pytest.fixture
def bob(db: None) -> User:
    """A stranger with his own account."""
    business = factories.sender(name="Bob's Bolts")
    user = factories.user("bob@bolts.example", name="Bob Stranger")
    factories.member(business, user, role=Role.OWNER, since=LONG_AGO)
    factories.pickup_address(business, email=user.email)
    return user


@pytest.fixture
def sam(db: None) -> User:
    """The operator, with a second factor."""
    user = factories.user("sam@portal.example", name="Sam Staff", is_staff=True, is_superuser=True)
    factories.second_factor(user)
    return user


@pytest.fixture
def visit() -> Callable[[User], Client]:
    """`visit(alice)` is Alice's browser: a client that is logged in and checks CSRF."""

    def logged_in(user: User) -> Client:
        client = Client()
        client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    return logged_in
