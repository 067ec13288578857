"""Exports: what the ZIP contains, that it is complete whatever happens to its worker, and that two clicks pack once."""

import csv
import datetime as dt
import gc
import hashlib
import io
import json
import subprocess
import tracemalloc
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import timezone

from orders.models import LabelBytes, Order
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.exporting import account, packing, parts
from shipping_portal.exporting.models import Export, ExportPart
from shipping_portal.exporting.parts import Lease, Lost
from tests import factories

pytestmark = pytest.mark.django_db

LABEL = b"%PDF-1.4 an original label\r\n\x00\xff %%EOF"
LINK = "https://carrier.example/t/?token=canary"


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    """A delivered order with both labels, two scans and its final cost."""
    made = factories.order(
        quill, alice, status="booked", carrier_reference="S7K2QX", receiver_name="Priya Nair", note="=1+1"
    )
    for size in ("full", "cropped"):
        factories.stored_label(made, size=size, content=LABEL + size.encode())
    parcel = factories.parcel(made)
    for minute, word in enumerate(("Pickup", "Delivered")):
        at = dt.datetime(2026, 11, 20, 2, minute, tzinfo=dt.UTC)
        factories.event(parcel, event_type=word, scan_time=at, description=f"{word}\nseen, {LINK}")
    factories.charge(made, "order", "12.08")
    factories.charge(
        made, "under-declared", "4.13", declared_kg=Decimal("2.4"), measured_kg=Decimal("3.1"), reason=f"See {LINK}"
    )
    return made


def packed(export: Export) -> zipfile.ZipFile:
    packing.pack_due_export(export.pk)
    return opened(export)


def opened(export: Export) -> zipfile.ZipFile:
    found = zipfile.ZipFile(io.BytesIO(whole(export)))
    assert found.testzip() is None
    return found


def whole(export: Export) -> bytes:
    export.refresh_from_db()
    content = b"".join(bytes(part.content) for part in export.parts.all())
    assert (export.length, export.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    return content


def proof_of(order: Order) -> Export:
    return packing.request_export(order.sender, order, by=order.made_by, now=timezone.now())


def everything_of(sender: Sender, by: User) -> Export:
    return packing.request_export(sender, None, by=by, now=timezone.now())


def rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(archive.read(name).decode("utf-8-sig"))))


def text_of(archive: zipfile.ZipFile) -> str:
    return "\n".join(archive.read(name).decode(errors="replace") for name in archive.namelist())


# -- Who is emailed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "lines"), [(0, []), (2, ["The copy of your account is ready. We keep it for 7 days."])]
)
def test_somebody_who_waited_over_a_minute_is_emailed_when_it_is_packed(
    order: Order, alice: User, minutes: int, lines: list[str]
) -> None:
    factories.member(order.sender, factories.user("other@owner.example"))
    export = everything_of(order.sender, alice)
    Export.objects.filter(pk=export.pk).update(created_at=timezone.now() - dt.timedelta(minutes=minutes))
    packed(export)
    seen = Notification.objects.filter(kind="export")
    assert [notice.line for notice in seen] == lines
    assert {(notice.user, notice.path) for notice in seen} <= {(alice, f"/exports/{export.uuid}/")}


def test_each_parcel_has_its_own_proof_pack_even_if_requested_at_once(order: Order, alice: User) -> None:
    other = factories.order(order.sender, alice, status="booked", carrier_reference="S7K2QZ")
    packs = [proof_of(order), proof_of(other), proof_of(order)]
    assert [pack.order for pack in packs] == [order, other, order]
    assert packs[0] == packs[2]


# -- What is inside ---------------------------------------------------------------------------------


def test_a_proof_pack_has_the_original_labels_byte_for_byte(order: Order) -> None:
    found = packed(proof_of(order))
    stored = {f"labels/{folder}/S7K2QX.pdf": size for folder, size in (("full-page", "full"), ("cropped", "cropped"))}
    for path, size in stored.items():
        assert found.read(path) == bytes(LabelBytes.objects.get(label__order=order, label__size=size).content)
        assert found.getinfo(path).compress_type == zipfile.ZIP_STORED
    assert not any(details.flag_bits & 0x08 for details in found.infolist()), "the length comes after the bytes"


