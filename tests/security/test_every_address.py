"""What each URL returns to everybody and for every error: its headers, methods and caching."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import path

from shipping_portal.accounts.access import public
from shipping_portal.urls import handler400, handler403, handler429, handler500  # noqa: F401
from shipping_portal.urls import urlpatterns as ours
from tests.access import MEMBERS, OURS, World, address, world  # noqa: F401
from tests.security.documents import ROOT

pytestmark = pytest.mark.django_db
TAKES_POSTS_OF_OTHERS = {
    "webhook",
    "webhook_token",
    "webhook_bare",
    "webhook_token_bare",
    "csp_report",
    "unsubscribe",
    "return_label",
}


@public
def broken(request: Any) -> Any:
    raise ValueError("a fault of ours")


urlpatterns = [*ours, path("broken/", broken)]


def every_answer(world: World) -> Iterator[tuple[str, Any]]:  # noqa: F811
    """Yield what each of our URLs returns to its owner, and each kind of error."""
    browser = world.client("owner")
    browser.raise_request_exception = False
    for route, _ in OURS:
        yield route, browser.get(address(route, world.things), secure=True)
    yield "broken", browser.get("/broken/", secure=True)
    yield "nowhere", browser.get("/nowhere/", secure=True)
    yield "another host", browser.get("/", secure=True, headers={"host": "evil.example"})
    yield "forged", Client(enforce_csrf_checks=True).post("/accounts/login/", {}, secure=True)
    yield "another method", browser.put("/parcels/", secure=True)
    yield "the admin", world.client("operator").get("/admin/", secure=True)
    yield "the admin", Client().get("/admin/", secure=True)


@pytest.mark.urls(__name__)
def test_every_response_has_its_type_and_its_security_headers(
    world: World,  # noqa: F811
    settings: Any,
) -> None:
    settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = 31_536_000, True
    statuses = set()
    for name, answer in every_answer(world):
        statuses.add(answer.status_code)
        found = {key.lower(): value for key, value in answer.headers.items()}
        assert found.get("strict-transport-security") == "max-age=31536000; includeSubDomains", name
        assert found["x-content-type-options"] == "nosniff", name
        assert found["cross-origin-opener-policy"] == "same-origin", name
        assert found["cross-origin-resource-policy"] == "same-origin", name
        assert found["referrer-policy"] in {"same-origin", "no-referrer", "strict-origin"}, name
        assert "default-src 'none'" in found["content-security-policy"] or answer.streaming, name
        if found.get("content-length") != "0" and answer.status_code not in (204, 304):
            kind = found["content-type"]
            assert "charset=" in kind or not kind.startswith("text/"), name
    assert statuses >= {200, 302, 400, 403, 404, 405, 500}


def test_nothing_behind_the_login_is_cached_by_a_browser_or_a_proxy(world: World) -> None:  # noqa: F811
    browser = world.client("owner")
    for route, _ in MEMBERS:
        answer = browser.get(address(route, world.things))
        if answer.status_code == 200:
            assert "no-store" in answer.headers.get("Cache-Control", ""), route
    scripts = "".join(file.read_text() for file in (ROOT / "static").rglob("*.js"))
    assert not re.search(r"localStorage|sessionStorage|indexedDB|caches\.open", scripts)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "CONNECT", "FOO"])
def test_an_unused_method_is_not_allowed_anywhere(method: str, world: World) -> None:  # noqa: F811
    for who in (Client(enforce_csrf_checks=True), world.client("owner"), world.client("operator")):
        for page in ("/", "/parcels/", "/parcels/new/", "/accounts/login/", "/admin/", "/help/", "/nowhere/"):
            assert who.generic(method, page).status_code == 405, page


def test_a_post_that_no_form_of_ours_made_changes_nothing(world: World) -> None:  # noqa: F811
    """The CSRF check ensures this. Only reports from the carrier and from browsers are exempt."""
    browser = world.client("owner")
    browser.handler.enforce_csrf_checks = True
    for route, entry in OURS:
        if entry.name not in TAKES_POSTS_OF_OTHERS:
            assert browser.post(address(route, world.things), {}).status_code == 403, route
