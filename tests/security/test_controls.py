"""A control closes every way out: each control of an account, against each way a label or a name can get out.

Each way is tried before the control, when it must return something, and after it. A way still open is named.
"""

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from orders.models import Label, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.mail import mailing, outbox
from shipping_portal.accounts.models import Notification, Sender, User
from shipping_portal.accounts.teams import closing, team
from shipping_portal.billing.pages import statements
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export
from shipping_portal.jobs import erasing
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("parcel_tools")]

CANARIES = {"label": b"LABELCANARY", "name": b"Canaryname", "link": b"https://track.example/t/"}
LABEL = b"%PDF-1.4 LABELCANARY %%EOF"


@dataclass
class Scene:
    """An account with a parcel, files made from it earlier, and the browser of the owner the control is about."""

    sender: Sender
    owner: User
    order: Order
    browser: Client
    files: dict[str, Export]
    by: User

    def log_in(self) -> None:
        """Log in with new cookies: those of the last row may be invalid."""
        self.browser = Client()
        self.browser.force_login(self.owner, backend="allauth.account.auth_backends.AuthenticationBackend")

    def get(self, path: str) -> bytes:
        return _content(self.browser.get(path, follow=True))

    def file(self, export: Export) -> bytes:
        answer = self.browser.get(f"/exports/{export.uuid}/file.zip")
        if answer.status_code != 200 or not answer.get("Content-Type", "").endswith("zip"):
            return b""
        with zipfile.ZipFile(io.BytesIO(_content(answer))) as found:
            return b"".join(found.read(name) for name in found.namelist())

    def packed_again(self, path: str) -> bytes:
        """Press the button, let the worker pack, and download the result."""
        found = re.fullmatch(r"/exports/(.+)/", self.browser.post(path).get("Location", ""))
        if not found:
            return b""
        pressed = Export.objects.get(uuid=found[1])
        packing.pack_due_export(pressed.pk)
        return self.file(pressed)

    def mailed(self) -> bytes:
        now = timezone.now()
        outbox.notify(
            outbox.Event(
                sender=self.sender, kind="export", dedupe_key=f"t:{now}", line=self.order.receiver_name, path="/",
                happened_at=now, batch_key=f"t:{now}", only=self.owner.pk,
            ),
            now=now,
        )  # fmt: skip
        for notice in Notification.objects.filter(sent_at=None):
            Notification.objects.filter(pk=notice.pk).update(due_at=now)
            mailing.send_due_mail(notice.pk)
        return "".join(letter.body for letter in mail.outbox).encode()


def _content(answer: Any) -> bytes:
    content: bytes = answer.getvalue() if answer.streaming else answer.content
    return content if answer.status_code == 200 else b""


WAYS: dict[str, tuple[set[str], Callable[[Scene], bytes]]] = {
    "the label's page": ({"label"}, lambda at: at.get(f"/parcels/{at.order.uuid}/label/full.pdf")),
    "the label as a download": ({"label"}, lambda at: at.get(f"/parcels/{at.order.uuid}/label/full.pdf?download=1")),
    "originals of the queue": ({"label", "name"}, lambda at: at.get("/parcels/print/originals.zip")),
    "originals of one": ({"label", "name"}, lambda at: at.get(f"/parcels/print/originals.zip?order={at.order.uuid}")),
    "a proof pack made before": ({"label", "name"}, lambda at: at.file(at.files["proof"])),
    "everything, made before": ({"label", "name"}, lambda at: at.file(at.files["account"])),
    "a proof pack made now": (
        {"label", "name"}, lambda at: at.packed_again(f"/parcels/{at.order.uuid}/proof-pack/")),
    "everything, made now": ({"label", "name"}, lambda at: at.packed_again("/settings/data/everything/")),
    "the signed link": ({"link"}, lambda at: at.get(f"/orders/{at.order.uuid}/tracking-page/")),
    "the queue to print": ({"name"}, lambda at: at.get("/parcels/print/")),
    "the parcel's page": ({"name"}, lambda at: at.get(f"/parcels/{at.order.uuid}/")),
    "the list": ({"name"}, lambda at: at.get("/parcels/")),
    "the list as a file": ({"name"}, lambda at: at.get("/parcels/export.csv")),
    "the address book": ({"name"}, lambda at: at.get("/addresses/")),
    "suggestions": ({"name"}, lambda at: at.get("/suggest/receivers/?q=Canary")),
    "the statement as a file": (
        {"name"}, lambda at: at.get(f"/billing/{statements.week_name(at.order.charges.get().week)}/statement.csv")),
    "drafts": ({"name"}, lambda at: at.get("/parcels/?view=drafts")),
    "a form filled again": ({"name"}, lambda at: at.get(f"/parcels/new/?again={at.order.uuid}")),
    "mail": ({"name"}, lambda at: at.mailed()),
}  # fmt: skip
LABELS = {(way, what) for way, (gives, _) in WAYS.items() for what in gives & {"label", "link"}}
EVERY = {(way, what) for way, (gives, _) in WAYS.items() for what in gives}