def test_a_proof_pack_describes_what_was_seen_scanned_and_charged(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(charged_price="13.50")  # the total is the one shown at booking
    summary = packed(proof_of(order)).read("summary.txt").decode()
    lines = [" ".join(line.split()) for line in summary.splitlines()]
    for said in (
        "Parcel S7K2QX to Priya Nair",
        "Delivery: $11.20",
        "Total: $12.08 AUD",
        "Expected arrival: 2026-12-01 to 2026-12-04",
        "2026-11-20 13:00:00 (2026-11-20T02:00:00Z) Picked up",
        "Measured 3.1 kg, declared 2.4 kg",
        "Net: $16.21 AUD",
    ):
        assert said in lines, summary
    assert hashlib.sha256(LABEL + b"full").hexdigest() in summary
    assert "Quoted:" in summary


def summary_of(order: Order) -> list[str]:
    text = packed(proof_of(order)).read("summary.txt").decode()
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"customer_reference": "SHOP-77"}, "Your order number: SHOP-77"),
        ({"cover_amount": Decimal(200)}, "Extra Cover: up to $200.00"),
        ({"duties_paid": True}, "Duties and taxes: Included"),
        ({"charged_price": Decimal("13.50")}, "Carrier's price: $13.50 AUD, in its answer to the booking"),
        (
            {"status": "cancelled", "cancelled_at": dt.datetime(2026, 11, 20, 14, tzinfo=dt.UTC)},
            "Cancelled: 2026-11-21 01:00:00 (2026-11-20T14:00:00Z)",
        ),
        (
            {"booked_at": dt.datetime(2026, 11, 20, 14, tzinfo=dt.UTC)},
            "Booked: 2026-11-21 01:00:00 (2026-11-20T14:00:00Z)",
        ),
        (
            {"quoted_at": dt.datetime(2026, 11, 20, 14, tzinfo=dt.UTC)},
            "Quoted: 2026-11-21 01:00:00 (2026-11-20T14:00:00Z)",
        ),
        ({"eta_to": None}, "Expected arrival: 2026-12-01"),
        ({"eta_from": None, "eta_to": None}, "Expected arrival: Not given"),
    ],
)
def test_a_proof_pack_states_only_facts_that_apply_to_the_parcel(
    order: Order, fields: dict[str, object], line: str
) -> None:
    assert line not in summary_of(order)
    Order.objects.filter(pk=order.pk).update(**fields)
    Export.objects.all().delete()
    assert line in summary_of(Order.objects.get(pk=order.pk))


