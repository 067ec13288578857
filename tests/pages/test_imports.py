"""The pages of an import, walked without JavaScript."""

import datetime as dt
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from orders.limits import NOT_COUNTED
from orders.models import Import, ImportRow, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.orders.test_importing import GOOD, HEADER, work_off
from tests.pages.conftest import Visit
from tests.pages.typed import text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

NEW = "/imports/new/"


def upload(client: Client, content: bytes | str, *, name: str = "orders.csv") -> Any:
    data = content.encode() if isinstance(content, str) else content
    return client.post(NEW, {"file": SimpleUploadedFile(name, data)})


def match(client: Client, file: Import) -> Any:
    """Presses “Check all rows” on the page as it came: every guess is taken."""
    page = client.get(reverse("match_columns", args=[file.uuid])).content.decode()
    chosen = re.findall(r'<select name="(\w+)"(?:(?!</select>).)*?value="([^"]+)" selected', page, re.DOTALL)
    return client.post(reverse("match_columns", args=[file.uuid]), dict(chosen))


def check_page(file: Import) -> str:
    return reverse("check_import", args=[file.uuid])


def book(client: Client, file: Import, rule: str = "cheapest") -> Any:
    """Presses Book on the page as it is now."""
    page = client.get(check_page(file)).content.decode()
    hidden = dict(re.findall(r'name="(rows|newest|last)" value="([^"]*)"', page))
    return client.post(reverse("book_import", args=[file.uuid]), hidden | {"rule": rule, "pickup_date": ""})


def test_from_the_file_to_the_parcels(listed: Client, carrier: SandboxCarrier, alice: User) -> None:
    answer = upload(listed, f"{HEADER}\n{GOOD}\n{GOOD.replace('1001', '1002').replace('2.4', '0')}\n")
    file = Import.objects.get()
    assert answer["Location"] == reverse("match_columns", args=[file.uuid])
    assert match(listed, file)["Location"] == check_page(file)
    work_off(file)
    page = text(listed.get(check_page(file)))
    assert "2 of 2 checked." in page
    assert "Book 1 parcel, about $" in page
    assert "This must be more than 0." in page
    row = file.rows.get(state="fix")
    listed.post(reverse("import_row", args=[file.uuid, row.pk]), {"weight_kg": "2.1"})
    assert "Book 2 parcels, about $" in text(listed.get(check_page(file)))
    answer = book(listed, file)
    assert answer["Location"] == reverse("import", args=[file.uuid])
    work_off(file)
    assert "2 booked." in text(listed.get(answer["Location"]))
    assert Order.objects.filter(made_by=alice).count() == 2
    assert len(carrier.ledger("booked")) == 2


def test_a_paste_is_as_good_as_a_file(listed: Client) -> None:
    listed.post(NEW, {"pasted": f"{HEADER}\n{GOOD}".replace(",", "\t")})
    assert Import.objects.get().delimiter == "\t"


def test_the_second_file_of_a_shop_goes_straight_to_its_check(listed: Client) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    match(listed, Import.objects.get())
    answer = upload(listed, f"{HEADER}\n{GOOD.replace('1001', '1002')}")
    assert answer["Location"].endswith("/check/")


def test_the_very_same_file_is_known_again(listed: Client) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    answer = listed.get(upload(listed, f"{HEADER}\n{GOOD}")["Location"])
    assert "You imported this very file on" in text(answer)


def test_a_field_that_every_parcel_needs_must_be_matched(listed: Client) -> None:
    upload(listed, "Name,Suburb\nPriya Nair,Brunswick")
    answer = match(listed, Import.objects.get())
    assert answer.status_code == 422
    assert "Choose the column for “E-mail”, or write what all rows have." in text(answer)
    assert not ImportRow.objects.exclude(due_at=None).exists()


def test_a_row_can_be_left_out_and_taken_after_all(
    listed: Client, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    row = factories.import_row(quill, alice)
    url = reverse("import_row", args=[row.file.uuid, row.pk])
    listed.post(url, {"leave_out": "yes"})
    row.refresh_from_db()
    assert row.state == "skipped"
    listed.post(url, {"anyway": "yes", "show": "skipped"})
    row.refresh_from_db()
    assert row.state == "fix"


def test_failed_rows_are_a_file_no_spreadsheet_calculates(listed: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice)
    ImportRow.objects.update(cells=["=HYPERLINK(1)", *row.cells[1:]])
    content = listed.get(reverse("failed_rows", args=[row.file.uuid])).getvalue().decode()
    assert content.startswith("\ufeff")
    assert '"\'=HYPERLINK(1)"' in content
    assert '"This must be more than 0."' in content


def test_a_suspended_sender_books_nothing(listed: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="ready", problems={})
    quill.suspend(by=alice, category="terms", text="-", note="", at=row.file.created_at)
    answer = listed.post(reverse("book_import", args=[row.file.uuid]), {"rule": "cheapest"})
    assert answer.status_code == 403
    row.refresh_from_db()
    assert row.state == "ready"


@pytest.mark.parametrize("name", ["imports", "check_import", "import", "match_columns"])
def test_pages_cost_the_same_whatever_the_number_of_rows(
    name: str, quill: Sender, alice: User, visit: Visit
) -> None:
    state = {"import": "booking", "match_columns": "matching"}.get(name, "checking")
    file = factories.import_file(quill, alice, state=state)
    client, found = visit(alice), []
    for more in (1, 2, 20):
        for _ in range(more):
            factories.import_row(quill, alice, file=file)
        url = reverse(name, args=[] if name == "imports" else [file.uuid])
        client.get(url)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url).status_code == 200
        found.append(len([query for query in seen.captured_queries if "SAVEPOINT" not in query["sql"]]))
    assert found[0] == found[1] == found[2] <= 12


