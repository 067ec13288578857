"""The documents in docs/security that are generated from the code. With `UPDATE_EXPECTED=1` this folder's test writes
them again.
"""

import ast
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings

from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.api_tokens import SCOPES
from shipping_portal.accounts.login import openid, passwords, sessions
from shipping_portal.accounts.models import Sender
from shipping_portal.accounts.teams import team
from shipping_portal.api.reference import openapi
from shipping_portal.carrier import certificates, deadline, outgoing
from shipping_portal.importing import reading
from shipping_portal.ops import metrics_port
from shipping_portal.staff.alerts import alerting
from tests.access import ACCESS, PUBLIC_NAMES, ROLES
from tests.security import data_classes
from tracking import views as webhook

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("shipping_portal", "orders", "tracking")
MADE = "Made from the code by `UPDATE_EXPECTED=1 ./dev test tests/security`; a test fails if the two differ.\n"


def modules() -> Iterator[str]:
    """Return every module of the portal except the sandbox carrier, commands and migrations."""
    for room in ROOMS:
        package = importlib.import_module(room)
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            if not re.search(r"\.(migrations|sandbox|management)\b|\.wsgi$", found.name):
                yield found.name


def rows(head: tuple[str, ...], body: list[tuple[object, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *body]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines) + "\n"


# -- Who may open what ---------------------------------------------------------------------------


def access() -> str:
    pages = [
        (f"`{name}`", *("yes" if role in who else "" for role in ROLES))
        for who, names in ACCESS.items()
        for name in sorted(names.split())
    ]
    acts = [
        (act, *("yes" if group in who else "" for group in permissions.GROUPS)) for act, who in permissions.ACTS.items()
    ]
    calls = [
        (
            f"`{declared['operationId']}`",
            f"`{scope}`",
            *("yes" if role in SCOPES[scope].roles else "" for role in ROLES),
        )
        for methods in openapi()["paths"].values()
        for declared in methods.values()
        for scope in declared["security"][0]["Bearer"]
    ]
    hidden = [f"- {group} does not see {', '.join(sorted(what))}." for group, what in permissions.HIDDEN.items()]
    return (
        f"# Access\n\n{MADE}\nLogged-in users who aren't in the row get 404, as if the page did not exist; so "
        "does everybody who asks for another account's objects. Visitors are redirected to the login page. What a role may do "
        "also depends on the state of a parcel (`orders/models/statuses.py`): a label only while it is booked, a "
        "cancellation only before that ends.\n"
        f"\n## Senders' pages, by role\n\n{rows(('page', *ROLES), sorted(pages))}"
        "## The API's operations, by scope and role\n\nEach takes a bearer token with the scope, and nothing else. It acts "
        "as a member, with their role at that moment (`docs/decisions/0045-a-token-acts-as-a-member.md`). Another role gets "
        "403; another account's objects are 404.\n\n"
        f"{rows(('operation', 'scope', *ROLES), sorted(calls))}"
        f"## Without a login\n\n{', '.join(f'`{name}`' for name in sorted(PUBLIC_NAMES))}.\n\n"
        "The description of the API, the help pages, `/livez` and `/readyz` (one word each) need no login either. "
        "Nor do these pages under `/accounts/`: login, sign-on, sign-up and password resets.\n\n"
        "## The admin, by group\n\nAn operator is in a group and has a second factor; each action "
        "requires a reason and is in the audit log. "
        f"A superuser may do everything.\n\n{rows(('action', *permissions.GROUPS), acts)}"
        "Every group reads every page, with receivers' email, phone and street masked. A search finds only a whole "
        "email or phone, and leaves an audit row with a keyed hash. An operator viewing "
        "a sender's pages as the sender sees no link, form or button that would be refused.\n\n"
        + "\n".join(hidden)
        + "\n"
    )


# -- What is accepted ----------------------------------------------------------------------------


def validation() -> str:
    rules = (
        "Every field is checked on the server; the browser's own checks are only for convenience. Across "
        "fields: suburb, state and postcode must be on the carrier's list; a sender's email must reach people and not "
        "be the partner's; some service must accept the weight and measures; which contents and duties are needed depends "
        "on the receiver's country; a pickup day must be on offer."
    )
    files = (
        "An import's CSV, TSV or text, and a carrier's report: read by their content, whatever the file name; never "
        "executed, unpacked or stored as a file. No input is ever used as a path."
    )
    limits = rows(("what", "limit"), _limits())
    parts = [f"# Validation\n\n{MADE}\n{rules}\n\n## Limits\n\n{limits}## Files\n\n{files}\n\n"]
    for form in sorted(_forms(), key=lambda one: (one.__module__, one.__name__)):
        if form.base_fields:
            fields = [(f"`{name}`", type(field).__name__, *_rule(field)) for name, field in form.base_fields.items()]
            parts.append(
                f"## {form.__module__}: {form.__name__}\n\n{rows(('field', 'kind', 'needed', 'limits'), fields)}"
            )
    return "".join(parts)


def _limits() -> list[tuple[object, ...]]:
    default = {field.name: field.default for field in Sender._meta.fields if field.has_default()}
    return [
        ("parcels an account books a day, unless set otherwise", default["bookings_a_day"]),
        ("money an account books a day, unless set otherwise", default["money_a_day"]),
        ("money all accounts book a day", settings.DAILY_MONEY_LIMIT),
        ("prices an account asks for a minute", default["quotes_a_minute"]),
        ("rows and bytes of an import", f"{reading.MOST_ROWS}, {reading.MOST_BYTES}"),
        ("imports of a person an hour", settings.IMPORTS_AN_HOUR),
        (
            "bytes and fields of a form",
            f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE}, {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}",
        ),
        ("bytes of a webhook", webhook.LARGEST_BODY),
        ("invitations an account sends a day", team.MOST_A_DAY),
        *(
            (f"`{name}`, per address, account (key) or person", rate)
            for name, rate in settings.ACCOUNT_RATE_LIMITS.items()
        ),
        ("characters of a password; of an operator's", f"12; {passwords.STAFF_LENGTH}"),
        (
            "seconds of a login; when remembered",
            f"{settings.SESSION_COOKIE_AGE}; {settings.ACCOUNT_SESSION_COOKIE_AGE}",
        ),
        ("seconds of an operator's login; idle", f"{sessions.STAFF_SECONDS}; {sessions.STAFF_IDLE_SECONDS}"),
    ]