def test_a_price_that_did_not_change_is_stated_once(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(charged_price="12.08")
    assert not [line for line in summary_of(order) if line.startswith("Carrier's price")]


NOTHING_YET = {
    "The carrier hasn't given us its label.",
    "The carrier has sent no scan.",
    "The carrier's billing report has no line for it yet.",
}


def test_a_proof_pack_says_what_the_carrier_has_not_given_yet(order: Order, alice: User) -> None:
    bare = factories.order(order.sender, alice, status="booked", carrier_reference="S7K2QZ")
    assert set(summary_of(bare)) >= NOTHING_YET
    assert not NOTHING_YET.intersection(summary_of(order))


def test_a_charge_is_explained_below_its_line_with_every_measure(order: Order) -> None:
    week = dt.date(2026, 11, 16)
    measures = {"declared_m3": Decimal("0.008"), "measured_m3": Decimal("0.012"), "measured_kg": Decimal(41)}
    factories.charge(order, "oversize", "9.00", week=week, reason="By hand.", **measures)
    lines = summary_of(order)
    at = lines.index("2026-11-16 Oversize penalty adjustment: $9.00 AUD")
    assert lines[at + 1 : at + 4] == ["Measured 41 kg", "Measured 12 L, declared 8 L", "By hand."]


def test_charges_of_a_proof_pack_are_in_the_order_of_their_weeks(order: Order) -> None:
    factories.charge(order, "cover", "2.50", week=dt.date(2020, 1, 6))
    found = packed(proof_of(order))
    assert [row["Amount"] for row in rows(found, "charges.csv")] == ["2.50", "12.08", "4.13"]


def test_a_scan_in_the_summary_has_its_place(order: Order) -> None:
    assert any("Fitzroy" in line and "seen" in line for line in summary_of(order))


def test_a_proof_pack_says_the_same_in_json(order: Order) -> None:
    found = packed(proof_of(order))
    said = json.loads(found.read("proof.json"))
    assert said["quote"]["price"] == "12.08"
    assert {"name": "Delivery", "amount": "11.20", "currency": "AUD"} in said["quote"]["breakdown"]
    assert [scan["Time, UTC"] for scan in said["scans"]] == ["2026-11-20T02:00:00Z", "2026-11-20T02:01:00Z"]
    assert [line["Amount"] for line in said["charges"]] == ["12.08", "4.13"]
    assert said["net"] == {"AUD": "16.21"}
    assert {label["sha256"] for label in said["labels"]} == {label.sha256 for label in order.labels.all()}
    assert [row["What"] for row in rows(found, "charges.csv")] == ["Order cost", "Size or weight adjustment"]
    assert rows(found, "scans.csv")[0]["Time zone"] == "Australia/Melbourne"
    assert said["sender"] == {
        "name": order.sender.name, "number": order.sender.number, "time_zone": "Australia/Melbourne",
    }  # fmt: skip


def test_an_unposted_line_is_in_no_proof_pack(order: Order) -> None:
    before, net = summary_of(order), json.loads(packed(proof_of(order)).read("proof.json"))["net"]
    factories.charge(order, "order", "20.00", report=factories.billing_report(state="checked", ended_at=None))
    Export.objects.all().delete()
    assert [line for line in summary_of(order) if line.startswith("Net")] == [
        line for line in before if line.startswith("Net")
    ]
    assert json.loads(packed(proof_of(order)).read("proof.json"))["net"] == net == {"AUD": "16.21"}


def test_no_text_can_inject_a_line_into_the_summary(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(description="Mugs\nNet: $0.00")
    assert "\nNet: $0.00" not in packed(proof_of(order)).read("summary.txt").decode()


@pytest.mark.parametrize("what", ["proof", "account"])
def test_no_signed_link_is_in_any_export(order: Order, alice: User, what: str) -> None:
    export = proof_of(order) if what == "proof" else everything_of(order.sender, alice)
    said = text_of(packed(export))
    assert "seen" in said
    assert "token" not in said
    assert "carrier.example" not in said


@pytest.mark.parametrize("what", ["proof", "account"])
def test_the_checksums_are_those_of_the_files(order: Order, alice: User, what: str, tmp_path: Path) -> None:
    found = packed(proof_of(order) if what == "proof" else everything_of(order.sender, alice))
    found.extractall(tmp_path)
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "CHECKSUMS.txt"],  # noqa: S607
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {line.removesuffix(": OK") for line in done.stdout.splitlines()} == set(found.namelist()) - {"CHECKSUMS.txt"}


def test_a_cancelled_parcels_label_appears_only_as_a_checksum(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now())
    export = proof_of(order)
    found = packed(export)
    assert not [name for name in found.namelist() if name.endswith(".pdf")]
    assert "S7K2QX: Cancelled. It has no label to use." in found.read("NOT-INCLUDED.txt").decode()
    assert order.labels.first().sha256 in found.read("summary.txt").decode()  # type: ignore[union-attr]
    assert export.problem.startswith("1 label is not in it.")


def test_an_account_export_silently_leaves_out_cancelled_labels(order: Order, alice: User) -> None:
    Order.objects.filter(pk=order.pk).update(status="cancelled", cancelled_at=timezone.now())
    found = packed(everything_of(order.sender, alice))
    assert not [name for name in found.namelist() if name.endswith(".pdf")]
    assert "NOT-INCLUDED.txt" not in found.namelist()
    assert rows(found, "parcels.csv")[0]["SHA-256 of the label, cropped"] == order.labels.get(size="cropped").sha256


def test_a_label_whose_bytes_changed_is_left_out_and_named(order: Order, alice: User) -> None:
    LabelBytes.objects.filter(label__order=order, label__size="full").update(content=b"%PDF-1.4 another")
    found = packed(everything_of(order.sender, alice))
    labels = [name for name in found.namelist() if name.endswith(".pdf")]
    assert labels == ["labels/cropped/01_S7K2QX_NAIR_7000.pdf"]
    assert "no longer matches the carrier's original" in found.read("NOT-INCLUDED.txt").decode()


def test_an_accounts_export_has_all_its_data_and_nothing_of_others(
    order: Order, quill: Sender, alice: User, bob: User
) -> None:
    theirs = factories.order(bob.membership.sender, bob, status="booked", carrier_reference="SBOBS001")
    factories.charge(theirs, "order", "9.99")
    factories.saved_receiver(bob.membership.sender, name="Bobs Friend")
    factories.order(quill, alice, status="draft")
    factories.saved_receiver(quill, name="Known Person")
    factories.size(quill, name="Shoebox")
    factories.import_row(quill, alice)
    found = packed(everything_of(quill, alice))
    assert {name for name in found.namelist() if "/" not in name} == {
        "README.txt", "parcels.csv", "scans.csv", "notes.csv", "charges.csv", "addresses.csv", "sizes.csv",
        "imports.csv", "team.csv", "CHECKSUMS.txt",
    }  # fmt: skip
    parcels = rows(found, "parcels.csv")
    assert [row["Reference"] for row in parcels] == ["S7K2QX", ""]
    assert parcels[0]["SHA-256 of the label, full-page"] == order.labels.get(size="full").sha256
    assert [row["Amount"] for row in rows(found, "charges.csv")] == ["12.08", "4.13"]
    assert [row["What"] for row in rows(found, "scans.csv")] == ["Picked up", "Delivered"]
    assert {row["Kind"] for row in rows(found, "addresses.csv")} == {"Pickup", "Receiver, saved"}
    assert [row["Name"] for row in rows(found, "sizes.csv")] == ["Shoebox"]
    assert [(row["File"], row["Rows"]) for row in rows(found, "imports.csv")] == [("orders.csv", "1")]
    assert [(row["Name"], row["Role"]) for row in rows(found, "team.csv")] == [("Alice Quill", "Owner")]
    assert len([name for name in found.namelist() if name.endswith(".pdf")]) == 2
    said = text_of(found)
    assert "SBOBS001" not in said
    assert "Bobs Friend" not in said


def test_an_exported_address_has_its_kind_its_group_and_its_last_use_in_the_senders_zone(
    order: Order, quill: Sender, alice: User
) -> None:
    factories.saved_receiver(quill, name="Known Person", group="Shops")
    remembered = factories.saved_receiver(quill, name="Met Once")
    at = dt.datetime(2026, 11, 20, 14, tzinfo=dt.UTC)
    type(remembered).objects.filter(pk=remembered.pk).update(is_saved=False, used_at=at)
    found = {row["Name"]: row for row in rows(packed(everything_of(quill, alice)), "addresses.csv")}
    assert (found["Known Person"]["Kind"], found["Known Person"]["Group"]) == ("Receiver, saved", "Shops")
    assert found["Met Once"]["Kind"] == "Receiver, remembered"
    assert found["Met Once"]["Last used"] == "2026-11-21 01:00:00"


def test_no_cell_of_an_export_is_a_formula(order: Order, alice: User) -> None:
    assert rows(packed(everything_of(order.sender, alice)), "notes.csv")[0]["Note"] == "'=1+1"


def test_unposted_lines_are_in_no_export(order: Order, alice: User) -> None:
    checked = factories.billing_report(state="checked")
    factories.charge(order, "oversize", "77.77", report=checked)
    assert "77.77" not in text_of(packed(proof_of(order)))
    assert "77.77" not in text_of(packed(everything_of(order.sender, alice)))


# -- How it is packed -------------------------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART", 700)


def test_an_export_is_stored_in_equal_parts_except_the_last(order: Order, alice: User, small_parts: None) -> None:
    export = everything_of(order.sender, alice)
    packed(export)
    lengths = [len(part.content) for part in export.parts.all()]
    assert len(lengths) > 3
    assert set(lengths[:-1]) == {700}
    assert 0 < lengths[-1] <= 700


class Killed(BaseException):
    """kill -9, as it looks to a worker."""


def test_after_a_worker_is_killed_midway_the_next_packs_everything_again(
    order: Order, alice: User, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = everything_of(order.sender, alice)

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(account, "_other_sheets", die)
        with pytest.raises(Killed):
            packing.pack_due_export(export.pk)
    export.refresh_from_db()
    assert export.parts.exists()
    assert export.finished_at is None
    packing.pack_due_export(export.pk)
    export.refresh_from_db()
    assert export.finished_at is None, "its lease has not run out yet"
    Export.objects.update(due_at=timezone.now())
    assert len(rows(packed(export), "parcels.csv")) == 1
    assert (export.tries, export.due_at) == (2, None)


def test_a_worker_that_outlived_its_lease_adds_nothing_to_the_next_ones_file(
    order: Order, alice: User, small_parts: None
) -> None:
    export = everything_of(order.sender, alice)
    slow = Lease(Export.objects.get(pk=export.pk))
    assert slow.export.claim()
    Export.objects.update(due_at=timezone.now())
    found = packed(export)
    late = parts.Parts(slow)
    late.write(b"x" * 2000)
    with pytest.raises(Lost):
        late.cut()
    assert opened(export).namelist() == found.namelist()


def test_a_worker_that_outlived_its_lease_does_not_end_the_export(order: Order, alice: User) -> None:
    export = everything_of(order.sender, alice)
    slow = Lease(Export.objects.get(pk=export.pk))
    assert slow.export.claim()
    Export.objects.update(due_at=timezone.now())
    packed(export)
    with pytest.raises(Lost):
        slow.end()


def test_two_clicks_make_one_export_and_a_later_click_another(order: Order, alice: User) -> None:
    now = timezone.now()
    first = packing.request_export(order.sender, order, by=alice, now=now)
    assert packing.request_export(order.sender, order, by=alice, now=now) == first
    packing.pack_due_export(first.pk)
    assert packing.request_export(order.sender, order, by=alice, now=now + dt.timedelta(seconds=2)) == first
    assert packing.request_export(order.sender, order, by=alice, now=now + dt.timedelta(hours=1)) != first
    assert packing.request_export(order.sender, None, by=alice, now=now).what == "account"
    assert list(Audit.objects.order_by("pk").values_list("action", flat=True)) == [
        "proof pack asked for", "proof pack asked for", "account export asked for",
    ]  # fmt: skip


def test_a_long_running_export_is_still_the_only_one(order: Order, alice: User) -> None:
    first = everything_of(order.sender, alice)
    later = timezone.now() + dt.timedelta(hours=2)
    assert packing.request_export(order.sender, None, by=alice, now=later) == first


def test_exports_leave_workers_free_for_bookings(order: Order, alice: User, bob: User) -> None:
    for of, by in ((order.sender, alice), (bob.membership.sender, bob)):
        assert factories.export(of, by, finished_at=None, due_at=timezone.now()).claim()
    third = proof_of(order)
    packing.pack_due_export(third.pk)
    third.refresh_from_db()
    assert (third.tries, third.failures, third.due_at > timezone.now()) == (0, 0, True)
    Export.objects.exclude(pk=third.pk).update(due_at=None)
    Export.objects.filter(pk=third.pk).update(due_at=timezone.now())
    packing.pack_due_export(third.pk)
    assert ExportPart.objects.filter(export=third).exists()


def test_exports_due_another_day_delay_no_others(order: Order, alice: User, bob: User) -> None:
    for of, by in ((order.sender, alice), (bob.membership.sender, bob)):
        factories.export(of, by, finished_at=None, due_at=timezone.now() + dt.timedelta(days=1))
    export = proof_of(order)
    packing.pack_due_export(export.pk)
    assert ExportPart.objects.filter(export=export).exists()


def test_packing_many_parcels_takes_no_more_memory_or_queries_per_parcel(
    order: Order, quill: Sender, alice: User, django_assert_max_num_queries: Callable[..., object],
) -> None:  # fmt: skip
    Order.objects.bulk_create(factories.copy_of(order, number) for number in range(600))
    packed(proof_of(order))  # data loaded once for all packs doesn't count
    export = everything_of(quill, alice)
    gc.collect()
    tracemalloc.start()
    with django_assert_max_num_queries(120):
        packing.pack_due_export(export.pk)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows(opened(export), "parcels.csv")) == 601
    assert most < 12_000_000
    assert (export.done, export.total) == (601, 601)
