"""R2: signed links and secrets: shown on the one page where they belong, then found nowhere else."""

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

from orders import booking, labels
from orders.models import Export, Order
from shipping_portal.accounts import mailing
from shipping_portal.accounts.models import Audit, Notice, Sender, User
from shipping_portal.desk.noticing import Finder
from tests import factories
from tests.recording import improper
from tests.sandbox_carrier import SandboxCarrier
from tests.test_access import MEMBERS, ROLES, address, things_of
from tracking import polling
from tracking.exporting import packing

pytestmark = pytest.mark.django_db

TOKEN = "token="
SECRETS = ["canary-carrier-key", "canary-link-key", "canary-webhook-secret", configured.SECRET_KEY]


@pytest.fixture(params=["response", "signed"])
def linked(request: Any, tmp_path: Any, settings: Any) -> Iterator[SandboxCarrier]:
    """A carrier whose links are on, in each of the two ways."""
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
    """A booked order with its labels and its parcel, everything logged."""
    caplog.set_level(logging.DEBUG)
    made = factories.order(quill, alice)
    made.move_to("booking", by=alice, reason="-", at=timezone.now(), due_at=timezone.now())
    booking.work(made.pk)
    made.refresh_from_db()
    for label in made.labels.all():
        labels.work(label.pk)
    polling.open_parcel(made.pk)
    return made


@pytest.fixture
def things(order: Order) -> dict[str, Any]:
    """What the pages are about: this order, and one of everything else."""
    return things_of(order.sender, order.made_by) | {"order": order, "quote": order.quote}


def pages_of(client: Client, things: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Every page's bytes and headers, those of streamed files too."""
    for route, entry in MEMBERS:
        if entry.name != "tracking_page":
            url = address(route, things)
            yield url, client.get(url).getvalue() + str(client.get(url).headers).encode()


def every_row() -> str:
    """All text of the database, as a thief of a dump would read it."""
    found = []
    for model in apps.get_models():
        for row in model._default_manager.all():
            for field in model._meta.concrete_fields:
                value = getattr(row, field.attname)
                found.append(
                    bytes(value).decode(errors="replace")
                    if isinstance(value, bytes | memoryview)
                    else str(value)
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


def test_the_link_is_shown_to_its_owner_and_the_showing_is_kept(
    order: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    answer = visit(alice).get(reverse("tracking_page", args=[order.uuid]))
    assert TOKEN in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "no-referrer"
    assert Audit.objects.get(action="link shown").actor == alice


def test_the_link_is_found_nowhere_else(
    order: Order,
    things: dict[str, Any],
    alice: User,
    sam: User,
    quill: Sender,
    visit: Callable[[User], Client],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert TOKEN in visit(alice).get(reverse("tracking_page", args=[order.uuid])).content.decode()
    for role in ROLES:
        person = factories.user(f"{role}@canary.example")
        factories.member(quill, person, role=role)
        for url, content in pages_of(visit(person), things):
            assert TOKEN.encode() not in content, f"{role} at {url}"
    for url, content in admin_pages(visit(sam)):
        assert TOKEN.encode() not in content, url
    assert TOKEN not in every_row()
    assert TOKEN not in caplog.text
    assert all(TOKEN not in message.body for message in mail.outbox)


def test_the_link_is_in_no_mail_and_no_export(
    order: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    client = visit(alice)
    assert TOKEN in client.get(reverse("tracking_page", args=[order.uuid])).content.decode()
    Order.objects.filter(pk=order.pk).update(progress="pickup_futile", progress_at=timezone.now())
    factories.event(order.parcel)
    Finder().look(timezone.now())
    Notice.objects.update(due_at=timezone.now())
    mailing.work(Notice.objects.get(user=alice).pk)
    [message] = mail.outbox
    assert f"/parcels/{order.uuid}/" in message.body
    exported = client.get("/parcels/export.csv").getvalue().decode()
    assert order.carrier_reference in exported
    for text in (str(message.message()), exported):
        assert TOKEN not in text
        assert "127.0.0.1:9" not in text


@pytest.mark.parametrize("what", ["proof", "account"])
def test_no_export_has_a_link_or_the_labels_address(
    order: Order, linked: SandboxCarrier, alice: User, visit: Callable[[User], Client], what: str
) -> None:
    """Though a scan was told with one, and a charge."""
    client = visit(alice)
    link = f"{linked.url}/t/?{TOKEN}canary"
    assert TOKEN in client.get(reverse("tracking_page", args=[order.uuid])).content.decode()
    factories.event(order.parcel, event_type=f"Info {link}", description=f"See {link}")
    factories.charge(order, word=f"Order {link}", reason=f"See {link}")
    path = reverse("pack_proof", args=[order.uuid]) if what == "proof" else reverse("pack_everything")
    page = client.post(path)["Location"]
    packing.work(Export.objects.get().pk)
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{page}file.zip").getvalue()))  # type: ignore[attr-defined]
    assert len([name for name in archive.namelist() if name.endswith(".pdf")]) == order.labels.count()
    for name in archive.namelist():
        content = archive.read(name).decode(errors="replace").replace(order.public_tracking_url, "")
        assert TOKEN not in content, name
        assert linked.url not in content, name
        assert not [secret for secret in SECRETS if secret in content], name


@pytest.mark.parametrize("who", ["bea", "vic", "bob", "sam"])
def test_nobody_else_is_shown_the_link(
    order: Order, who: str, request: pytest.FixtureRequest, visit: Callable[[User], Client]
) -> None:
    answer = visit(request.getfixturevalue(who)).get(reverse("tracking_page", args=[order.uuid]))
    assert answer.status_code == 404
    assert TOKEN not in answer.content.decode()


def test_a_visitor_sees_neither_link_nor_person(order: Order, things: dict[str, Any]) -> None:
    for route, _ in MEMBERS:
        url = address(route, things)
        content = Client().get(url, follow=True).content.decode()
        for private in (TOKEN, order.receiver_name, order.receiver_email, order.receiver_line1):
            assert private not in content, url


def test_after_cancelling_there_is_no_link(
    order: Order, alice: User, visit: Callable[[User], Client]
) -> None:
    now = timezone.now()
    order.move_to("cancelling", reason="-", at=now)
    order.move_to("cancelled", reason="-", at=now, cancelled_at=now)
    assert visit(alice).get(reverse("tracking_page", args=[order.uuid])).status_code == 404


def test_no_secret_is_on_a_page_in_the_database_or_in_the_log(
    order: Order,
    things: dict[str, Any],
    alice: User,
    sam: User,
    visit: Callable[[User], Client],
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = [content.decode(errors="replace") for _, content in pages_of(visit(alice), things)]
    seen += [content.decode(errors="replace") for _, content in admin_pages(visit(sam))]
    for text in [*seen, every_row(), caplog.text]:
        assert not [secret for secret in SECRETS if secret in text]


def admin_pages(client: Client) -> Iterator[tuple[str, bytes]]:
    """The index, every list, and the page of the newest row of everything."""
    yield "/admin/", client.get("/admin/").content
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        url = reverse(f"{name}_changelist")
        yield url, client.get(url).content
        newest = model._default_manager.order_by("-pk").first()
        if newest:
            url = reverse(f"{name}_change", args=[newest.pk])
            yield url, client.get(url, follow=True).content
