"""What every response tells a browser, and the id that finds it in the log."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import path

from shipping_portal.accounts.access import public
from shipping_portal.accounts.models import User
from shipping_portal.http import error_pages
from shipping_portal.urls import handler400, handler403, handler429, handler500  # noqa: F401
from shipping_portal.urls import urlpatterns as ours
from tests import factories

pytestmark = pytest.mark.django_db


@public
def broken(request: Any) -> Any:
    raise ValueError("a fault of ours")


urlpatterns = [*ours, path("broken/", broken)]


@pytest.mark.parametrize("address", ["/accounts/login/", "/help/", "/nowhere/", "/unsubscribe/a-token/"])
def test_every_page_tells_a_browser_what_it_must_not_do(address: str) -> None:
    answer = Client().get(address)
    assert "camera=()" in answer["Permissions-Policy"]
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "report-uri /csp-reports/" in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    "address", ["/unsubscribe/a-token/", "/invitation/a-token/", "/accounts/password/reset/key/1-a-b/"]
)
def test_pages_with_a_token_in_their_address_are_never_cached_and_send_no_referrer(address: str) -> None:
    answer = Client().get(address)
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "strict-origin"


def test_no_page_with_our_forms_withholds_its_origin() -> None:
    """With "no-referrer" a browser posts a form with "Origin: null", and the CSRF check refuses it."""
    for page in (Path(__file__).resolve().parents[2] / "templates").rglob("*.html"):
        source = page.read_text("utf-8")
        is_ours = 'extends "base.html"' in source or page.name == "base.html"
        has_forms = page.name != "tracking_page.html"  # tests/pages/test_watched.py
        assert not (is_ours and has_forms and "no-referrer{% endblock" in source), page.name


def test_a_response_has_an_id_and_the_proxys_only_if_the_proxy_is_trusted(settings: Any) -> None:
    given = {"X-Request-ID": "from-the-proxy-1"}
    assert Client().get("/readyz", headers=given)["X-Request-ID"] != "from-the-proxy-1"
    settings.TRUSTED_PROXY_COUNT = 1
    assert Client().get("/readyz", headers=given)["X-Request-ID"] == "from-the-proxy-1"
    assert Client().get("/readyz", headers={"X-Request-ID": "a b\n"})["X-Request-ID"] != "a b\n"


@pytest.mark.urls(__name__)
def test_the_error_page_has_the_id_to_quote(caplog: Any) -> None:
    answer = Client(raise_request_exception=False).get("/broken/")
    assert answer.status_code == 500
    assert answer["X-Request-ID"] in answer.content.decode()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_site_can_open_a_label_or_a_signed_link(alice: User, client: Client, site: str) -> None:
    order = factories.order(alice.membership.sender, alice, status="booked")
    factories.stored_label(order)
    client.force_login(alice)
    for page in ("label/full.pdf", "tracking-page/"):
        root = "orders" if page.startswith("tracking") else "parcels"
        address = f"/{root}/{order.uuid}/{page}"
        refused = client.get(address, headers={"Sec-Fetch-Site": site})
        assert refused.status_code == 403
        assert "Open this from the parcel" in refused.content.decode()
    assert client.get(f"/parcels/{order.uuid}/", headers={"Sec-Fetch-Site": site}).status_code == 200
    assert client.get(f"/parcels/{order.uuid}/label/full.pdf", headers={"Sec-Fetch-Site": "none"}).status_code == 200


def report(body: bytes) -> Any:
    return Client(enforce_csrf_checks=True).post("/csp-reports/", body, content_type="application/csp-report")


@pytest.fixture
def recorded(caplog: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(error_pages, "allowance", error_pages.Allowance(3))
    return lambda: [record.msg for record in caplog.records if record.name == "security"]


def test_a_csp_report_is_one_line_without_the_queries_of_its_addresses(recorded: Any) -> None:
    said = {
        "effective-directive": "script-src",
        "document-uri": "https://p/x/?q=mia",
        "blocked-uri": "https://e/a?key=1",
    }
    assert report(json.dumps({"csp-report": said}).encode()).status_code == 204
    (line,) = recorded()
    assert (line["directive"], line["page"], line["blocked"]) == ("script-src", "https://p/x/", "https://e/a")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"csp-report": 1}', b"\xff", b"[" * 9000, b'{"csp-report": {}}' + b" " * 9000]
)
def test_every_csp_report_gets_the_same_response(recorded: Any, body: bytes) -> None:
    assert report(body).status_code == 204
    assert recorded() == []


def test_only_a_few_of_many_csp_reports_are_logged(recorded: Any) -> None:
    for _ in range(10):
        report(b'{"csp-report": {"effective-directive": "img-src"}}')
    assert len(recorded()) == 3
    assert Client().get("/csp-reports/").status_code == 405
