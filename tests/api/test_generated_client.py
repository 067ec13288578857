"""A client that openapi-python-client makes from the schema books a parcel and gets its label."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from django.core.handlers.wsgi import WSGIHandler

from orders.booking import bookings
from orders.labels import fetching
from orders.models import Label, Order
from shipping_portal.accounts.models import User
from shipping_portal.api.reference import openapi
from tests import factories
from tests.api.conftest import PARCEL
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
SITE = "http://127.0.0.1:8000"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`generated("api.parcels.book_parcel")` is a module of the client."""
    schema = tmp_path / "openapi.json"
    schema.write_text(json.dumps(openapi()))
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"content_type_overrides": {"application/pdf": "application/octet-stream"}}))
    command = [
        sys.executable,
        "-m",
        "openapi_python_client",
        "generate",
        "--meta=none",
        f"--path={schema}",
        f"--config={config}",
    ]
    subprocess.run([*command, f"--output-path={tmp_path / 'portal_client'}"], check=True, capture_output=True)
    monkeypatch.syspath_prepend(tmp_path)

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"portal_client.{name}")

    return module


def test_a_generated_client_books_a_parcel_and_gets_its_label(
    generated: Any, carrier: SandboxCarrier, alice: User, localities: None, kept_connection: None
) -> None:
    token = factories.api_token(alice).text
    client = generated("client").AuthenticatedClient(
        SITE, token, httpx_args={"transport": httpx.WSGITransport(app=WSGIHandler())}
    )
    models, parcels = generated("models"), "api.parcels"
    quote = generated("api.quotes.make_quote").sync(client=client, body=models.ParcelIn.from_dict(PARCEL))
    chosen = models.ChosenIn(quote=quote.id, product=quote.offers[0].product)
    booked = generated(f"{parcels}.book_parcel").sync(client=client, body=chosen, idempotency_key="SHOP-7")
    bookings.process_booking(Order.objects.get().pk)
    Label.objects.update(is_spare=False)  # both are wanted
    for label in Label.objects.all():
        fetching.fetch_due_label(label.pk)
    parcel = generated(f"{parcels}.get_parcel").sync(parcel=booked.id, client=client)
    assert (parcel.reference, parcel.status.value) == (carrier.ledger("booked")[0]["reference"], "booked")
    assert {label.state.value for label in parcel.labels} == {"stored"}
    label = generated(f"{parcels}.get_label").sync(parcel=booked.id, client=client, size="full")
    assert label.payload.read() == Label.objects.get(size="full").intact_bytes()
    missing = generated(f"{parcels}.get_parcel").sync(parcel=quote.id, client=client)
    assert (missing.status, type(missing).__name__) == (404, "ProblemOut")
