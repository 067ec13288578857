"""Log one JSON object per line to standard error, without secrets, links or personal addresses.

JSON escapes line breaks and terminal codes, so nothing a stranger typed can forge or colour a line.
"""

import logging.config
import re
from collections.abc import MutableMapping
from typing import Any

import structlog
from django.conf import settings

from orders.calling import carrier_settings
from shipping_portal import request_ids

CUT = "[cut]"
# Celery's lines for each task's start and end. Our own lines say what it did.
EACH_TASK = ("celery.worker.strategy", "celery.app.trace")
SHORTEST_SECRET = 8  # shorter values would remove ordinary words from log lines
RULES = [
    (re.compile(r"(authorization\W{1,6}(?:basic|bearer)?\s*)[\w+/=.~-]+", re.I), rf"\1{CUT}"),
    (
        re.compile(
            r"\b((?:token|signature|sig|key|secret|password)\"?[=:]\s*\"?)[^\s&\"',;}]+", re.I
        ),
        rf"\1{CUT}",
    ),
    (re.compile(r"\bportal_[\w-]{20,}"), CUT),  # an API token, wherever it was pasted
    (re.compile(r"(://)[^/\s\"@]+@"), rf"\1{CUT}@"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*"), CUT),
    (re.compile(r"(/webhooks/tracking/)[^/\s\"?]+"), rf"\1{CUT}"),
    (
        re.compile(
            r"(/accounts/(?:confirm-email|password/reset/key|break-glass|enter)/)[^/\s\"?]+"
        ),
        rf"\1{CUT}",
    ),
    # In an address, or encoded in the login's ?next=.
    (
        re.compile(
            r"((?:/|%2F)(?:follow|invitation|unsubscribe)(?:/|%2F))(?:(?!%2F)[^/\s\"?&])+", re.I
        ),
        rf"\1{CUT}",
    ),
    # Search terms: in an address, and in a database error that quotes a row or a statement.
    (re.compile(r"\?[\w.~%+-]+=[^\s\"'<>\\]*"), f"?{CUT}"),
    (re.compile(r"((?:DETAIL|CONTEXT|LINE\s\d+):\s)(?:(?!\\n\\n)(?:[^\"\\]|\\.))*"), rf"\1{CUT}"),
    # Values quoted in errors, with quotation marks as in JSON: in a database's up to its end, and
    # in Python's own.
    (
        re.compile(
            r"((?:for type [\w ]{1,40}|out of range|malformed [\w ]{1,40}|for enum \w{1,60}|at or"
            r" near):? )"
            r"(?:(?!\\n\\n)(?:[^\"\\]|\\.))*"
        ),
        rf"\1{CUT}",
    ),
    (
        re.compile(
            r"((?:base \d+|isoformat string|KeyError|to float|but got):?"
            r" )(?:'(?:[^'\\\"]|\\.)*'?|\\\".*)"
        ),
        rf"\1{CUT}",
    ),
    (re.compile(r"(?:time data |value )(?:'[^'\"]*'|\\\"(?:(?!\\\").)*\\\")"), CUT),
    (
        re.compile(
            r"(?:'[^'\"]*'|\\u201c(?:(?!\\u201[cd])[^\"])*\\u201d)(?= (?:is not a valid|value"
            r" has|value must))"
        ),
        CUT,
    ),
    (re.compile(r"[\w.+-]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63})+", re.I), "[e-mail]"),
]


# One of these, in lower case, is in every text a rule matches. Most lines have none of them.
MARKS = (  # noqa: SIM905  (thirty strings are harder to read)
    "authoriz|token|sig|key|secret|password|portal_|://|eyj|?|@|%40|/webhooks/|/accounts/|follow"
    "|invitat|unsubscr|detail:|context:|line |for type|out of range|malformed|for enum|at or near"
    "|base |isoformat|to float|but got|time data|valu|valid"
).split("|")


def without_tracebacks_of_refusals(
    logger: Any, name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Log a refused request in one line.

    Django would write a traceback, and an error for a wrong Host.
    """
    if 400 <= getattr(event.get("_record"), "status_code", 500) < 500:
        event.pop("exc_info", None)
        event["level"] = "warning"
    return event


def with_the_request_id(
    logger: Any, name: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace Django's request object with its id: it would be logged with its query."""
    if not isinstance(event.get("request", ""), str):
        event["request"] = request_ids.current_request()
    return event


STAMPS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    without_tracebacks_of_refusals,
    structlog.processors.format_exc_info,
]


def logging_config(level: str) -> dict[str, Any]:
    """Return the configuration that sends every logger through one formatter.

    The web server's logger is one of them.
    """
    line = {"handlers": ["line"], "propagate": False}
    through = {"handlers": [], "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": _json_formatter}},
        "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["line"], "level": level},
        "loggers": {
            "django": through,
            "django.server": through,
            # gunicorn attaches its own handlers before Django loads
            "gunicorn.error": line | {"level": "INFO"},
            "gunicorn.access": line,
            **({} if level == "DEBUG" else {name: {"level": "WARNING"} for name in EACH_TASK}),
        },
    }


def configure(wanted: dict[str, Any]) -> None:
    """Configure logging (Django's LOGGING_CONFIG)."""
    logging.config.dictConfig(logging_config(wanted["level"]))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *STAMPS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def scrub_line(line: str) -> str:
    """Return the line without credentials, signed links, one-time keys and email addresses."""
    for secret in _known_secrets():
        line = line.replace(secret, CUT)
    small = line.lower()
    if any(mark in small for mark in MARKS):
        for pattern, replacement in RULES:
            line = pattern.sub(replacement, line)
    return line


def _json_formatter() -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*STAMPS, structlog.stdlib.ExtraAdder(), with_the_request_id],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _render_json],
    )


def _render_json(logger: Any, name: str, event: MutableMapping[str, Any]) -> str:
    rendered = structlog.processors.JSONRenderer(default=str)(logger, name, event)
    return scrub_line(rendered if isinstance(rendered, str) else rendered.decode())


def _known_secrets() -> list[str]:
    ours = (
        settings.METRICS_TOKEN,
        settings.ALERT_WEBHOOK_SECRET,
        settings.ALERT_WEBHOOK_URL,
        settings.HEARTBEAT_URL,
        settings.SSO_CLIENT_SECRET,
        settings.LABEL_BUCKET_SECRET,
    )
    values = [settings.SECRET_KEY, *ours, *carrier_settings.all_secrets()]
    return [value for value in values if len(value) >= SHORTEST_SECRET]
