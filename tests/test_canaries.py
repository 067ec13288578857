"""R2: a signed link is shown on its one page, and links and secrets are found nowhere else."""

import io
import logging
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as configured
from django.contrib import admin
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.booking import bookings
from orders.labels import fetching
from orders.models import Order
from orders.status.transitions import advance, move_to
from shipping_portal.accounts.mail import mailing
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.exporting import packing
from shipping_portal.exporting.models import Export
from tests import factories
from tests.access import MEMBERS, address, audience, things_of
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tracking import polling

pytestmark = pytest.mark.django_db

TOKEN = "token="
SECRETS = [
    "canary-carrier-key", "canary-link-key", "canary-webhook-secret", configured.SECRET_KEY,
    "canary-metrics-token", "canary-alert-secret",
]  # fmt: skip


@pytest.fixture(params=["response", "signed"])
def linked(request: Any, tmp_path: Any, settings: Any) -> Iterator[SandboxCarrier]:
    """A carrier that gives signed links, in each of the two ways."""
    toml = f'link = "{request.param}"\nlink_page = "http://127.0.0.1:9/t/"\n'
    path = tmp_path / "links.toml"
    path.write_text(toml)
    settings.CARRIER_CONTRACT = str(path)
    keys = {"key": settings.CARRIER_KEY, "link_key": settings.CARRIER_LINK_KEY}
    with SandboxCarrier(tmp_path / "carrier", contract=toml, **keys) as it:
        settings.CARRIER_BASE_URL = it.url
        yield it
        assert improper(it.requests()) == []


@pytest.fixture
def order(linked: SandboxCarrier, quill: Sender, alice: User, caplog: pytest.LogCaptureFixture) -> Order:
    """A booked order with its labels and parcel. Everything is logged."""
    caplog.set_level(logging.DEBUG)
    made = factories.order(quill, alice)
    move_to(made, "booking", by=alice, reason="-", at=timezone.now(), due_at=timezone.now())
    bookings.process_booking(made.pk)
    made.refresh_from_db()
    made.labels.update(is_spare=False)  # both are wanted
    for label in made.labels.all():
        fetching.fetch_due_label(label.pk)
    polling.open_parcel(made.pk)
    return made


@pytest.fixture
def things(order: Order) -> dict[str, Any]:
    """One of each thing that pages show, including this order."""
    return things_of(order.sender, order.made_by) | {"order": order, "quote": order.quote}


