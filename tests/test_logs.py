"""Log lines: one JSON object each, and nothing secret or personal in them."""

import json
import logging
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.test import Client

from shipping_portal.ops import logs
from tests import older
from tests.log_lines import lines as lines


@pytest.mark.parametrize(
    ("written", "secret"),
    [
        ("Authorization: Basic Y2Fycmllcjpxd2VydHk=", "Y2Fycmllcjpxd2VydHk"),
        ("{'authorization': 'Bearer abc.def-123'}", "abc.def-123"),
        ("No such file: portal_3fQz-kW_0pL3fQz-kW_0pL", "kW_0pL"),
        ("GET /t/SQ7K2M?token=eyJhbGciOi.J9.x_y", "eyJhbGciOi"),
        ("https://carrier.example/p?a=1&signature=deadbeef", "deadbeef"),
        ("https://carrier:s3cr3tpass@portal.example/webhooks/tracking/", "s3cr3tpass"),
        ("POST /webhooks/tracking/abcdef0123456789/ HTTP/1.1", "abcdef0123456789"),
        ("Not Found: /webhooks/tracking/abcdef0123456789", "abcdef0123456789"),
        ("GET /accounts/confirm-email/MQ:1abc:xyz/", "1abc"),
        ("GET /accounts/password/reset/key/1-abc-def/", "abc-def"),
        ("GET /invitation/3fQz-kW_0pL/ HTTP/1.1", "3fQz-kW_0pL"),
        ("GET /follow/3fQz-kW_0pL3fQz-kW_0pL3fQzk/ HTTP/1.1", "kW_0pL"),
        ("Not Found: /follow/3fQz-kW_0pL3fQz-kW_0pL3fQzk", "kW_0pL"),
        ("GET /accounts/enter/3fQz-kW_0pL/ HTTP/1.1", "3fQz-kW_0pL"),
        ("GET /accounts/break-glass/WzFd:1x:3fQz-kW_0pL/ HTTP/1.1", "3fQz-kW_0pL"),
        ("GET /accounts/sso/callback/?state=a1&code=3fQz-kW_0pL HTTP/1.1", "3fQz-kW_0pL"),
        ("GET /accounts/login/?next=/invitation/3fQz-kW_0pL/", "3fQz-kW_0pL"),
        ("GET /accounts/login/?next=%2Finvitation%2F3fQz-kW_0pL%2F", "3fQz-kW_0pL"),
        ("POST /unsubscribe/MTc6bGF0ZQ:1vAbCd:sig-nature/ HTTP/1.1", "sig-nature"),
        ("next=%2funsubscribe%2fMTc6bGF0ZQ%3A1vAbCd%3Asig-nature%2f", "MTc6bGF0ZQ"),
        ("next=%2Funsubscribe%2FMTc6bGF0ZQ%3A1vAbCd%3Asig-nature%2F", "sig-nature"),
        ("GET /parcels/?q=noor.tamsin@example.net", "noor.tamsin"),
        ("GET /parcels/?q=noor.tamsin%40example.net", "noor.tamsin"),
        ("Not Found: /parcels/noor.tamsin%40example.net/", "noor.tamsin"),
        (f"key {settings.CARRIER_KEY}", settings.CARRIER_KEY),
        (f"link {settings.CARRIER_LINK_KEY}", settings.CARRIER_LINK_KEY),
        (f"hook {settings.WEBHOOK_SECRETS[1].partition(':')[2]}", "older-webhook-secret"),
    ],
)
def test_secrets_links_and_addresses_never_reach_a_line(lines: Any, written: str, secret: str) -> None:
    logging.getLogger("any").warning(written)
    (line,) = lines()
    assert secret not in line


@pytest.mark.parametrize("name", ["METRICS_TOKEN", "ALERT_WEBHOOK_SECRET", "ALERT_WEBHOOK_URL", "HEARTBEAT_URL"])
def test_tokens_of_metrics_and_alerts_reach_no_line(lines: Any, settings: Any, name: str) -> None:
    """Tokens in a URL too: anybody who has it can use it."""
    secret = f"https://alerts.example/{name}/canary"
    setattr(settings, name, secret)
    logging.getLogger("any").warning("asked %s in vain", secret)
    assert "canary" not in lines()[0]


