"""Names and phone numbers that people search for are in no log line, whichever page they are sent to."""

import datetime as dt
import io
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from gunicorn.config import Config

from shipping_portal import gunicorn_settings
from shipping_portal.accounts.models import Sender, User
from shipping_portal.ops import logs
from tests.access import OURS, address, things_of

CANARIES = {"name": "Zora Canaryname", "phone": "0491570157", "street": "77 Canary Mews"}
FIELDS = (
    "q",
    "text",
    "name",
    "sender",
    "state",
    "country",
    "day",
    "view",
    "reference",
    "note",
    "receiver_name",
    "next",
)


@pytest.fixture
def lines() -> Any:
    """Everything logged while the test runs, as it appears on standard error."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._json_formatter())
    loggers = [logging.getLogger(name) for name in ("", "gunicorn.error", "gunicorn.access")]
    for one in loggers:
        one.addHandler(handler)
    yield stream.getvalue
    for one in loggers:
        one.removeHandler(handler)


def found(text: str) -> set[str]:
    return {canary for canary in ("canary", "0491570157", "zora") if canary in text.casefold()}


def test_the_web_servers_line_has_only_the_path(lines: Any) -> None:
    settings = Config()
    settings.set("access_log_format", gunicorn_settings.access_log_format)
    settings.set("accesslog", "-")
    log = gunicorn_settings.AccessLog(settings)
    request = SimpleNamespace(headers=[("REFERER", "https://portal.example/parcels/?q=Zora+Canaryname")])
    environ = {
        "REQUEST_METHOD": "GET", "RAW_URI": "/admin/find/?q=Zora+Canaryname+0491570157", "PATH_INFO": "/admin/find/",
        "QUERY_STRING": "q=Zora+Canaryname", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "203.0.113.7",
        "HTTP_REFERER": "https://portal.example/parcels/?q=Zora+Canaryname", "HTTP_USER_AGENT": "a browser",
    }  # fmt: skip
    logging.getLogger("gunicorn.access").setLevel("INFO")
    log.access(SimpleNamespace(status="200 OK", sent=7, headers=[]), request, environ, dt.timedelta(seconds=1))
    assert '"GET /admin/find/ HTTP/1.1" 200 7' in json.loads(lines())["event"]
    assert found(lines()) == set()


@pytest.mark.parametrize(
    "written",
    [
        "Error handling request /parcels/?q=Zora+Canaryname&open=1",
        "Error handling request GET /suggest/receivers/?q=0491570157",
        "Not Found: https://portal.example/prices/?suburb=Zora%20Canaryname",
        "Invalid HTTP request line: 'GET /parcels/?q=Zora+Canaryname HTTP/1.1'",
    ],
)
def test_no_query_string_is_in_a_log_line(lines: Any, written: str) -> None:
    logging.getLogger("gunicorn.error").error(written)
    assert lines()
    assert found(lines()) == set()


@pytest.mark.parametrize(
    "error",
    [
        'duplicate key value\nDETAIL:  Key (name)=(Zora "Z" Canaryname) already exists.\n',
        "new row violates\nDETAIL:  Failing row contains (1, Zora Canaryname, 0491570157).\nCONTEXT:  of Zora",
        "syntax error\nLINE 1: SELECT 'Zora Canaryname'\n                 ^",
        'invalid input syntax for type integer: "Zora Canaryname"',
        'invalid input syntax for type timestamp with time zone: "Zora \\"Z\\" Canaryname"\nLINE 1: x',
        'date/time field value out of range: "Zora Canaryname"',
        'value "Zora Canaryname" is out of range for type integer',
        'malformed range literal: "Zora Canaryname"',
        'syntax error at or near "Canaryname"',
        "invalid literal for int() with base 10: 'Zora Canaryname'",
        "Field 'id' expected a number but got 'Zora Canaryname'.",
        "could not convert string to float: 'Zora Canaryname'",
        "Invalid isoformat string: 'Zora Canaryname'",
        "'Zora Canaryname' is not a valid Progress",
        "time data 'Zora Canaryname' does not match format '%Y'",
        "['“Zora Canaryname” is not a valid UUID.']",
        "['“Zora Canaryname” value has an invalid date format.']",
    ],
)
def test_values_quoted_by_the_database_are_cut_out_of_the_traceback(lines: Any, error: str) -> None:
    try:
        try:
            raise ValueError(error)
        except ValueError as inner:
            raise IntegrityError(error) from inner
    except IntegrityError:
        logging.getLogger("django.request").exception("Internal Server Error")
    assert "direct cause" in lines()
    assert "test_logs_hold_nobody.py" in lines()
    assert found(lines()) == set()


@pytest.mark.django_db
def test_no_page_logs_what_was_sent_to_it(quill: Sender, alice: User, sam: User, lines: Any) -> None:
    things = things_of(quill, alice)
    staff = [reverse(f"admin:{name}") for name in ("find", "orders_order_changelist", "accounts_sender_changelist")]
    pages = [address(route, things) for route, details in OURS if details.name not in {"close_account", "demo_act"}]
    values = dict.fromkeys(FIELDS, " ".join(CANARIES.values()))
    for who, urls in ((alice, pages), (sam, staff)):
        client = Client(raise_request_exception=False)
        client.force_login(who, backend="allauth.account.auth_backends.AuthenticationBackend")
        for url in urls:
            client.get(url, values)
            client.post(url, values)
            client.get(f"{url}no-such-page/", values)
    assert "Not Found" in lines()
    assert found(lines()) == set()