def pages_of(who: User, client: Client, things: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes and headers of every page this role may open, streamed files included."""
    for route, details in MEMBERS:
        if details.name != "tracking_page" and who.membership.role in audience(details):
            url = address(route, things)
            answer = client.get(url)
            yield f"{who.name} at {url}", answer.getvalue() + str(answer.headers).encode()


def every_row() -> str:
    """Return all text in the database, as somebody with a stolen dump would read it."""
    found = []
    for model in apps.get_models():
        for row in model._default_manager.all():
            for field in model._meta.concrete_fields:
                value = getattr(row, field.attname)
                found.append(
                    bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
                )
    return "\n".join(found)


def test_no_link_is_made_for_a_parcel_of_another_carrier_account(
    order: Order, linked: SandboxCarrier, alice: User, visit: Callable[[User], Client], settings: Any
) -> None:
    before = len(linked.requests())
    settings.CARRIER_ACCOUNT = "another-account"
    answer = visit(alice).get(reverse("tracking_page", args=[order.uuid]))
    assert TOKEN not in answer.content.decode()
    assert "another carrier account" in answer.content.decode()
    assert len(linked.requests()) == before


def test_the_link_is_shown_to_its_owner_and_that_is_audited(
    order: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    answer = visit(alice).get(reverse("tracking_page", args=[order.uuid]))
    assert TOKEN in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "no-referrer"
    assert Audit.objects.get(action="link shown").actor == alice


def test_the_link_and_the_secrets_appear_nowhere_else(
    order: Order,
    things: dict[str, Any],
    alice: User,
    ana: User,
    bea: User,
    vic: User,
    sam: User,
    visit: Callable[[User], Client],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They are on no page of any role, and not in the database, the log or an email."""
    assert TOKEN in visit(alice).get(reverse("tracking_page", args=[order.uuid])).content.decode()
    private = [TOKEN, *SECRETS]
    seen = [page for who in (alice, ana, bea, vic) for page in pages_of(who, visit(who), things)]
    seen += admin_pages(visit(sam))
    texts = [(where, content.decode(errors="replace")) for where, content in seen]
    texts += [("the database", every_row()), ("the log", caplog.text)]
    texts += [("a mail", message.body) for message in mail.outbox]
    assert not [(where, word) for where, text in texts for word in private if word in text]


def test_the_link_is_in_no_email_and_no_export(order: Order, alice: User, visit: Callable[[User], Client]) -> None:
    client = visit(alice)
    assert TOKEN in client.get(reverse("tracking_page", args=[order.uuid])).content.decode()
    advance(order, "pickup_futile", at=timezone.now())
    Notification.objects.update(due_at=timezone.now())
    for notice in Notification.objects.filter(user=alice):
        mailing.send_due_mail(notice.pk)
    sent = "".join(str(message.message()) for message in mail.outbox)
    assert f"/parcels/{order.uuid}/" in sent
    exported = client.get("/parcels/export.csv").getvalue().decode()
    assert order.carrier_reference in exported
    for text in (sent, exported):
        assert TOKEN not in text
        assert "127.0.0.1:9" not in text


@pytest.mark.parametrize("what", ["proof", "account"])
def test_no_export_has_a_link_or_the_labels_address(
    order: Order, linked: SandboxCarrier, alice: User, visit: Callable[[User], Client], what: str
) -> None:
    """Not even if a scan and a charge contained one."""
    client = visit(alice)
    link = f"{linked.url}/t/?{TOKEN}canary"
    assert TOKEN in client.get(reverse("tracking_page", args=[order.uuid])).content.decode()
    factories.event(order.parcel, event_type=f"Info {link}", description=f"See {link}")
    factories.charge(order, word=f"Order {link}", reason=f"See {link}")
    path = reverse("pack_proof", args=[order.uuid]) if what == "proof" else reverse("pack_everything")
    page = client.post(path)["Location"]
    packing.pack_due_export(Export.objects.get().pk)
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{page}file.zip").getvalue()))  # type: ignore[attr-defined]
    assert len([name for name in archive.namelist() if name.endswith(".pdf")]) == order.labels.count()
    for name in archive.namelist():
        content = archive.read(name).decode(errors="replace").replace(order.public_tracking_url, "")
        assert TOKEN not in content, name
        assert linked.url not in content, name
        assert not [secret for secret in SECRETS if secret in content], name


def test_nobody_else_is_shown_the_link(
    order: Order, bea: User, vic: User, bob: User, sam: User, visit: Callable[[User], Client]
) -> None:
    for who in (bea, vic, bob, sam):
        answer = visit(who).get(reverse("tracking_page", args=[order.uuid]))
        assert answer.status_code == 404, who.name
        assert TOKEN not in answer.content.decode(), who.name


def test_a_visitor_sees_no_link_and_no_personal_data(order: Order, things: dict[str, Any]) -> None:
    """Not in the redirects to the login page, and not on it."""
    client = Client()
    answers = [client.get(address(route, things)) for route, _ in MEMBERS]
    answers.append(client.get(answers[0]["Location"]))
    for answer in answers:
        content = answer.content.decode() + str(answer.headers)
        for private in (TOKEN, order.receiver_name, order.receiver_email, order.receiver_line1):
            assert private not in content, answer.request["PATH_INFO"]
    assert {answer["Location"].partition("?")[0] for answer in answers[:-1]} == {reverse("account_login")}


def test_there_is_no_link_after_a_cancellation(order: Order, alice: User, visit: Callable[[User], Client]) -> None:
    now = timezone.now()
    move_to(order, "cancelling", reason="-", at=now)
    move_to(order, "cancelled", reason="-", at=now, cancelled_at=now)
    assert visit(alice).get(reverse("tracking_page", args=[order.uuid])).status_code == 404


def admin_pages(client: Client) -> Iterator[tuple[str, bytes]]:
    """Yield the index, every list, and the page of the newest row in each."""
    yield "/admin/", client.get("/admin/").content
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        url = reverse(f"{name}_changelist")
        yield url, client.get(url).content
        newest = model._default_manager.order_by("-pk").first()
        if newest:
            url = reverse(f"{name}_change", args=[newest.pk])
            yield url, client.get(url, follow=True).content
