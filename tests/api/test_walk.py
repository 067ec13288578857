"""The walks in docs/api.md work: the lines of Python are run, and the addresses for curl exist."""

import io
import re
import time
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from orders.booking import bookings
from orders.labels import fetching
from orders.models import Label, Order
from shipping_portal.accounts import demo
from shipping_portal.accounts.models import ApiToken, User
from shipping_portal.accounts.teams.team import token_hash
from shipping_portal.api.reference import openapi
from tests import factories
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
DOCUMENT = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


def opened(request: urllib.request.Request) -> Any:
    """Call the portal without a socket. Due work is done before the next call."""
    address, headers = urlsplit(request.full_url), dict(request.header_items())
    answer = Client().generic(
        request.get_method(), f"{address.path}?{address.query}", request.data or b"",
        content_type="application/json", headers=headers,
    )  # fmt: skip
    assert answer.status_code < 400, answer.content
    return urllib.request.addinfourl(io.BytesIO(answer.content), Message(), request.full_url, answer.status_code)


def do_what_is_due(seconds: float) -> None:
    for order in Order.objects.filter(status="booking"):
        bookings.process_booking(order.pk)
    for label in Label.objects.filter(state="pending"):
        fetching.fetch_due_label(label.pk)


def test_the_lines_of_python_book_a_parcel_and_get_its_label(
    carrier: SandboxCarrier, alice: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    made = factories.api_token(alice)
    ApiToken.objects.filter(pk=made.pk).update(token_hash=token_hash(demo.SENDER_TOKEN))
    monkeypatch.chdir(tmp_path)
    block = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)[0]  # another verifies a webhook
    with monkeypatch.context() as patch:
        patch.setattr(urllib.request, "urlopen", opened)
        patch.setattr(time, "sleep", do_what_is_due)
        exec(block, {})  # noqa: S102  (our own document)
    reference = carrier.ledger("booked")[0]["reference"]
    assert capsys.readouterr().out.startswith(f"{reference} Booked at ")
    assert (tmp_path / "label.pdf").read_bytes() == Label.objects.get(size="full").intact_bytes()


def test_the_addresses_for_curl_are_operations() -> None:
    asked = re.findall(r"curl -s \"?\$SITE(/[\w/-]+)", DOCUMENT)
    assert len(asked) == 5
    assert {re.sub("ID-OF-THE-PARCEL", "{parcel}", path) for path in asked} <= {
        path.removeprefix("/api/v1") for path in openapi()["paths"]
    }
    assert demo.SENDER_TOKEN in DOCUMENT


def test_a_demo_token_stops_any_start_without_the_demo(settings: Any, alice: User) -> None:
    settings.DEMO = True
    demo.make_demo_business(factories.timezone.now())
    assert ApiToken.objects.get().user.email == demo.SENDER_EMAIL
    User.objects.filter(email__in=demo.PUBLIC_PASSWORDS).update(password="!")
    assert demo.has_demo_credentials()
    ApiToken.objects.all().delete()
    assert not demo.has_demo_credentials()
