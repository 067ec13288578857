"""The content of every file a business can export: its parcels' proof packs and everything in its account."""

import io
import zipfile
from collections.abc import Iterator

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import User
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export
from tests.savepoints import undone
from tests.snapshots.comparing import compare, named
from tests.snapshots.test_pages import pytestmark as as_pages
from tests.test_access import World

pytestmark = as_pages
OWNER = "owner@quill.example"
PARCELS = (0, 2, 3, 8, 10, 13, 21)  # with and without scans, charges, labels, an end


def contents(export: Export) -> Iterator[str]:
    """Return each file's name and text. For a label only its size is given."""
    packing.pack_due_export(export.pk)
    content = b"".join(bytes(part.content) for part in export.parts.order_by("pk"))
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        for name in files.namelist():
            body = files.read(name)
            yield f"== {name}"
            yield from [f"{len(body)} bytes"] if name.endswith(".pdf") else body.decode().splitlines()


@pytest.mark.parametrize("number", PARCELS)
def test_each_parcels_proof_pack_has_the_expected_content(number: int, world: World) -> None:
    order = world.things["orders"][number]
    with undone():
        lines = list(contents(packing.request_export(order.sender, order, by=order.made_by, now=timezone.now())))
    compare(f"proof-{number:02d}", list(named(lines)))


def test_an_accounts_export_has_the_expected_content(world: World) -> None:
    owner = User.objects.get(email=OWNER)
    with undone():
        export = packing.request_export(owner.membership.sender, None, by=owner, now=timezone.now())
        compare("everything", list(named(list(contents(export)))))
