"""Check an installation for real users: each unsafe setting is an error that says what to do.

`check --deploy` lists them all. A few can be accepted by listing their ids in `ACCEPTED_RISKS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import redis
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from shipping_portal.carrier import outgoing
from shipping_portal.carrier.hosts import is_loopback

FEWEST_CHARACTERS = 8  # distinct characters in a secret
SHORTEST_KEY = 32
ACCEPTABLE = {
    "portal.E025": "no proxy in front, because this process ends TLS itself",
    "portal.E029": "no TLS to the database, because the network in between is nobody else's",
    "portal.E030": "SQLite, because there is one machine and few parcels",
    "portal.E041": (
        "receivers in the database's log, because nobody else reads it and it ends within 30 days"
    ),
}


@dataclass(frozen=True)
class Rule:
    """A condition that must not hold: its id, a test for it, what is wrong and what to do."""

    id: str
    is_broken: Callable[[], bool]
    text: str
    hint: str

    def message(self) -> CheckMessage:
        """Return the message: a warning if the id begins with W, else an error."""
        kind = Warning if self.id.startswith("portal.W") else Error
        accepting = (
            f" Or accept it in ACCEPTED_RISKS: {ACCEPTABLE[self.id]}"
            if self.id in ACCEPTABLE
            else ""
        )
        return kind(self.text, hint=self.hint + accepting, id=self.id)


def broken_rules(rules: Iterable[Rule]) -> Iterator[CheckMessage]:
    """Yield the message of each broken rule whose risk wasn't accepted."""
    accepted = ACCEPTABLE.keys() & set(settings.ACCEPTED_RISKS)
    return (rule.message() for rule in rules if rule.id not in accepted and rule.is_broken())


def is_demo_or_test() -> bool:
    """Return whether this is the demo or a test run, which have no real carrier or users."""
    return settings.DEMO or settings.TESTING


def is_weak(secret: str) -> bool:
    """Return whether a secret is too short, or so uniform that somebody probably typed it."""
    return len(secret) < SHORTEST_KEY or len(set(secret)) < FEWEST_CHARACTERS


def _is_elsewhere(host: str | None) -> bool:
    """Return whether a host is on a network shared with others. A one-word name is on our own."""
    return bool(host) and "." in str(host) and not is_loopback(str(host))


def default_database() -> dict[str, Any]:
    return settings.DATABASES["default"]


def _broker_address() -> SplitResult:
    return urlsplit(settings.REDIS_URL)


def _has_open_database() -> bool:
    is_closed = default_database().get("OPTIONS", {}).get("sslmode") in {
        "verify-full",
        "verify-ca",
        "require",
    }
    return _is_elsewhere(default_database().get("HOST")) and not is_closed


def _has_guessable_database() -> bool:
    user, password = default_database().get("USER"), default_database().get("PASSWORD")
    return bool(password) and password in {user, "password", "postgres"}


