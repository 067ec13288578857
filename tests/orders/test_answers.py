"""What people read when a reply is not a clear yes: silence, an unreadable reply, a stopped account."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.booking import bookings, recording
from orders.models import CarrierAccount, Order
from shipping_portal.accounts.models import User
from shipping_portal.carrier.errors import OutcomeUnknown
from tests import factories
from tests.catalogue.acting import work
from tests.catalogue.meddling import Meddler, reply
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
DIDNT = "The carrier didn't answer in time"
UNREADABLE = "The carrier gave an answer we can't read"


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        *((verb, DIDNT) for verb in ("commit-close", "commit-rst")),
        *((verb, UNREADABLE) for verb in ("202", "302", "409", "503", "500", "empty201", "html200", "truncate")),
    ],
)
def test_silence_and_an_unreadable_reply_read_differently(
    submitted: Submit, carrier: SandboxCarrier, alice: User, visit: Callable[[User], Client], verb: str, said: str
) -> None:
    carrier.trouble("book", verb)
    order = work(submitted())
    assert order.status == "unconfirmed"
    page = visit(alice)
    for address in (f"/parcels/{order.uuid}/", f"/parcels/{order.uuid}/booking/"):
        assert f"{said}, so the parcel may or may not be booked." in text(page.get(address))
    for address in ("/today/", "/parcels/"):
        words = text(page.get(address))
        assert f"{said}." in words
        assert said == DIDNT or "didn't answer" not in words


def test_a_reply_that_came_too_late_counts_as_none(submitted: Submit) -> None:
    order = submitted()
    attempt = bookings._write_down(order, timezone.now())
    assert attempt
    recording.record_outcome(attempt, OutcomeUnknown("the reply came too late", 201, late=True))
    order.refresh_from_db()
    assert order.problem["text"] == DIDNT


def test_a_stopped_worker_is_not_reported_as_the_carriers_silence(submitted: Submit) -> None:
    order = submitted()
    bookings._write_down(order, timezone.now())
    order = work(order)
    assert (order.status, order.problem["text"]) == ("unconfirmed", "The carrier's answer didn't reach us")


HELD_UP = "Bookings are held up at the carrier; yours waits, nothing is charged."


def test_senders_see_a_stopped_account_and_the_admin_has_the_carriers_words(
    submitted: Submit, line: Meddler, alice: User, visit: Callable[[User], Client], sam: User
) -> None:
    order = submitted()
    line.says("book", reply(403, {"error": "forbidden", "error_description": "blocked"}))
    work(order)
    row = factories.import_row(order.sender, alice, state="booked", problems={}, order=order)
    row.file.state = "booking"
    row.file.save()
    page = visit(alice)
    for address in (f"/parcels/{order.uuid}/", f"/parcels/{order.uuid}/booking/", f"/imports/{row.file.uuid}/"):
        assert HELD_UP in text(page.get(address))
    for address in ("/today/", "/parcels/new/"):
        assert "Bookings are held up at the carrier since" in text(page.get(address))
    account = CarrierAccount.objects.get()
    assert account.stopped_reason == order.attempts.get().error == "account stopped (403): blocked"
    staff = visit(sam)
    for address in ("/admin/health/", f"/admin/orders/carrieraccount/{account.pk}/change/"):
        assert "account stopped (403): blocked" in text(staff.get(address))
    line.behaves()
    CarrierAccount.objects.update(probe_due_at=timezone.now())
    work(order)
    assert order.status == "booked"
    assert "held up at the carrier" not in text(page.get("/today/"))
