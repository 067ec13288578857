"""The ZIP of originals: the carrier's exact bytes, what it contains and leaves out, and who downloaded it."""

import csv
import datetime as dt
import io
import logging
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone

from orders.labels import originals, printing
from orders.models import Label, LabelBytes, Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
ZIP = "/parcels/print/originals.zip"


def ready(of: Sender, by: User, *, content: bytes = b"%PDF-1.4 a label %%EOF", **fields: object) -> Order:
    made = factories.order(of, by, status="booked", **fields)
    factories.stored_label(made, content=content)
    return made


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return ready(quill, alice, carrier_reference="S7K2QX", receiver_name="Priya Nair", receiver_postcode="3056")


def archive(answer: object) -> zipfile.ZipFile:
    assert isinstance(answer, StreamingHttpResponse)
    return zipfile.ZipFile(io.BytesIO(b"".join(answer)))  # type: ignore[arg-type]


def test_each_label_is_unchanged_and_has_a_readable_name(order: Order, alice: User, visit: Visit) -> None:
    answer = visit(alice).get(f"{ZIP}?view=labels-to-print")
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("application/zip", "private, no-store")
    found = archive(answer)
    assert found.testzip() is None
    assert found.namelist() == ["full-page/01_S7K2QX_NAIR_3056.pdf", "CHECKSUMS.txt", "LIST.csv"]
    assert found.read("full-page/01_S7K2QX_NAIR_3056.pdf") == order.labels.get().intact_bytes()
    assert {details.compress_type for details in found.infolist()} == {zipfile.ZIP_STORED}
    assert not any(details.flag_bits & 0x08 for details in found.infolist()), "the length comes after the bytes"