RULES = (
    Rule(
        "portal.E020",
        lambda: not settings.ALLOWED_HOSTS or "*" in settings.ALLOWED_HOSTS,
        "ALLOWED_HOSTS is empty or allows any host.",
        "List the hosts of SITE_URL: email links are built from them.",
    ),
    Rule(
        "portal.E021",
        lambda: (
            urlsplit(settings.SITE_URL).scheme != "https"
            or urlsplit(settings.SITE_URL).path not in {"", "/"}
        ),
        "SITE_URL is not https, or has a path.",
        "Set the address where people reach the portal, like https://portal.example.",
    ),
    Rule(
        "portal.E022",
        lambda: "smtp" not in settings.EMAIL_BACKEND,
        "EMAIL_URL sends no email, so no one can verify an address or reset a password.",
        "Set EMAIL_URL=smtp+tls://user:password@host:587, and try it with `manage.py"
        " sendtestemail`.",
    ),
    Rule(
        "portal.E023",
        lambda: "@localhost" in settings.DEFAULT_FROM_EMAIL,
        "DEFAULT_FROM_EMAIL is a local address.",
        "Use a mailbox on your own domain.",
    ),
    Rule(
        "portal.E024",
        lambda: not (settings.CARRIER_KEY and settings.CARRIER_ACCOUNT),
        "CARRIER_KEY or CARRIER_ACCOUNT is empty, so the carrier will refuse every request.",
        "Both come from the carrier's partner manager.",
    ),
    Rule(
        "portal.E025",
        lambda: settings.TRUSTED_PROXY_COUNT < 1,
        "TRUSTED_PROXY_COUNT is 0. Behind a proxy, every visitor has its address and no request is"
        " https.",
        "Set it to the number of proxies in front that set X-Forwarded-For and X-Forwarded-Proto.",
    ),
    Rule(
        "portal.E026",
        lambda: settings.TIME_SCALE != 1,
        "TIME_SCALE shortens how long we wait for the carrier's answers.",
        "Remove it: it is only for campaigns against the pretend carrier.",
    ),
    Rule(
        "portal.E027",
        lambda: settings.POLL_SECONDS < 300,
        "POLL_SECONDS is under five minutes, which the carrier will refuse.",
        "Remove it. The default is one hour.",
    ),
    Rule(
        "portal.E028",
        lambda: (
            not _broker_address().password
            or (_is_elsewhere(_broker_address().hostname) and _broker_address().scheme != "rediss")
        ),
        "REDIS_URL has no password, or crosses a network without TLS.",
        "Use redis://:password@host, or rediss:// if the host is on another network.",
    ),
    Rule(
        "portal.E029",
        _has_open_database,
        "DATABASE_URL connects to another machine without TLS.",
        "Add ?sslmode=verify-full and &sslrootcert=… to it.",
    ),
    Rule(
        "portal.E030",
        lambda: default_database()["ENGINE"].endswith("sqlite3"),
        "DATABASE_URL is a file.",
        "Use PostgreSQL: workers and web write at the same time.",
    ),
    Rule(
        "portal.E031",
        _has_guessable_database,
        "The DATABASE_URL password is easy to guess.",
        "`openssl rand -hex 24` makes a good one.",
    ),
    Rule(
        "portal.E061",
        lambda: bool(settings.ALERT_WEBHOOK_URL) and is_weak(settings.ALERT_WEBHOOK_SECRET),
        "ALERT_WEBHOOK_SECRET is easy to guess, so anyone could forge an alert or an all-clear.",
        "`openssl rand -hex 32` makes a good one. Give it to the receiver too.",
    ),
    Rule(
        "portal.E062",
        lambda: bool(settings.METRICS_TOKEN) and is_weak(settings.METRICS_TOKEN),
        "METRICS_TOKEN is easy to guess, and /metrics shows how much is booked.",
        "`openssl rand -hex 32` makes a good one. Leave it empty if you don't use /metrics.",
    ),
)


@register(Tags.security, deploy=True)
def check_installation(**options: Any) -> Iterable[CheckMessage]:
    return () if is_demo_or_test() else broken_rules(RULES)


@register(Tags.security, deploy=True)
def check_receivers_of_alerts(**options: Any) -> Iterable[CheckMessage]:
    """Refuse an address to which no alert could ever be sent, resolving its name now."""
    if is_demo_or_test():
        return
    for name in ("ALERT_WEBHOOK_URL", "HEARTBEAT_URL"):
        url = getattr(settings, name)
        if url and (why := outgoing.why_unreachable(url, settings.ALERT_PRIVATE_HOSTS)):
            yield Error(
                f"{name} {why}, so nothing is sent there.",
                hint=(
                    "Use an address like https://alerts.example/portal. List a host of your own"
                    " network in ALERT_PRIVATE_HOSTS."
                ),
                id="portal.E060",
            )


@register(Tags.security, deploy=True)
def check_accepted_risks(**options: Any) -> Iterable[CheckMessage]:
    if unknown := set(settings.ACCEPTED_RISKS) - set(ACCEPTABLE):
        yield Error(
            f"ACCEPTED_RISKS names {', '.join(sorted(unknown))}, which can't be accepted.",
            hint="; ".join(f"{name}: {why}" for name, why in ACCEPTABLE.items()),
            id="portal.E032",
        )