def cancel(at: Scene) -> None:
    now = timezone.now()
    move_to(at.order, "cancelling", by=at.owner, reason="-", at=now)
    move_to(at.order, "cancelled", reason="-", at=now, cancelled_at=now)


def withhold(at: Scene) -> None:
    """Withhold the labels until the carrier confirms that their orders are still booked."""
    factories.restore(restored_at=timezone.now())
    Label.objects.update(state=Label.State.WITHHELD)


def suspend(at: Scene, *, stop: bool) -> None:
    at.sender.suspend(by=at.by, category="terms", text="-", note="-", now=timezone.now(), stop_dispatch=stop)


def erase(at: Scene) -> None:
    """Erase the receiver and everything the search finds about them."""
    sender = at.sender
    erasing.erase({
        "order": [at.order.pk],
        "sender's files": [sender.pk],
        "receiver": [row.pk for row in sender.receivers.all()],
        "draft": [row.pk for row in sender.drafts.all()],
    })  # fmt: skip


def close(at: Scene) -> None:
    Order.objects.update(progress="delivered")
    closing.close_account(at.sender, by=at.owner, now=timezone.now())


def turn_off(at: Scene) -> None:
    User.objects.filter(pk=at.owner.pk).update(is_active=False)


CONTROLS: dict[str, tuple[Callable[[Scene], None], set[tuple[str, str]]]] = {
    "suspend": (lambda at: suspend(at, stop=False), EVERY - {("a form filled again", "name")}),
    "stop dispatch": (lambda at: suspend(at, stop=True), EVERY - LABELS - {
        ("a form filled again", "name"), ("a proof pack made before", "name"), ("everything, made before", "name"),
        ("originals of the queue", "name"), ("originals of one", "name"),
    }),
    "cancel": (cancel, EVERY - LABELS - {
        ("a proof pack made before", "name"), ("everything, made before", "name"), ("the queue to print", "name"),
        ("originals of the queue", "name"), ("originals of one", "name"),
    }),
    "a restore from a backup": (withhold, EVERY - {
        (way, what) for way, what in LABELS if way != "the signed link"
    } - {
        ("a proof pack made before", "name"), ("everything, made before", "name"), ("the queue to print", "name"),
        ("originals of the queue", "name"), ("originals of one", "name"),
    }),
    "remove": (lambda at: team.remove_member(at.owner.membership, by=at.by, now=timezone.now()), set()),
    "demote": (
        lambda at: team.set_role(at.owner.membership, "viewer", by=at.by, now=timezone.now()),
        {("the parcel's page", "name"), ("the list", "name"), ("the list as a file", "name")},
    ),
    "turn off": (turn_off, set()),
    "erase": (erase, {("mail", "name")}),
    "close": (close, EVERY - {  # delivered: it is in no queue
        ("a form filled again", "name"), ("the queue to print", "name"),
        ("originals of the queue", "name"), ("originals of the queue", "label"),
    }),
    "close, and its term": (lambda at: erasing.erase({"sender": [at.sender.pk]}) and None, set()),
}  # fmt: skip


@pytest.fixture
def scene(quill: Sender, alice: User, ana: User, sam: User) -> Scene:
    team.set_role(ana.membership, "owner", by=alice, now=timezone.now())
    order = factories.order(quill, alice, status="booked", receiver_name="Zora Canaryname")
    order.search = order.search_text()
    order.save()
    factories.stored_label(order, content=LABEL)
    factories.parcel(order)
    factories.charge(order)
    factories.saved_receiver(quill, name="Zora Canaryname")
    factories.draft(quill, alice, receiver_name="Zora Canaryname")
    now = timezone.now()
    files = {
        "proof": packing.request_export(order.sender, order, by=alice, now=now),
        "account": packing.request_export(quill, None, by=alice, now=now),
    }
    for export in files.values():
        packing.pack_due_export(export.pk)
        export.refresh_from_db()
    made = Scene(quill, alice, order, Client(), files, sam)
    made.log_in()
    return made


def given(at: Scene) -> set[tuple[str, str]]:
    """Return what gets out each way, and empty the mailbox."""
    mail.outbox.clear()
    found = {(way, what) for way, (_, take) in WAYS.items() for what in _found(take(at))}
    mail.outbox.clear()
    return found


def _found(content: bytes) -> set[str]:
    return {what for what, canary in CANARIES.items() if canary in content}


def test_before_any_control_each_way_works(scene: Scene) -> None:
    assert given(scene) >= EVERY


@pytest.mark.parametrize("control", CONTROLS)
def test_a_control_closes_every_way_out(control: str, scene: Scene) -> None:
    act, stays_open = CONTROLS[control]
    scene.log_in()
    act(scene)
    assert given(scene) & EVERY == stays_open