def _forms() -> set[Any]:
    for name in modules():
        importlib.import_module(name)
    found, open_ones = set(), [forms.BaseForm]
    while open_ones:
        for one in open_ones.pop().__subclasses__():
            if one.__module__.startswith(ROOMS):
                found.add(one)
            open_ones.append(one)
    return found


def _rule(field: Any) -> tuple[str, str]:
    limits = [
        f"{name.replace('_', ' ')} {getattr(field, name)}" for name in LIMITS if getattr(field, name, None) is not None
    ]
    if isinstance(field, forms.ChoiceField):
        limits.append("one of the list")
    return "yes" if field.required else "", ", ".join(limits)


LIMITS = ("min_length", "max_length", "min_value", "max_value", "max_digits", "decimal_places")


# -- Who we connect to ----------------------------------------------------------------------------


def connections() -> str:
    limits, broker = deadline.Limits(ends_at=0), settings.CELERY_BROKER_TRANSPORT_OPTIONS
    within = f"{settings.CARRIER_DEADLINE:g} s in all, {limits.connect_timeout:g} s to connect"
    at_pages = f"in the web request, {settings.WEB_THREADS // 4} per process and 2 per person"
    peers: list[tuple[object, ...]] = [
        (
            "the carrier's API",
            "https, certificates checked (CARRIER_CA_BUNDLE), no redirect, no proxy but CARRIER_PROXY",
            f"{within}, {limits.cap} bytes",
            f"prices, links and verifications {at_pages}; everything else in workers, within the rate",
            "by the protocol: what may have been sent is never sent again under another key",
        ),
        (
            "label files",
            "https, hosts of the contract only",
            within,
            "workers, within the rate",
            "at growing intervals",
        ),
        (
            "PostgreSQL",
            "TLS as DATABASE_URL says (or E029); a role that changes no tables (E040); a log that names nobody (E041)",
            f"3 s to connect, {settings.DATABASE_LIMITS}",
            "one per thread, or PgBouncer's pool",
            "503 with Retry-After; jobs wait",
        ),
        (
            "PostgreSQL, as its owner",
            "the same; only in `migrate` and the owner's other commands",
            f"3 s to connect, {settings.OWNER_LIMITS}",
            "one",
            "none: run the command again",
        ),
        (
            "Redis",
            "a password, TLS elsewhere (E028)",
            f"{broker['socket_connect_timeout']} s to connect, {broker['socket_timeout']} s",
            "Celery's pool",
            "none: the sweeper takes over",
        ),
        (
            "the mail server",
            "TLS as EMAIL_URL says",
            f"{settings.EMAIL_TIMEOUT} s",
            "one per message",
            "2 minutes to 6 hours apart, until sent",
        ),
        (
            "ALERT_WEBHOOK_URL",
            (
                "https, certificates checked, no redirect or proxy, private hosts as listed (ALERT_CA_BUNDLE); "
                "signed (HMAC-SHA256)"
            ),
            f"{outgoing.SECONDS:g} s in all, {limits.connect_timeout:g} s to connect, {outgoing.LARGEST_REPLY} bytes",
            "workers, one per message",
            f"{alerting.MOST_TRIES} times, 1 to 16 minutes apart, then as a failed job",
        ),
        (
            "HEARTBEAT_URL",
            "the same, without a body",
            f"{outgoing.SECONDS:g} s in all",
            "the sweeper, once a minute",
            "a minute later",
        ),
        (
            "SSO_ISSUER, and the addresses it names",
            "https, certificates checked (SSO_CA_BUNDLE), no redirect or proxy, not this machine",
            f"{openid.SECONDS:g} s each, {limits.connect_timeout:g} s to connect, {openid.LARGEST_REPLY} bytes",
            "web, up to four for each login",
            "none: a page says so; its discovery document is requested again after 5 seconds",
        ),
        (
            "our own and the carrier's certificate",
            "a TLS handshake, read but not verified; nothing is sent",
            f"{certificates.SECONDS:g} s",
            "the sweeper, once an hour",
            "an hour later",
        ),
        (
            "METRICS_PORT, to us",
            "none: METRICS_HOST is this machine or the operator's own network",
            f"{metrics_port.Handler.timeout} s",
            "one per process",
            "Prometheus' own",
        ),
        (
            "the carrier's webhook, to us",
            "https only, a secret per account",
            f"{webhook.LARGEST_BODY} bytes",
            "web",
            "the carrier's: up to 3 times (interface §6.5)",
        ),
    ]
    return (
        f"# Connections\n\n{MADE}\nThere are no others: only one module speaks HTTP, an "
        "import contract keeps HTTP out of all others, and a test rejects sockets elsewhere.\n\n"
        + rows(("peer", "protection", "time and size", "how many", "tries again"), peers)
    )