def test_a_yes_after_the_pickup_day_is_told_and_books_nothing(
    listed: Client, carrier: SandboxCarrier
) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    book(listed, file)
    work_off(file)
    offer = {"kind": "price_rose", "new": "99.00"}
    Order.objects.update(
        status="draft",
        carrier_reference=None,
        booked_at=None,
        pickup_date=dt.date(2026, 1, 5),
        problem=offer,
        **NOT_COUNTED,
    )
    seen = {"act": "agree", "price": f"{Order.objects.get().uuid}|99.00"}
    answer = listed.post(reverse("import", args=[file.uuid]), seen, follow=True)
    assert "That pickup day is no longer on offer. Nothing was booked." in text(answer)
    assert Order.objects.get().status == "draft"


def test_a_poll_of_the_check_asks_only_how_far_it_is(listed: Client, quill: Sender, alice: User) -> None:
    """Every two seconds, of two thousand rows."""
    file = factories.import_file(quill, alice)
    factories.import_row(
        quill, alice, file=file, state="ready", problems={}, quote=factories.quote(quill, alice)
    )
    factories.import_row(quill, alice, file=file, state="new", problems={})
    with CaptureQueriesContext(connection) as seen:
        page = listed.get(check_page(file), headers={"HX-Request": "true"}).content.decode()
    assert "1 of 2 checked." in page
    assert [query for query in seen.captured_queries if "orders_quote" in query["sql"]] == []


def test_the_labels_of_a_file_are_printed_together(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    mine, printed, other = (factories.order(quill, alice, status="booked") for _ in range(3))
    for order in (mine, printed):
        factories.stored_label(order)
        factories.import_row(quill, alice, file=file, state="booked", order=order, problems={})
    factories.stored_label(other)
    Order.objects.filter(pk=printed.pk).update(printed_at=file.created_at)
    page = listed.get(reverse("import", args=[file.uuid])).content.decode()
    assert "Print 1 label" in page
    chosen = re.findall(r'name="order" value="([^"]+)"', page)
    assert chosen == [str(mine.uuid)]
    bench = listed.post(reverse("bench"), {"order": chosen}).content.decode()
    assert mine.carrier_reference in bench
    assert other.carrier_reference not in bench


def test_leaving_out_a_row_that_was_booked_meanwhile_is_told(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Book is pressed in another tab between reading the row and leaving it out."""
    row = factories.import_row(quill, alice, state="ready", problems={})
    finish = ImportRow.finish

    def too_late(self: ImportRow, **changes: Any) -> bool:
        ImportRow.objects.filter(pk=self.pk).update(state="owed")
        return finish(self, **changes)

    monkeypatch.setattr(ImportRow, "finish", too_late)
    url = reverse("import_row", args=[row.file.uuid, row.pk])
    assert "was changed or booked meanwhile" in text(listed.post(url, {"leave_out": "yes"}, follow=True))
    assert ImportRow.objects.get().state == "owed"


def test_a_head_that_is_a_formula_comes_back_as_text(quill: Sender, alice: User, visit: Visit) -> None:
    file = factories.import_file(quill, alice, header=["=HYPERLINK(1)", *factories.IMPORT_HEADER[1:]])
    factories.import_row(quill, alice, file=file)
    lines = visit(alice).get(f"/imports/{file.uuid}/failed.csv").getvalue().decode()
    assert '"=HYPERLINK' not in lines
    assert "=HYPERLINK(1)" in lines


def test_a_chosen_place_keeps_no_sign_that_a_database_refuses(
    quill: Sender, alice: User, visit: Visit, localities: None, carrier: SandboxCarrier
) -> None:
    row = factories.import_row(quill, alice)
    visit(alice).post(f"/imports/{row.file.uuid}/rows/{row.pk}/", {"place": "a\x00|VIC|3056"})
    row.refresh_from_db()
    assert "\x00" not in row.corrected["receiver_suburb"]
