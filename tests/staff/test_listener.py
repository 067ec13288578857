"""The listener's address for the carrier's dashboard: printed for the operator, rotated, tested for real."""

import base64
import datetime as dt
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from orders.calling.contract import current_contract
from orders.models import CarrierAccount
from shipping_portal.accounts.models import Audit
from shipping_portal.accounts.models.audit import subject_of
from tests import factories, older
from tests.pages.typed import text
from tests.receiver import Receiver
from tracking.models import TrackingEvent, WebhookDelivery
from tracking.scanning import reading

NEWEST = "canary-webhook-secret-0123456789abcdef"


def _printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    call_command("webhook_url", *options)
    return capsys.readouterr().out


def test_both_forms_of_the_url_are_printed_and_reach_the_listener(
    client: Client, db: None, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_URL = "https://portal.example"
    with_user, in_path = _printed(capsys).split()[-2:]
    assert with_user == f"https://carrier:{NEWEST}@portal.example/webhooks/tracking/"
    assert client.post(urlsplit(in_path).path, b"{", content_type="application/json").status_code == 200


def test_rotating_prints_a_fresh_secret_and_keeps_the_one_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = _printed(capsys, "--rotate"), _printed(capsys, "--rotate")
    line = next(line for line in first.splitlines() if line.startswith("WEBHOOK_SECRETS="))
    fresh, kept = line.removeprefix("WEBHOOK_SECRETS=").split(",")
    assert kept == f"carrier:{NEWEST}"
    assert len(fresh) > 40
    assert fresh not in second


def test_a_test_event_travels_over_http_and_the_second_one_is_a_duplicate(
    live_server: LiveServer, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_URL = live_server.url
    assert "accepted the test event: 200" in _printed(capsys, "--test")
    _printed(capsys, "--test")
    reading.read_due()
    assert [delivery.state for delivery in WebhookDelivery.objects.order_by("pk")] == ["stored", "duplicate"]
    assert TrackingEvent.objects.count() == 1


def test_a_portal_with_a_private_authority_is_tested_with_that_authoritys_file(
    tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with Receiver(tmp_path) as receiver:
        settings.SITE_URL = receiver.url.rstrip("/")
        with pytest.raises(CommandError, match="CERTIFICATE_VERIFY_FAILED"):
            call_command("webhook_url", "--test")
        assert receiver.requests == []
        assert "accepted the test event: 200" in _printed(capsys, "--test", "--authority", receiver.bundle)
        assert [request.path for request in receiver.requests] == ["/webhooks/tracking/"]


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_an_invalid_authority_file_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandError, match=r"authority\.pem can't be read as an authority's certificate"):
        call_command("webhook_url", "--test", "--authority", str(file))


def test_an_authority_without_a_test_is_an_error() -> None:
    with pytest.raises(CommandError, match="goes with --test"):
        call_command("webhook_url", "--authority", "ca.pem")


def test_a_test_event_has_the_carriers_own_format(
    live_server: LiveServer, settings: Any, contract: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    contract('event_reference = "parcel.reference"\nscan_time = "when"')
    settings.SITE_URL = live_server.url
    _printed(capsys, "--test")
    assert current_contract().scan_time == "when"
    reading.read_due()
    assert WebhookDelivery.objects.get().state == "stored"


def test_a_listener_that_refuses_or_is_down_is_reported(
    live_server: LiveServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SITE_URL = "http://127.0.0.1:9"
    with pytest.raises(CommandError, match="Can't reach the listener"):
        call_command("webhook_url", "--test")
    settings.SITE_URL = live_server.url
    monkeypatch.setattr("tracking.views._account_of_secret", lambda given, *, in_path: None)
    with pytest.raises(CommandError, match="answered 404"):
        call_command("webhook_url", "--test")


def test_without_a_secret_there_is_no_address(settings: Any) -> None:
    settings.WEBHOOK_SECRETS = []
    with pytest.raises(CommandError, match="WEBHOOK_SECRETS is empty"):
        call_command("webhook_url")


def test_the_admins_page_shows_the_address_without_its_secret(staff: Client) -> None:
    text = staff.get("/admin/listener/").content.decode()
    assert "/webhooks/tracking/" in text
    assert NEWEST not in text


def test_the_admins_page_sends_a_test_event(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shipping_portal.staff.carrier.listener.send_test_event", lambda found: f"200 stored for {found.prefix}"
    )
    assert "200 stored for CARRIER." in staff.post("/admin/listener/", follow=True).content.decode()


@pytest.fixture
def old(db: None, settings: Any) -> CarrierAccount:
    return older.named(settings)


def test_an_older_accounts_address_has_its_own_secret(
    old: CarrierAccount, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SITE_URL = "https://portal.example"
    with_user, in_path = _printed(capsys, "--account", "OLD").split()[-2:]
    assert with_user == f"https://carrier:{older.WEBHOOK_SECRET}@portal.example/webhooks/tracking/"
    assert older.WEBHOOK_SECRET in in_path
    rotated = _printed(capsys, "--rotate", "--account", "OLD")
    [line] = [line for line in rotated.splitlines() if "WEBHOOK_SECRETS=" in line]
    assert line.startswith("CARRIER_OLD_WEBHOOK_SECRETS=carrier:")
    assert line.endswith(f",carrier:{older.WEBHOOK_SECRET}")


def test_without_its_own_secret_an_older_account_has_no_address(settings: Any) -> None:
    settings.OLDER_CARRIERS = {"OLD": older.described(WEBHOOK_SECRETS=[])}
    with pytest.raises(CommandError, match="CARRIER_OLD_WEBHOOK_SECRETS is empty"):
        call_command("webhook_url", "--account", "OLD")
    with pytest.raises(CommandError, match="OLDER_CARRIERS names: OLD"):
        call_command("webhook_url", "--account", "ELDER")


def test_an_older_accounts_test_event_has_its_own_format_and_secret(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This checks what is sent; how it is read is the listener's job."""
    file = tmp_path / "older.toml"
    file.write_text('scan_time = "when"')
    settings.OLDER_CARRIERS = {"OLD": older.described(CONTRACT=str(file))}
    sent: list[Any] = []

    def refuse(request: Any, **_: Any) -> None:
        sent.append(request)
        raise OSError("not there")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    with pytest.raises(CommandError, match="Can't reach the listener"):
        call_command("webhook_url", "--test", "--account", "OLD")
    [request] = sent
    given = base64.b64decode(request.get_header("Authorization").removeprefix("Basic ")).decode()
    assert given == f"carrier:{older.WEBHOOK_SECRET}"
    assert "when" in json.loads(request.data)


def test_the_admins_page_has_each_accounts_address_and_test(
    staff: Client, old: CarrierAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = staff.get("/admin/listener/").content.decode()
    assert "older-account at https://older.example/api, an older account" in page
    assert page.count('value="Send a test event"') == 2
    assert older.WEBHOOK_SECRET not in page
    monkeypatch.setattr(
        "shipping_portal.staff.carrier.listener.send_test_event", lambda found: f"200 for {found.prefix}"
    )
    answer = staff.post("/admin/listener/", {"account": "CARRIER_OLD"}, follow=True)
    assert "200 for CARRIER_OLD." in answer.content.decode()
    assert Audit.objects.get().subject == subject_of(old)


def test_an_unread_polled_scan_does_not_count_as_a_delivery(staff: Client) -> None:
    factories.delivery(state="quarantined", polled_for="SPOLLED001")
    assert "Last delivery" not in text(staff.get("/admin/listener/"))
    pushed = factories.delivery(received_at=timezone.now() - dt.timedelta(hours=3))
    page = staff.get("/admin/listener/")
    assert "Last delivery 3 hours ago" in text(page)
    assert f"/admin/tracking/webhookdelivery/{pushed.pk}/change/" in page.content.decode()