@register(Tags.security, deploy=True)
def check_broker_answers(**options: Any) -> Iterable[CheckMessage]:
    try:
        redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=2).ping()
    except (redis.RedisError, ValueError, OSError):
        yield Warning(
            "REDIS_URL isn't answering.",
            hint=(
                "Bookings still work, a few seconds slower. Check the address, the password and the"
                " server."
            ),
            id="portal.W020",
        )


@register(Tags.security, deploy=True)
def check_alerts_reach_somebody(**options: Any) -> Iterable[CheckMessage]:
    is_alerting = settings.ALERT_EMAILS or settings.ALERT_WEBHOOK_URL
    if not (is_demo_or_test() or (is_alerting and settings.HEARTBEAT_URL)):
        yield Warning(
            (
                "No one is alerted when something needs attention: ALERT_EMAILS and"
                " ALERT_WEBHOOK_URL are empty."
                if not is_alerting
                else "HEARTBEAT_URL is empty, so no one notices if the portal can't send alerts."
            ),
            hint=(
                "See .env.example for how to set them, and “Alerts” in deploy/README.md for what is"
                " sent."
            ),
            id="portal.W030",
        )


@register(Tags.security)
def check_no_demo_in_public(**options: Any) -> Iterable[CheckMessage]:
    """Refuse every command in a public demo: its passwords are public and tracebacks reveal all."""
    on = [name for name in ("DEMO", "TESTING", "DEBUG") if getattr(settings, name)]
    if on and settings.SITE_URL.startswith("https://"):
        yield Error(
            f"{' and '.join(on)} is set on a public SITE_URL.",
            hint="Remove it from the environment: it lets anyone log in as the demo operator.",
            id="portal.E033",
        )


@register(Tags.database)
def check_encryption_keys_fit(**options: Any) -> Iterator[CheckMessage]:
    """Refuse to migrate, and so to start, with keys that can't read the second factors."""
    from django.db import connection  # noqa: PLC0415

    # Models load after checks.
    from shipping_portal.accounts.login import encryption  # noqa: PLC0415

    if (
        not options.get("databases")
        or "mfa_authenticator" not in connection.introspection.table_names()
    ):
        return
    if not encryption.is_readable():
        yield Error(
            "ENCRYPTION_KEYS has no key for the second factors in this database.",
            hint="Add the key they were encrypted with to the end of ENCRYPTION_KEYS.",
            id="portal.E017",
        )


QUOTES_NOBODY = {  # the values that count, with the one to set first
    "log_min_messages": "log fatal panic",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
}


@register(Tags.database, deploy=True)
def check_database_log(**options: Any) -> Iterator[CheckMessage]:
    """Check whether the server's log quotes statements and rows: nothing erases names in it."""
    from django.db import connection  # noqa: PLC0415

    if not options.get("databases") or connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(QUOTES_NOBODY)]
        )
        wrong = {
            name: setting
            for name, setting in cursor.fetchall()
            if setting not in QUOTES_NOBODY[name].split()
        }
    right = ", ".join(f"{name} = {QUOTES_NOBODY[name].split()[0]}" for name in sorted(wrong))
    if wrong and "portal.E041" not in settings.ACCEPTED_RISKS:
        yield Error(
            "PostgreSQL's log quotes receivers:"
            f" {', '.join(f'{name} is {wrong[name]}' for name in sorted(wrong))}.",
            hint=(
                f"Set {right} (docs/database.md)."
                f" Or accept it in ACCEPTED_RISKS: {ACCEPTABLE['portal.E041']}"
            ),
            id="portal.E041",
        )


@register(Tags.database, deploy=True)
def check_database_role(**options: Any) -> Iterator[CheckMessage]:
    """List the portal role's excess rights, which an attacker could use."""
    from shipping_portal.db import roles  # noqa: PLC0415  (it speaks to the database)

    if options.get("databases") and (rights := roles.too_many()):
        yield Error(
            f"The portal's database role {', '.join(rights)}.",
            hint=(
                "Give DATABASE_URL its own role and MIGRATE_DATABASE_URL the owner's address. Then"
                " run `manage.py database_roles` (docs/database.md)."
            ),
            id="portal.E040",
        )