def test_sha256sum_agrees_with_the_checksums(order: Order, alice: User, visit: Visit, tmp_path: Path) -> None:
    factories.stored_label(order, size="cropped", content=b"%PDF-1.4 a small label %%EOF")
    archive(visit(alice).get(f"{ZIP}?size=both")).extractall(tmp_path)
    checked = subprocess.run(
        ["sha256sum", "--strict", "-c", "CHECKSUMS.txt"],  # noqa: S607
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert checked.stdout.splitlines() == [
        "full-page/01_S7K2QX_NAIR_3056.pdf: OK",
        "cropped/01_S7K2QX_NAIR_3056.pdf: OK",
    ]


def test_the_senders_own_size_is_used_and_is_in_its_own_folder(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    factories.stored_label(order, size="cropped", content=b"%PDF-1.4 a small label %%EOF")
    Sender.objects.filter(pk=quill.pk).update(label_size="cropped")
    ready(quill, alice, carrier_reference="SONLYFULL", receiver_name="X", receiver_postcode="1")
    found = archive(visit(alice).get(ZIP))
    assert [n for n in found.namelist() if n.endswith(".pdf")] == [
        "cropped/01_S7K2QX_NAIR_3056.pdf",
        "full-page/02_SONLYFULL_X_1.pdf",
    ]


def test_the_list_names_each_files_parcel_and_has_no_formulas(order: Order, alice: User, visit: Visit) -> None:
    Order.objects.update(receiver_name='=HYPERLINK("x") Nair', customer_reference="+1")
    text = archive(visit(alice).get(ZIP)).read("LIST.csv").decode("utf-8-sig")
    [row] = csv.DictReader(io.StringIO(text))
    assert row["File"] == "full-page/01_S7K2QX_NAIR_3056.pdf"
    assert (row["To"], row["Your order number"]) == ('\'=HYPERLINK("x") Nair', "'+1")
    assert row["SHA-256"] == order.labels.get().sha256


@pytest.mark.parametrize(
    ("name", "postcode", "file"),
    [
        ("Zoë Brontë", "3056", "01_S7K2QX_BRONTE_3056.pdf"),
        ("../../etc/passwd", "K1P 5M7", "01_S7K2QX_ETCPASSWD_K1P5M7.pdf"),
        ("王小明", "100-0001", "01_S7K2QX_100-0001.pdf"),
        ('O"Brien\r\n', "97205", "01_S7K2QX_OBRIEN_97205.pdf"),
    ],
)
def test_names_have_safe_characters(order: Order, name: str, postcode: str, file: str) -> None:
    order.receiver_name, order.receiver_postcode = name, postcode
    assert originals.file_name(order, 1, of=1) == file


def test_file_names_sort_in_list_order(order: Order) -> None:
    assert originals.file_name(order, 7, of=120).startswith("007_")


def test_a_damaged_file_is_left_out_and_named(
    order: Order, quill: Sender, alice: User, visit: Visit, caplog: pytest.LogCaptureFixture
) -> None:
    spoiled = ready(quill, alice, carrier_reference="SBAD99")
    LabelBytes.objects.filter(label__order=spoiled).update(content=b"%PDF-1.4 not it")
    with caplog.at_level(logging.ERROR):
        found = archive(visit(alice).get(ZIP))
    assert [n for n in found.namelist() if n.endswith(".pdf")] == ["full-page/01_S7K2QX_NAIR_3056.pdf"]
    assert "SBAD99 full-page: The file no longer matches" in found.read("NOT-INCLUDED.txt").decode()
    assert b"SBAD99" not in found.read("CHECKSUMS.txt") + found.read("LIST.csv")
    assert "does not match its sha256" in caplog.text
    assert [row.subject for row in Audit.objects.all()] == [f"order {order.pk}"]


def test_chosen_parcels_without_a_label_are_named_with_the_reason(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    cancelled = ready(quill, alice, carrier_reference="SGONE1")
    move_to(cancelled, "cancelling", reason="-", at=timezone.now())
    bare = factories.order(quill, alice, status="booked", carrier_reference="SBARE1")
    purged = ready(quill, alice, carrier_reference="SOLD11")
    Label.objects.filter(order=purged).update(purged_at=timezone.now())
    chosen = [str(one.uuid) for one in (order, cancelled, bare, purged)]
    left_out = archive(visit(alice).post(ZIP, {"order": chosen})).read("NOT-INCLUDED.txt").decode()
    assert "SGONE1: Cancelling." in left_out
    assert "SBARE1: The carrier hasn't given us its label yet." in left_out
    assert "SOLD11: Its label was kept for as long as we keep labels" in left_out


@pytest.mark.parametrize(
    ("asked", "missing"), [("both", ["cropped"]), ("cropped", ["cropped"]), ("full", []), ("", [])]
)
def test_a_missing_size_is_named_and_fetched_soon(
    order: Order, alice: User, visit: Visit, asked: str, missing: list[str]
) -> None:
    later = timezone.now() + dt.timedelta(minutes=5)
    Label.objects.create(order=order, size="cropped", is_spare=True, due_at=later)
    found = archive(visit(alice).get(f"{ZIP}?size={asked}"))
    assert [n for n in found.namelist() if n.endswith(".pdf")] == ["full-page/01_S7K2QX_NAIR_3056.pdf"]
    named = found.read("NOT-INCLUDED.txt").decode() if "NOT-INCLUDED.txt" in found.namelist() else ""
    assert named.splitlines() == [
        f"S7K2QX {size}: The carrier hasn't given us this size. The other one is included." for size in missing
    ]
    assert Label.objects.filter(is_spare=False, due_at__lt=later).exists() == bool(missing)


def test_a_parcel_cancelled_while_the_zip_is_written_is_left_out(
    order: Order, quill: Sender, alice: User, visit: Visit
) -> None:
    second = ready(quill, alice, carrier_reference="SLATE1")
    answer = visit(alice).get(ZIP)
    parts = iter(answer)  # type: ignore[call-overload]
    begun = next(parts)
    move_to(second, "cancelling", reason="-", at=timezone.now())
    found = zipfile.ZipFile(io.BytesIO(begun + b"".join(parts)))
    assert "SLATE1 full-page: It is no longer booked" in found.read("NOT-INCLUDED.txt").decode()


def test_every_downloaded_label_is_in_the_audit_log(order: Order, quill: Sender, ana: User, visit: Visit) -> None:
    second = ready(quill, ana)
    archive(visit(ana).get(ZIP))
    assert [(row.action, row.subject, row.actor) for row in Audit.objects.order_by("pk")] == [
        ("label downloaded", f"order {order.pk}", ana),
        ("label downloaded", f"order {second.pk}", ana),
    ]
    assert Order.objects.filter(printed_at=None).count() == 2, "a download is not yet a print"


def test_one_label_is_in_memory_at_a_time(quill: Sender, alice: User) -> None:
    megabyte = 1 << 20
    for _ in range(12):
        ready(quill, alice, content=b"%PDF-" + b"x" * megabyte)
    orders = list(Order.objects.select_related("sender").prefetch_related("labels"))
    tracemalloc.start()
    sent = sum(len(p) for p in originals.stream_archive(orders, ("full",), by=alice, at=timezone.now()))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sent > 12 * megabyte
    assert most < 6 * megabyte


def test_nothing_to_download_leads_to_the_bench_and_says_so(alice: User, visit: Visit) -> None:
    answer = visit(alice).get(ZIP, follow=True)
    assert answer.redirect_chain == [("/parcels/print/", 302)]
    assert "There is no label to download here" in answer.content.decode()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "withheld"}, "We are asking the carrier whether it is still booked."),
        ({"is_worthless": True}, "Its label is worthless"),
        ({"purged_at": timezone.now()}, "Its label was kept for as long as we keep labels, and is gone."),
        ({"state": "pending"}, "The carrier hasn't given us its label yet."),
    ],
)
def test_a_parcel_without_a_label_to_download_says_why(
    order: Order, alice: User, visit: Visit, changes: dict[str, object], why: str
) -> None:
    Label.objects.update(**changes)
    page = visit(alice).get(f"{ZIP}?order={order.uuid}", follow=True).content.decode()
    assert f"There is no label to download here. {why}" in unescape(page)


@pytest.mark.parametrize("who", ["bea", "vic", "bob"])
def test_everybody_else_gets_a_404(order: Order, request: pytest.FixtureRequest, visit: Visit, who: str) -> None:
    assert visit(request.getfixturevalue(who)).get(f"{ZIP}?order={order.uuid}").status_code == 404
    assert not Audit.objects.exists()


def test_a_visitor_is_sent_to_log_in(order: Order) -> None:
    assert Client().get(f"{ZIP}?order={order.uuid}")["Location"].startswith("/accounts/login/")


def test_other_methods_and_more_than_five_hundred_are_refused(order: Order, alice: User, visit: Visit) -> None:
    assert visit(alice).delete(ZIP).status_code == 405
    too_many = [str(order.uuid)] * (printing.MOST + 1)
    assert visit(alice).post(ZIP, {"order": too_many}).status_code == 422