@pytest.mark.parametrize("secret", [older.KEY, older.LINK_KEY, older.WEBHOOK_SECRET])
def test_secrets_of_an_older_account_never_reach_a_line_either(lines: Any, settings: Any, secret: str) -> None:
    settings.OLDER_CARRIERS = {"OLD": older.described()}
    logging.getLogger("any").warning(f"refused {secret}")
    (line,) = lines()
    assert secret not in line


def test_a_line_is_one_json_object_with_its_time_level_and_logger(lines: Any) -> None:
    logging.getLogger("orders.booking.bookings").warning("one\r\ntwo \x1b[31mred", extra={"order": 17})
    (line,) = lines()
    assert "\x1b" not in line
    event = json.loads(line)
    assert event["event"] == "one\r\ntwo \x1b[31mred"
    assert (event["level"], event["logger"]) == ("warning", "orders.booking.bookings")
    assert event["at"].endswith("Z")
    assert event["order"] == 17


def test_a_traceback_is_scrubbed_and_stays_on_its_line(lines: Any) -> None:
    try:
        raise ValueError(f"refused {settings.CARRIER_KEY}")
    except ValueError:
        logging.getLogger("any").exception("it failed")
    (line,) = lines()
    assert "ValueError" in line
    assert settings.CARRIER_KEY not in line


def test_an_event_with_its_own_fields_is_a_line_like_any_other(lines: Any) -> None:
    structlog.get_logger("tracking.polling").warning("rate lowered", key_used=settings.CARRIER_KEY, per_second=2)
    (line,) = lines()
    event = json.loads(line)
    assert (event["event"], event["per_second"], event["logger"]) == ("rate lowered", 2, "tracking.polling")
    assert settings.CARRIER_KEY not in line


def test_ordinary_words_are_left_alone() -> None:
    line = '{"event": "order 17 booked as SQ7K2M in Fitzroy", "milliseconds": 120, "path": "/webhooks/tracking/"}'
    assert logs.scrub_line(line) == line


@pytest.mark.django_db
def test_a_request_to_a_webhook_url_logs_no_token(lines: Any) -> None:
    Client().post("/webhooks/tracking/a-token-that-is-wrong-0123456789/", b"{}", content_type="application/json")
    logging.getLogger("django.request").warning("Not Found: /webhooks/tracking/a-token-that-is-wrong-0123456789/")
    assert lines()
    assert "a-token-that-is-wrong" not in "".join(lines())


def test_the_web_servers_own_loggers_write_through_the_same_formatter() -> None:
    for name in ("gunicorn.error", "gunicorn.access"):
        ours = logging.getLogger(name).handlers[0]  # pytest hangs its own behind it
        assert type(ours.formatter).__name__ == "ProcessorFormatter"
    assert logging.getLogger("django.server").handlers == []


def test_the_web_server_adds_no_line_for_a_webhook_that_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    from shipping_portal import gunicorn_settings  # noqa: PLC0415  (gunicorn reads it)

    found: list[Any] = []
    monkeypatch.setattr(gunicorn_settings.Logger, "access", lambda *facts: found.append(facts[3]))
    log = gunicorn_settings.AccessLog.__new__(gunicorn_settings.AccessLog)
    environs: list[dict[str, Any]] = [{}, {"portal.recorded": False}, {"portal.recorded": True}]
    for environ in environs:
        log.access(None, None, environ, None)
    assert found == environs[:2]


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.django_db
def test_a_wrong_host_is_a_page_and_one_warning(settings: Any, lines: Any, secure: bool) -> None:
    settings.SECURE_SSL_REDIRECT = True
    answer = Client().get("/accounts/login/", headers={"host": "evil.example"}, secure=secure)
    assert answer.status_code == 400
    assert "We couldn" in answer.content.decode()
    found = [json.loads(line) for line in lines()]
    assert {line["level"] for line in found} == {"warning"}
    assert not any("exception" in line for line in found)
