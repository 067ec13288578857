"""Labels are served byte for byte, only to those who book, and only while the parcel is booked."""

import logging
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Label, LabelBytes, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Sender, User
from shipping_portal.exporting import packing
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def label(quill: Sender, alice: User) -> Label:
    return factories.stored_label(factories.order(quill, alice, status="booked"))


def address(label: Label) -> str:
    return f"/parcels/{label.order.uuid}/label/{label.size}.pdf"


@pytest.mark.parametrize("who", ["alice", "ana"])
def test_bookers_get_the_carriers_bytes_inline(
    label: Label, request: pytest.FixtureRequest, visit: Visit, who: str
) -> None:
    answer = visit(request.getfixturevalue(who)).get(address(label))
    assert answer.content == label.intact_bytes()
    assert answer["Content-Type"] == "application/pdf"
    assert answer["Content-Disposition"] == f'inline; filename="label-{label.order}-{label.size}.pdf"'


def test_a_download_is_an_attachment_of_the_same_bytes(label: Label, alice: User, visit: Visit) -> None:
    answer = visit(alice).get(f"{address(label)}?download=1")
    assert answer.content == label.intact_bytes()
    assert answer["Content-Disposition"].startswith("attachment; ")


def test_a_label_is_never_cached_framed_or_sniffed(label: Label, alice: User, visit: Visit) -> None:
    answer = visit(alice).get(address(label))
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'self'"


def test_a_part_of_a_label_is_never_served(label: Label, alice: User, visit: Visit) -> None:
    answer = visit(alice).get(address(label), headers={"Range": "bytes=0-3"})
    assert answer.status_code == 200
    assert answer.content == label.intact_bytes()


