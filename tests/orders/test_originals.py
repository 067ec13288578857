"""R1: whichever way a label is downloaded, its bytes are exactly the carrier's."""

import hashlib
import io
import zipfile
from collections.abc import Callable

import pytest
from django.test import Client

from orders.labels import fetching
from orders.models import Order
from shipping_portal.accounts.models import User
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


def test_link_frame_and_zip_give_the_carriers_own_bytes_in_both_sizes(
    carrier: SandboxCarrier, booked: Callable[..., Order], alice: User, visit: Callable[[User], Client]
) -> None:
    order = booked()
    order.labels.update(is_spare=False)  # both are wanted
    for label in order.labels.all():
        fetching.fetch_due_label(label.pk)
    client = visit(alice)
    linked = {size: f"/parcels/{order.uuid}/label/{size}.pdf" for size in ("full", "cropped")}
    bench = " ".join(client.get(f"/parcels/print/?order={order.uuid}").content.decode().split())
    assert f'class="pick" href="{linked["full"]}?print=1"' in bench, "the frame shows what this link opens"
    answer = client.get(f"/parcels/print/originals.zip?size=both&order={order.uuid}")
    zipped = zipfile.ZipFile(io.BytesIO(b"".join(answer)))  # type: ignore[arg-type]

    made = {sha256(path.read_bytes()) for path in carrier.state.rglob("*.pdf")}
    assert len(made) == 2
    assert {sha256(client.get(url).content) for url in linked.values()} == made
    assert {sha256(zipped.read(name)) for name in zipped.namelist() if name.endswith(".pdf")} == made


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
