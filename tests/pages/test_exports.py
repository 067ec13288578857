"""Proof packs and account exports: who may request them, what their pages say, and how the file is sent."""

import datetime as dt
import hashlib
import io
import zipfile
from collections.abc import Callable

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export, ExportPart
from shipping_portal.exporting.parts import Lease
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
EVERYTHING = "/settings/data/everything/"


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    made = factories.order(quill, alice, status="booked", carrier_reference="S7K2QX", receiver_name="Priya Nair")
    factories.stored_label(made)
    factories.event(factories.parcel(made))
    return made


def test_the_page_says_when_packing_started_again(order: Order, alice: User, visit: Visit) -> None:
    export = packing.request_export(order.sender, order, by=alice, now=timezone.now())
    for is_said in (False, True):
        assert export.claim()
        packing._drop_earlier_parts(Lease(export))  # and its worker dies
        page = text(visit(alice).get(f"/exports/{export.uuid}/"))
        assert ("Packing restarted." in page) is is_said


def test_a_proof_pack_is_one_click_away_from_its_parcel(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    assert "Proof pack" in text(client.get(f"/parcels/{order.uuid}/"))
    answer = client.post(f"/parcels/{order.uuid}/proof-pack/")
    export = Export.objects.get()
    assert answer["Location"] == f"/exports/{export.uuid}/"
    waiting = client.get(answer["Location"])
    assert "You can leave this page. It carries on." in text(waiting)
    assert 'http-equiv="refresh"' in waiting.content.decode(), "without JavaScript it asks again"
    packing.pack_due_export(export.pk)
    done = client.get(answer["Location"])
    assert "Your file is ready." in text(done)
    assert 'http-equiv="refresh"' not in done.content.decode()
    assert "hx-get" not in done.content.decode()
    assert f"/exports/{export.uuid}/" in client.get(f"/parcels/{order.uuid}/").content.decode()


def test_two_clicks_lead_to_one_export(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    pages = {client.post(f"/parcels/{order.uuid}/proof-pack/")["Location"] for _ in range(2)}
    pages |= {client.post(EVERYTHING)["Location"] for _ in range(2)}
    assert len(pages) == 2
    assert Export.objects.count() == 2


def test_the_file_is_sent_as_packed_never_cached_and_audited(order: Order, alice: User, visit: Visit) -> None:
    client = visit(alice)
    client.post(f"/parcels/{order.uuid}/proof-pack/")
    export = Export.objects.get()
    packing.pack_due_export(export.pk)
    answer = client.get(f"/exports/{export.uuid}/file.zip")
    assert isinstance(answer, StreamingHttpResponse)
    content = answer.getvalue()
    export.refresh_from_db()
    assert hashlib.sha256(content).hexdigest() == export.sha256
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("application/zip", "private, no-store")
    assert answer["Content-Length"] == str(len(content))
    assert answer["Content-Disposition"].startswith('attachment; filename="proof-S7K2QX-')
    assert "X-Accel-Redirect" not in answer
    assert zipfile.ZipFile(io.BytesIO(content)).read("labels/full-page/S7K2QX.pdf") == (
        order.labels.get().intact_bytes()
    )
    kept = Audit.objects.filter(subject=f"order {order.pk}").order_by("pk").values_list("action", "actor__email")
    assert list(kept) == [("proof pack asked for", alice.email), ("proof pack downloaded", alice.email)]


def test_a_file_in_many_parts_arrives_whole(quill: Sender, alice: User, visit: Visit) -> None:
    content = b"0123456789"
    export = factories.export(quill, alice, content=content)
    ExportPart.objects.all().delete()
    for number in reversed(range(5)):
        ExportPart.objects.create(export=export, number=number, content=content[2 * number : 2 * number + 2])
    assert visit(alice).get(f"/exports/{export.uuid}/file.zip").getvalue() == content  # type: ignore[attr-defined]


def test_a_file_has_its_own_parts_and_its_own_day_and_is_audited_for_its_sender(
    order: Order, quill: Sender, alice: User, bob: User, visit: Visit
) -> None:
    factories.export(bob.membership.sender, bob, content=b"PK of another account")
    at = dt.datetime(2026, 11, 20, 14, tzinfo=dt.UTC)  # the 21st in Melbourne
    export = factories.export(quill, alice, order=order, content=b"PK our own", created_at=at)
    answer = visit(alice).get(f"/exports/{export.uuid}/file.zip")
    assert answer.getvalue() == b"PK our own"  # type: ignore[attr-defined]
    assert answer["Content-Disposition"] == 'attachment; filename="proof-S7K2QX-2026-11-21.zip"'
    kept = Audit.objects.get(action="proof pack downloaded")
    assert (kept.sender, kept.actor, kept.subject) == (quill, alice, f"order {order.pk}")


def test_a_full_export_is_requested_in_settings_and_listed_there(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    client = visit(alice)
    before = client.get("/settings/data/")
    assert "Pack everything" in text(before)
    assert 'href="/parcels/export.csv"' in before.content.decode()
    page = client.post(EVERYTHING)["Location"]
    assert "being packed" in text(client.get("/settings/data/"))
    Export.objects.update(total=1200, done=480)
    assert "480 of 1,200 parcels packed." in text(client.get(page))
    packing.pack_due_export(Export.objects.get().pk)
    listed = client.get("/settings/data/")
    assert page in listed.content.decode()
    assert "kept until" in text(listed)
    assert client.get(f"{page}file.zip")["Content-Disposition"].startswith(
        f'attachment; filename="everything-{quill.number}-'
    )
    assert set(Audit.objects.values_list("action", flat=True)) == {
        "account export asked for", "account export downloaded",
    }  # fmt: skip


@pytest.mark.parametrize("who", ["ana", "bea", "vic", "bob", "sam"])
def test_only_owners_export_a_whole_account(
    order: Order, quill: Sender, alice: User, who: str, request: pytest.FixtureRequest, visit: Visit
) -> None:
    client = visit(request.getfixturevalue(who))
    export = factories.export(quill, alice)
    for url in (f"/exports/{export.uuid}/", f"/exports/{export.uuid}/file.zip"):
        assert client.get(url).status_code == 404
    if who != "bob":  # the owner of another account
        assert client.post(EVERYTHING).status_code == 404
    assert Export.objects.filter(sender=quill).count() == 1


@pytest.mark.parametrize("who", ["ana", "bea", "vic", "bob", "sam"])
def test_nobody_else_gets_a_proof_pack_with_its_label_and_charges(
    order: Order, quill: Sender, alice: User, who: str, request: pytest.FixtureRequest, visit: Visit
) -> None:
    client = visit(request.getfixturevalue(who))
    export = factories.export(quill, alice, order=order)
    for url in (f"/exports/{export.uuid}/", f"/exports/{export.uuid}/file.zip"):
        assert client.get(url).status_code == 404
    assert client.post(f"/parcels/{order.uuid}/proof-pack/").status_code == 404
    assert "Proof pack" not in text(client.get(f"/parcels/{order.uuid}/"))
    assert not Audit.objects.exists()


def test_a_parcel_the_carrier_never_had_has_no_proof_pack(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="draft")
    assert visit(alice).post(f"/parcels/{order.uuid}/proof-pack/").status_code == 404


def test_a_suspended_sender_can_export_everything(
    order: Order, quill: Sender, alice: User, sam: User, visit: Visit
) -> None:
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="-", now=timezone.now())
    client = visit(alice)
    for url in (EVERYTHING, f"/parcels/{order.uuid}/proof-pack/"):
        assert client.post(url).status_code == 302
    for export in Export.objects.all():
        packing.pack_due_export(export.pk)
        assert client.get(f"/exports/{export.uuid}/file.zip").status_code == 200


def test_a_file_older_than_a_week_is_packed_again_on_request(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    export = factories.export(
        quill, alice, order=order,
        created_at=timezone.now() - dt.timedelta(days=8), expires_at=timezone.now() - dt.timedelta(days=1),
    )  # fmt: skip
    client = visit(alice)
    assert client.get(f"/exports/{export.uuid}/file.zip")["Location"] == f"/exports/{export.uuid}/"
    assert "was kept for a week and is gone" in text(client.get(f"/exports/{export.uuid}/"))
    assert f"/exports/{export.uuid}/" not in client.get(f"/parcels/{order.uuid}/").content.decode()
    assert client.post(f"/parcels/{order.uuid}/proof-pack/")["Location"] != f"/exports/{export.uuid}/"


def test_a_missing_label_is_named_on_the_page(quill: Sender, alice: User, visit: Visit) -> None:
    export = factories.export(quill, alice, problem="2 labels are not in it. NOT-INCLUDED.txt says why.")
    assert "2 labels are not in it." in text(visit(alice).get(f"/exports/{export.uuid}/"))


def test_while_the_carrier_is_paused_owners_see_a_link_to_their_data(
    order: Order, alice: User, ana: User, visit: Visit
) -> None:
    account = factories.account()
    type(account).objects.update(paused_at=timezone.now(), pause_text="Storms.")
    assert "Take your data with you" in text(visit(alice).get("/today/"))
    assert "Take your data with you" not in text(visit(ana).get("/today/"))