# -- What is logged ------------------------------------------------------------------------------


def logs() -> str:
    found = sorted({line for name in modules() for line in _lines_of(name)})
    return (
        f"# Log inventory\n\n{MADE}\nOne JSON object a line on standard error, in UTC: `at`, `level`, "
        "`logger`, `event`, "
        "the `request` it belongs to, and what is listed here. No line has a secret, link, one-time key, address, "
        "phone or email (`shipping_portal/ops/logs.py`; canary tests): URLs are logged without their query, and values "
        "that the database or Python quotes in an error are removed. nginx logs paths only. PostgreSQL logs no "
        "error, no statement and no row (`docs/database.md`; E041 asks the server). You "
        "decide where the lines go, how long they are stored and who reads them. 30 days are enough for everything in "
        "the run-book."
        "\n\nSecurity events (`logger: security`) have `kind`, the `user` or the keyed hash of an `account` that does "
        "not exist, and the `ip`; each event of an account is also in the audit log.\n\n"
        + rows(("module", "level", "event"), [(f"`{name}`", level, f"`{event}`") for name, level, event in found])
    )


LEVELS = {"debug", "info", "warning", "error", "exception"}


def _lines_of(module: str) -> Iterator[tuple[str, str, str]]:
    found = importlib.util.find_spec(module)
    path = found.origin if found else None
    for node in ast.walk(ast.parse(Path(path or "").read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            name = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            first = node.args[0] if node.args else None
            if name in {"log", "logger"} and isinstance(first, ast.Constant):
                yield module, node.func.attr, str(first.value)


# -- What it consists of --------------------------------------------------------------------------


def sbom() -> str:
    """Return a CycloneDX bill of materials of what production installs. Its checksums are in the lock file."""
    lock = (ROOT / "requirements/production.txt").read_text()
    parts = [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
        for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE)
    ]
    found = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": parts}
    return json.dumps(found, indent=1) + "\n"


# -- What is stored about whom ------------------------------------------------------------------------


def _with_days(until: str) -> str:
    """Return a term with the number of days for each setting it names."""
    return re.sub(r"\b[A-Z_]+_DAYS\b", lambda found: f"`{found[0]}` ({getattr(settings, found[0])} days)", until)


def data() -> str:
    head = ("where", "why", "who sees it", "until", "what stays")

    def listed(held: dict[str, data_classes.PersonalData]) -> str:
        lines: list[tuple[object, ...]] = []
        for model, one in sorted(held.items()):
            where = ": ".join(filter(None, (f"`{model}`", ", ".join(one.columns.split()))))
            lines.append((where, one.why, one.seen_by, _with_days(one.until), one.stays))
        return rows(head, lines)

    money = ", ".join(f"`{model}`" for model in sorted(data_classes.classes()["money"]))
    return (
        f"# Data\n\n{MADE}\nEvery column is personal (`shipping_portal/jobs/personal_data.py`), secret, money or "
        "technical (`tests/security/data_classes.py`); "
        "if a new one may hold words, bytes or money, a test fails until somebody says which. Retention periods are settings, "
        "applied every hour in small batches (`shipping_portal/jobs/retention.py`); erasing a person goes through one "
        "entry point (`shipping_portal/jobs/erasing.py`), when an operator asks for it or the period ends.\n\n"
        f"## Personal\n\n{listed(data_classes.PERSONAL)}"
        f"## Secret\n\n{listed(data_classes.SECRETS)}"
        f"## Money\n\n{money}: amounts, references and the carrier's files as they were posted, kept as long as the books. "
        "They name no receiver; a sender's own order number is a reference, so put no name in one.\n\n"
        "## Not erased here\n\n"
        "- The audit log is kept for good. It holds keys, never a name, email, phone or street.\n"
        "- Logs hold none of these either. Keep them for 30 days at most.\n"
        "- Backups keep erased data until they are deleted: keep them for 35 days at most. What a restore brings back is "
        "erased again from `ERASED_FILE`: by `after_restore` at once, then every hour, and an order as soon as it is "
        "resolved. Keep a copy of that file; it names nobody.\n"
        "- Emails that were sent, printed labels, and what the carrier holds. Ask the carrier to erase its copy as well.\n"
    )


DOCUMENTS = {
    "data.md": data,
    "access.md": access,
    "validation.md": validation,
    "connections.md": connections,
    "logs.md": logs,
    "sbom.json": sbom,
}