def test_one_changed_byte_is_an_error_and_never_a_label(
    label: Label, alice: User, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    spoiled = b"X" + label.intact_bytes()[1:]
    LabelBytes.objects.filter(label=label).update(content=spoiled)
    with caplog.at_level(logging.ERROR):
        answer = visit(alice).get(address(label))
    assert answer.status_code == 500
    assert "This label file no longer matches the carrier's original" in text(answer)
    assert spoiled not in answer.content
    assert "does not match its sha256" in caplog.text


def test_a_damaged_label_is_no_longer_offered_and_an_operator_is_asked_to_fetch_it(
    label: Label, alice: User, sam: User, visit: Visit
) -> None:
    LabelBytes.objects.update(content=b"%PDF-1.4 another label %%EOF")
    browser = visit(alice)
    browser.get(address(label))
    said = text(browser.get(f"/parcels/{label.order.uuid}/"))
    assert "no longer matches the carrier's original. Our team has to fetch it again" in said
    assert "Don't book it again" in said
    assert "Mark printed" not in said
    again = browser.get(address(label))
    assert (again.status_code, "This label can't be used" in text(again)) == (404, True)
    assert str(label.order) not in text(browser.get("/parcels/print/"))
    staff = visit(sam)
    assert "Labels not fetched" in text(staff.get("/admin/"))
    assert "doesn't match its checksum" in text(staff.get("/admin/orders/label/?needs=fetching"))


@pytest.mark.parametrize("who", ["bea", "vic", "bob", "sam"])
def test_everybody_else_gets_a_404(label: Label, request: pytest.FixtureRequest, visit: Visit, who: str) -> None:
    assert visit(request.getfixturevalue(who)).get(address(label)).status_code == 404


def test_a_visitor_is_sent_to_log_in(label: Label) -> None:
    assert Client().get(address(label))["Location"].startswith("/accounts/login/")


def test_a_cancelled_parcels_label_is_not_served(label: Label, alice: User, visit: Visit) -> None:
    now = timezone.now()
    order = Order.objects.get()
    move_to(order, "cancelling", reason="-", at=now)
    assert visit(alice).get(address(label)).status_code == 404
    move_to(order, "cancelled", reason="-", at=now, cancelled_at=now)
    assert visit(alice).get(address(label)).status_code == 404


@pytest.mark.parametrize(
    ("state", "due", "said"),
    [
        ("pending", True, "The carrier is making it. Open this page again in a moment."),
        ("failed", True, "The carrier hasn't given us this label yet. We keep asking."),
        ("failed", False, "The carrier hasn't given us this label yet. Our team has to ask for it."),
        ("absent", False, "The carrier has no label of this size for this parcel."),
    ],
)
def test_the_page_of_a_late_label_says_it_is_not_ready_yet(
    label: Label, alice: User, visit: Visit, state: str, due: bool, said: str
) -> None:
    LabelBytes.objects.all().delete()
    Label.objects.update(state=state, due_at=timezone.now() if due else None)
    answer = visit(alice).get(address(label))
    assert answer.status_code == 404
    assert f"The label of {label.order} isn't here yet {said}" in text(answer)
    assert "The parcel is booked; don't book it again." in text(answer)


def test_a_purged_label_is_gone_but_its_checksum_is_kept(label: Label, alice: User, visit: Visit) -> None:
    LabelBytes.objects.all().delete()
    Label.objects.update(purged_at=timezone.now())
    client = visit(alice)
    assert client.get(address(label)).status_code == 404
    assert label.sha256 in text(client.get(f"/parcels/{label.order.uuid}/"))


def test_a_label_being_checked_after_a_restore_is_not_served(label: Label, alice: User, visit: Visit) -> None:
    Label.objects.update(state="withheld")
    answer = visit(alice).get(address(label))
    assert answer.status_code == 404
    assert b"%PDF" not in answer.content
    assert "asking the carrier whether this parcel is still booked" in text(answer)
    assert "Don't use a label you printed before, and don't book it again." in text(answer)
    assert "The parcel is booked" not in text(answer)
    assert "is making it" not in text(answer)


@pytest.mark.parametrize("size", ["a5", "full.pdf", "cropped"])
def test_another_size_is_404(label: Label, alice: User, visit: Visit, size: str) -> None:
    assert visit(alice).get(f"/parcels/{label.order.uuid}/label/{size}.pdf").status_code == 404


def test_a_post_is_refused(label: Label, alice: User, visit: Visit) -> None:
    assert visit(alice).post(address(label)).status_code == 405


@pytest.mark.parametrize("how", ["opened", "downloaded", "in a ZIP", "in a proof pack"])
def test_the_first_time_a_label_is_served_is_recorded(label: Label, alice: User, visit: Visit, how: str) -> None:
    """Until then an adopted reference can be taken back: tests/staff/test_unadopting.py."""

    def give_out() -> None:
        if how == "in a proof pack":
            export = packing.request_export(label.order.sender, label.order, by=alice, now=timezone.now())
            packing.pack_due_export(export.pk)
            export.parts.all().delete()
            export.delete()
        else:
            zipped = f"/parcels/print/originals.zip?order={label.order.uuid}"
            page = {"opened": address(label), "downloaded": f"{address(label)}?download=1"}.get(how, zipped)
            answer = visit(alice).get(page)
            assert b"%PDF" in (b"".join(answer.streaming_content) if answer.streaming else answer.content)

    give_out()
    label.refresh_from_db()
    first = label.served_at
    assert first is not None
    give_out()
    label.refresh_from_db()
    assert label.served_at == first


def test_a_label_deleted_while_it_is_read_is_not_served(
    label: Label, alice: User, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Label.intact_bytes

    def then_gone(self: Label) -> bytes:
        content = read(self)
        Label.objects.filter(pk=self.pk).delete()
        return content

    monkeypatch.setattr(Label, "intact_bytes", then_gone)
    assert visit(alice).get(address(label)).status_code == 404


@pytest.mark.parametrize(("progress", "status"), [("", 403), ("pickup_missed", 403), ("collected", 200)])
def test_stopping_dispatch_withholds_labels_of_parcels_not_collected_yet(
    label: Label, quill: Sender, alice: User, sam: User, visit: Visit, progress: str, status: int
) -> None:
    Order.objects.update(progress=progress)
    now = timezone.now()
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=now)
    assert visit(alice).get(address(label)).status_code == 200
    quill.reinstate(by=sam, reason="A mistake.", now=now)
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="", now=now, stop_dispatch=True)
    assert visit(alice).get(address(label)).status_code == status
    if status == 403:
        with pytest.raises(LabelBytes.DoesNotExist):
            label.intact_bytes()
    quill.reinstate(by=sam, reason="It was paid.", now=now)
    assert visit(alice).get(address(label)).status_code == 200
