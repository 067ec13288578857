"""The pages of an import, without JavaScript."""

import datetime as dt
import io
import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from openpyxl import Workbook
from time_machine import TimeMachineFixture

from orders.models import Order
from shipping_portal.accounts import formatting
from shipping_portal.accounts.models import PickupAddress, Sender, User
from shipping_portal.db import keyset
from shipping_portal.importing import answering, chosen_service, columns, forms, progress, reading, uploads
from shipping_portal.importing.models import Import, ImportRow, ImportTry
from tests import factories
from tests.orders.test_import_outliers import ready as outlier
from tests.orders.test_importing import GOOD, HEADER, work_off
from tests.pages.conftest import Visit
from tests.pages.typed import dead_links, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

NEW = "/imports/new/"
NO_MEASURES = "Order number,Name,Email,Address 1,Suburb,Postcode,Contents"


def upload(client: Client, content: bytes | str, *, name: str = "orders.csv") -> Any:
    data = content.encode() if isinstance(content, str) else content
    return client.post(NEW, {"file": SimpleUploadedFile(name, data)})


def match(client: Client, file: Import) -> Any:
    """Press “Check all rows” on the unchanged page, so every guess is accepted."""
    page = client.get(reverse("match_columns", args=[file.uuid])).content.decode()
    chosen = re.findall(r'<select name="(\w+)"(?:(?!</select>).)*?value="([^"]+)" selected', page, re.DOTALL)
    chosen += re.findall(r'<input type="radio" name="(size)" value="([^"]+)" checked', page)
    return client.post(reverse("match_columns", args=[file.uuid]), dict(chosen))


def check_page(file: Import) -> str:
    return reverse("check_import", args=[file.uuid])


def book(client: Client, file: Import, rule: str = "cheapest", *, later: bool = False) -> Any:
    """Press Book on the page as it is now, with the last pickup day on offer if `later`."""
    page = client.get(f"{check_page(file)}?rule={rule}").content.decode()
    hidden = dict(re.findall(r'name="(rows|newest|last|doubts|services)" value="([^"]*)"', page))
    chosen = {"rule": rule, "pickup_date": (days(page) if later else [""])[-1]}
    return client.post(reverse("book_import", args=[file.uuid]), hidden | chosen)


def days(page: str) -> list[str]:
    """Return the pickup days on offer."""
    return re.findall(r'<option value="(\d{4}-\d\d-\d\d)">', page)


def test_what_was_typed_last_for_all_rows_counts_and_can_be_taken_away(listed: Client, quill: Sender) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    file, found = Import.objects.get(), []
    url, weight = reverse("match_columns", args=[file.uuid]), str(HEADER.split(",").index("Weight"))
    for column, typed in (("", "1"), ("", "9"), (weight, "9"), (weight, ""), (weight, "")):
        shown = forms.guesses(file, columns.fields(quill, quill.pickup_address() or PickupAddress()))
        answer = listed.post(url, shown | {"column_weight": column, "all_weight": typed})
        assert answer.status_code == 302
        file.refresh_from_db()
        found.append((file.columns.get("weight"), file.constants.get("weight")))
        answering.use_rate(file, "USD", "1.5", timezone.now())
    assert found == [(None, "1"), (None, "9"), (6, "9"), (6, None), (6, None)]
    assert file.constants["rates"] == {"USD": "1.5"}


def test_a_file_without_measures_offers_the_saved_sizes_at_once(listed: Client, quill: Sender) -> None:
    size = factories.size(quill, name="Shoebox")
    factories.size(quill, name="Mug box", position=2)
    upload(listed, "\n".join([NO_MEASURES, "1001,Priya Nair,priya@example.net,4 Sample Street,Brunswick,3056,Mugs"]))
    file = Import.objects.get()
    page = listed.get(reverse("match_columns", args=[file.uuid])).content.decode()
    banner = page.partition('<div class="note warn">')[2].partition("</fieldset>")[0]
    assert "weight, length, width, height" in banner
    assert f'name="size" value="{size.uuid}"' in banner
    assert page.count('name="size"') == 3, "two sizes and one for typing them"
    assert "Type them below" in banner
    measured = f"{NO_MEASURES},Weight,Length,Width,Height"
    row = "1001,Priya Nair,priya@example.net,4 Sample Street,Brunswick,3056,Mugs,1,2,3,4"
    page = listed.get(upload(listed, f"{measured}\n{row}")["Location"]).content.decode()
    assert "None: the file has them" in page
    assert "Type them below" not in page


@pytest.mark.parametrize("sum_of", ["Total", "Grand total", "Sum", "Subtotal"])
def test_a_totals_row_is_not_offered_as_a_parcel(listed: Client, carrier: SandboxCarrier, sum_of: str) -> None:
    """The name column says "Total", after a column that is filled in every row."""
    header = "Line,Name,Email,Address 1,Suburb,Postcode,Contents,Weight,Length,Width,Height,Order number"
    upload(listed, "\n".join([header, f"1,{GOOD}", f"2,{sum_of},,,,,,4.8,,,,"]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    assert [row.state for row in file.rows.all()] == ["ready", "skipped"]
    assert "isn't a parcel" in text(listed.get(check_page(file)))


def test_from_the_file_to_the_parcels(listed: Client, carrier: SandboxCarrier, alice: User) -> None:
    light, elsewhere = GOOD.replace("1001", "1002").replace("2.4", "0"), GOOD.replace("1001", "1003")
    answer = upload(listed, "\n".join([HEADER, GOOD, light, elsewhere.replace("3056", "9999")]))
    file = Import.objects.get()
    assert answer["Location"] == reverse("match_columns", args=[file.uuid])
    assert match(listed, file)["Location"] == check_page(file)

    work_off(file)
    ready, to_fix, _ = file.rows.all()
    assert (ready.state, ready.quote is None, ready.due_at) == ("ready", False, None)
    assert (to_fix.state, to_fix.problems) == ("fix", {"weight_kg": ["This must be more than 0."]})
    page = text(listed.get(check_page(file)))
    assert "3 of 3 rows checked." in page
    assert "Book 1 parcel" in page
    assert "This must be more than 0." in page
    assert not Order.objects.exists()
    assert carrier.ledger("booked") == []

    listed.post(reverse("import_row", args=[file.uuid, to_fix.pk]), {"weight_kg": "2.1"})
    answer = book(listed, file)
    assert answer["Location"] == reverse("import", args=[file.uuid])
    work_off(file)
    book(listed, file, "fastest")  # pressed once more
    work_off(file)
    counts = progress.counts(file)
    assert (counts.booked, counts.fix, counts.waiting) == (2, 1, 0)
    assert "2 booked" in text(listed.get(answer["Location"]))
    assert Order.objects.filter(made_by=alice).count() == 2
    assert len(carrier.ledger("booked")) == 2

    answer = upload(listed, f"{HEADER}\n{GOOD.replace('1001', '1004')}", name="second.csv")
    assert answer["Location"].endswith("/check/")  # its columns are known
    assert Import.objects.get(file_name="second.csv").columns["receiver_email"] == 1


def test_a_pasted_table_works_like_a_file(listed: Client) -> None:
    listed.post(NEW, {"pasted": f"{HEADER}\n{GOOD}".replace(",", "\t")})
    assert Import.objects.get().delimiter == "\t"


def test_only_the_accounts_own_bookings_of_the_same_file_are_mentioned(quill: Sender, alice: User, bob: User) -> None:
    mine, theirs = quill, bob.membership.sender
    files = {of: factories.import_file(of, by, sha256="a" * 64) for of, by in ((mine, alice), (theirs, bob))}
    booked = {"state": "booked", "problems": {}}
    factories.import_row(theirs, bob, file=files[theirs], **booked, order=factories.order(theirs, bob, status="booked"))
    assert uploads.find_booked_copy(files[mine]) is None
    again = factories.import_file(theirs, bob, sha256="a" * 64)
    assert uploads.find_booked_copy(again) == files[theirs]


def test_the_same_file_is_recognised(listed: Client) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    answer = listed.get(upload(listed, f"{HEADER}\n{GOOD}")["Location"])
    assert "You imported this same file on" in text(answer)


def test_another_file_is_not_recognised_and_of_equal_files_the_most_booked_is_named(
    quill: Sender, alice: User, bob: User
) -> None:
    sheet = reading.read(f"{HEADER}\n{GOOD}".encode())
    factories.import_file(quill, alice, sha256="b" * 64)
    factories.import_file(bob.membership.sender, bob, sha256=sheet.sha256)
    assert uploads.find_same_file(sheet, quill) is None
    _, used, _ = (factories.import_file(quill, alice, sha256=sheet.sha256) for _ in range(3))
    booked = factories.order(quill, alice, status="booked")
    factories.import_row(quill, alice, file=used, state="booked", problems={}, order=booked)
    assert uploads.find_same_file(sheet, quill) == used


def test_a_field_that_every_parcel_needs_must_be_matched(listed: Client) -> None:
    upload(listed, "Name,Suburb\nPriya Nair,Brunswick")
    answer = match(listed, Import.objects.get())
    assert answer.status_code == 422
    assert "Choose the column for “Email”, or write what all rows have." in text(answer)
    assert not ImportRow.objects.exclude(due_at=None).exists()


def test_fields_without_a_column_are_named_first(listed: Client, quill: Sender) -> None:
    header = "Name,Street,Suburb,State,Postcode,Email,Contents"
    rows = "Priya Nair,1 High St,Brunswick,VIC,3056,p@example.net,Mugs"
    page = text(listed.get(upload(listed, f"{header}\n{rows}")["Location"]))
    assert "Your file has no column for weight, length, width, height. Type them once for every row" in page
    assert page.index("Weight, the same for all rows") < page.index("Suburb, the same for all rows")
    quill.default_size = factories.size(quill)
    quill.save()
    assert "has no column for" not in text(listed.get(upload(listed, f"{header}\n{rows}\n{rows}")["Location"]))


def test_a_row_can_be_left_out_and_put_back(
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


def test_a_row_that_was_put_back_is_still_compared_with_past_orders(
    listed: Client, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    match(listed, Import.objects.get())
    row = ImportRow.objects.get()
    url = reverse("import_row", args=[row.file.uuid, row.pk])
    listed.post(url, {"leave_out": "yes"})
    factories.order(quill, alice, status="booked", customer_reference="1001")
    listed.post(url, {"anyway": "yes", "show": "skipped"})
    row.refresh_from_db()
    assert row.state == "skipped"
    assert "Your order number 1001 is booked already" in row.problems[""][0]


@pytest.mark.parametrize("press", [{"weight_kg": "2.1"}, {"leave_out": "yes"}, None])
def test_a_row_queued_for_booking_stays_as_it_is(
    listed: Client, quill: Sender, alice: User, press: dict[str, str] | None
) -> None:
    row = factories.import_row(quill, alice, state="owed", problems={})
    url = reverse("import_row", args=[row.file.uuid, row.pk])
    answer = listed.get(url, follow=True) if press is None else listed.post(url, press, follow=True)
    assert "This row is handed over for booking, so it stays as it is." in text(answer)
    before, corrected = row.state, row.corrected
    row.refresh_from_db()
    assert (row.state, row.corrected) == (before, corrected)


def test_the_file_of_failed_rows_has_no_formulas(listed: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice)
    ImportRow.objects.update(cells=["=HYPERLINK(1)", *row.cells[1:]])
    content = listed.get(reverse("failed_rows", args=[row.file.uuid])).getvalue().decode()
    assert content.startswith("\ufeff")
    assert '"\'=HYPERLINK(1)"' in content
    assert '"This must be more than 0."' in content


def test_a_suspended_sender_books_nothing(listed: Client, quill: Sender, alice: User) -> None:
    row = factories.import_row(quill, alice, state="ready", problems={})
    quill.suspend(by=alice, category="terms", text="-", note="", now=row.file.created_at)
    answer = listed.post(reverse("book_import", args=[row.file.uuid]), {"rule": "cheapest"})
    assert answer.status_code == 403
    row.refresh_from_db()
    assert row.state == "ready"


@pytest.mark.parametrize("name", ["imports", "check_import", "import", "match_columns"])
def test_pages_take_the_same_number_of_queries_for_any_number_of_rows(
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
    assert found[0] == found[1] == found[2] <= 17


def test_agreeing_after_the_pickup_day_says_so_and_books_nothing(listed: Client, carrier: SandboxCarrier) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    book(listed, file)
    work_off(file)
    offer = {"kind": "price_rose", "new": "99.00", "offer": {"currency": "AUD"}}
    Order.objects.update(
        status="draft", carrier_reference=None, booked_at=None, pickup_date=dt.date(2026, 1, 5), problem=offer,
        reserved_on=None, reserved=0, unbilled=0,
    )  # fmt: skip
    seen = {"act": "agree", "price": f"{Order.objects.get().uuid}|99.00 AUD"}
    answer = listed.post(reverse("import", args=[file.uuid]), seen, follow=True)
    assert "That pickup day is no longer on offer. Nothing was booked." in text(answer)
    assert Order.objects.get().status == "draft"


def test_agreeing_that_books_only_some_says_what_to_do_about_the_others(
    quill: Sender, alice: User, visit: Visit
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    offer = {**factories.OFFER, "amount": "99.00"}
    problem = {"kind": "price_rose", "old": "12.08", "new": "99.00", "offer": offer}
    for pickup_date in (dt.date(2026, 1, 5), None):
        order = factories.order(quill, alice, problem=problem, pickup_date=pickup_date)
        factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    seen = {"act": "agree", "price": [f"{order.uuid}|99.00 AUD" for order in Order.objects.all()]}
    recorded = text(visit(alice).post(reverse("import", args=[file.uuid]), seen, follow=True))
    assert "1 of 2 were booked by this. Nothing was booked for the others" in recorded
    assert "Open one of them to book it at today's price, or on another day." in recorded
    assert sorted(Order.objects.values_list("status", flat=True)) == ["booking", "draft"]


@pytest.mark.parametrize(
    ("written", "status"),
    [("{}|99.00 AUD", "booking"), ("{0.hex}|99.00 AUD", "booking"), ("{}|1.00 AUD", "draft"), ("{0}7|99.00 AUD", "draft"),
     ("|99.00 AUD", "draft"), ("", "draft"), ("7\0|99.00 AUD", "draft")],
)  # fmt: skip
def test_a_price_is_agreed_to_only_with_the_key_of_its_parcel(
    quill: Sender, alice: User, visit: Visit, written: str, status: str
) -> None:
    offer = {**factories.OFFER, "amount": "99.00"}
    order = factories.order(
        quill, alice, problem={"kind": "price_rose", "old": "12.08", "new": "99.00", "offer": offer}
    )
    row = factories.import_row(quill, alice, state="booked", problems={}, order=order)
    row.file.state = "booking"
    row.file.save()
    sent = {"act": "agree", "price": written.format(order.uuid)}
    assert visit(alice).post(reverse("import", args=[row.file.uuid]), sent).status_code == 302
    assert Order.objects.get().status == status


@pytest.mark.parametrize(("act", "moved"), [("agree", 1), ("agree", 2), ("next_day", 1), ("next_day", 2)])
def test_rows_from_an_earlier_pickup_address_arent_booked_and_the_page_says_what_to_do(
    quill: Sender, alice: User, visit: Visit, act: str, moved: int
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    offer = {**factories.OFFER, "amount": "99.00"}
    rose = {"kind": "price_rose", "old": "12.08", "new": "99.00", "offer": offer}
    problem = {"agree": rose, "next_day": {"kind": "pickup_passed", "text": "Its pickup day came."}}[act]
    for _ in range(2):
        order = factories.order(quill, alice, problem=problem)
        factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    Order.objects.filter(pk__in=list(Order.objects.values_list("pk", flat=True)[:moved])).update(
        pickup=order.pickup | {"line1": "1 Old Road"}
    )
    seen = {"act": act, "price": [f"{one.uuid}|99.00 AUD" for one in Order.objects.all()]}
    said = text(visit(alice).post(reverse("import", args=[file.uuid]), seen, follow=True))
    assert "your pickup address has changed" in said.lower()
    assert "Nothing was booked" in said
    assert "Open one of them to" in said
    assert Order.objects.filter(status="draft").count() == moved


def test_rows_appear_and_count_as_they_are_checked(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.08")
    factories.import_row(quill, alice, file=file)
    factories.import_row(quill, alice, file=file, state="new", problems={})
    page = listed.get(check_page(file))
    assert "2 of 3 rows checked." in text(page)
    assert prices(page.content.decode()) == [Decimal("12.08")]
    assert "To fix 1" in text(page)
    assert len(re.findall(r'class="fix', listed.get(f"{check_page(file)}?show=fix").content.decode())) == 1


def test_the_labels_of_a_file_are_printed_together(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    mine, printed, other = (factories.order(quill, alice, status="booked") for _ in range(3))
    for order in (mine, printed):
        factories.stored_label(order)
        factories.import_row(quill, alice, file=file, state="booked", order=order, problems={})
    factories.stored_label(other)
    Order.objects.filter(pk=printed.pk).update(printed_at=file.created_at)
    page = listed.get(reverse("import", args=[file.uuid])).content.decode()
    assert "Print 1 label" in " ".join(page.split())
    chosen = re.findall(r'name="order" value="([^"]+)"', page)
    assert chosen == [str(mine.uuid)]
    bench = listed.post(reverse("print_queue"), {"order": chosen}).content.decode()
    assert mine.carrier_reference in bench
    assert other.carrier_reference not in bench


def test_leaving_out_a_row_that_was_booked_meanwhile_says_so(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tab presses Book between reading the row and leaving it out."""
    row = factories.import_row(quill, alice, state="ready", problems={})
    finish = ImportRow.finish

    def too_late(self: ImportRow, **changes: Any) -> bool:
        ImportRow.objects.filter(pk=self.pk).update(state="owed")
        return finish(self, **changes)

    monkeypatch.setattr(ImportRow, "finish", too_late)
    url = reverse("import_row", args=[row.file.uuid, row.pk])
    assert "was changed or booked meanwhile" in text(listed.post(url, {"leave_out": "yes"}, follow=True))
    assert ImportRow.objects.get().state == "owed"


def test_a_header_that_is_a_formula_comes_back_as_text(quill: Sender, alice: User, visit: Visit) -> None:
    file = factories.import_file(quill, alice, header=["=HYPERLINK(1)", *factories.IMPORT_HEADER[1:]])
    factories.import_row(quill, alice, file=file)
    lines = visit(alice).get(f"/imports/{file.uuid}/failed.csv").getvalue().decode()
    assert '"=HYPERLINK' not in lines
    assert "=HYPERLINK(1)" in lines


def test_a_chosen_place_drops_characters_a_database_refuses(
    quill: Sender, alice: User, visit: Visit, localities: None, carrier: SandboxCarrier
) -> None:
    row = factories.import_row(quill, alice)
    visit(alice).post(f"/imports/{row.file.uuid}/rows/{row.pk}/", {"place": "a\x00|VIC|3056"})
    row.refresh_from_db()
    assert "\x00" not in row.corrected["receiver_suburb"]


TEN_TIMES = GOOD.replace("2.4,32,24,11", "0.35,300,200,150")


def prices(page: str) -> list[Decimal]:
    """Return the prices of the rows on this page."""
    found = re.findall(r'class="num d">\s*<b>\$([0-9,.]+)', page)
    return [Decimal(price.replace(",", "")) for price in found]


def test_a_file_with_sizes_ten_times_too_big_waits_for_its_sender(
    listed: Client, carrier: SandboxCarrier, alice: User
) -> None:
    upload(listed, "\n".join([HEADER, GOOD.replace("1001", "1000"), TEN_TIMES, TEN_TIMES.replace("1001", "1002")]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    page = listed.get(check_page(file))
    assert "Very light for their size: 2 rows" in text(page)
    assert "They're left out until you decide." in text(page)
    assert "300 × 200 × 150 cm at 0.35 kg would cost $" in text(page)
    assert "Are the measures in mm?" in text(page)
    assert "Book 1 parcel" in text(page)
    assert "1 parcel, 2 rows stay here" in text(page)
    assert 'value="size_unit:mm"' in page.content.decode()
    book(listed, file)
    work_off(file)
    assert len(carrier.ledger("booked")) == 1


def test_rows_that_look_wrong_are_booked_once_their_sender_says_they_are_right(
    listed: Client, carrier: SandboxCarrier, alice: User
) -> None:
    upload(listed, "\n".join([HEADER, TEN_TIMES, TEN_TIMES.replace("1001", "1002")]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    page = listed.get(f"{check_page(file)}?rule=fastest").content.decode()
    assert 'id="book-all"' not in page
    decide(listed, file, page, right=True)
    page = listed.get(f"{check_page(file)}?rule=fastest")
    assert "Book 2 parcels" in text(page)
    last_day = days(page.content.decode())[-1]
    book(listed, file, "fastest", later=True)
    work_off(file)
    assert len(carrier.ledger("booked")) == 2
    assert {str(day) for day in file.rows.values_list("pickup_date", flat=True)} == {last_day}


def decide(client: Client, file: Import, page: str, *, right: bool = False, unit: str = "") -> Any:
    """Answer what the page asks about the first rows that look wrong."""
    shown = dict(re.findall(r'name="(rule|last)" value="([^"]*)"', page))
    [token, *_] = re.findall(r'name="right" value="(\w+)"', page)
    answer = {"right": token} if right else {"unit": unit}
    return client.post(reverse("decide_import", args=[file.uuid]), shown | answer, follow=True)


def test_one_click_reads_the_file_in_millimetres(listed: Client, carrier: SandboxCarrier, alice: User) -> None:
    upload(listed, "\n".join([HEADER, TEN_TIMES, TEN_TIMES.replace("1001", "1002")]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    decide(listed, file, listed.get(check_page(file)).content.decode(), unit="size_unit:mm")
    work_off(file)
    page = text(listed.get(check_page(file)))
    assert "Book 2 parcels" in page
    assert "30 × 20 × 15 cm" in page


def test_confirming_rows_that_changed_meanwhile_asks_again(
    listed: Client, carrier: SandboxCarrier, alice: User
) -> None:
    upload(listed, "\n".join([HEADER, TEN_TIMES, TEN_TIMES.replace("1001", "1002")]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    page = listed.get(check_page(file)).content.decode()
    listed.post(reverse("import_row", args=[file.uuid, file.rows.all()[0].pk]), {"weight_kg": "0.4"})
    answer = text(decide(listed, file, page, right=True))
    assert "Rows or prices have changed. Nothing is booked yet: check them once more." in answer
    assert "Are the measures in mm?" in answer


def test_a_service_chosen_for_one_row_overrides_the_rule(
    listed: Client, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.00", "14.00")
    first, second = file.rows.all()
    url = reverse("choose_services", args=[file.uuid])
    listed.post(url, {f"service-{first.pk}": "EXPRESS-PICKUP", f"service-{second.pk}": ""})
    page = listed.get(check_page(file))
    assert prices(page.content.decode()) == [Decimal("24.00"), Decimal("14.00")]
    assert "$38.00 AUD" in text(page)
    book(listed, file)
    assert list(file.rows.values_list("product_code", flat=True)) == [
        "EXPRESS-PICKUP",
        second.quote.products[0]["code"],
    ]


@pytest.mark.parametrize("before", ["", "EXPRESS-PICKUP"])
def test_a_service_that_a_colleague_chose_since_the_page_loaded_is_not_booked_unseen(
    before: str, listed: Client, carrier: SandboxCarrier, quill: Sender, alice: User
) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.00", "14.00")
    chosen_service.choose(file, {file.rows.all()[0].pk: before})
    page = listed.get(check_page(file)).content.decode()
    hidden = dict(re.findall(r'name="(rows|newest|last|doubts|services)" value="([^"]*)"', page))
    after = "EXPRESS-PICKUP" if not before else ""
    chosen_service.choose(file, {file.rows.all()[0].pk: after})
    answer = listed.post(reverse("book_import", args=[file.uuid]), hidden | {"rule": "cheapest"}, follow=True)
    assert "Rows or prices have changed. Nothing is booked yet: check the total, then book." in text(answer)
    assert set(file.rows.values_list("state", flat=True)) == {"ready"}
    book(listed, file)
    assert set(file.rows.values_list("state", flat=True)) == {"owed"}


@pytest.mark.parametrize("code", ["NO-SUCH-SERVICE", "x" * 300])
def test_a_service_that_is_not_offered_cannot_be_chosen(
    code: str, listed: Client, quill: Sender, alice: User, bob: User
) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.00")
    row = file.rows.get()
    for name in (f"service-{row.pk}", "service-", "service-x", f"service-{9**30}"):
        listed.post(reverse("choose_services", args=[file.uuid]), {name: code})
    row.refresh_from_db()
    assert row.corrected == {}


def test_the_tabs_count_what_they_list(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.00", "14.00")
    outlier(file, "0.35,300,200,150")
    factories.import_row(quill, alice, file=file)
    factories.import_row(quill, alice, file=file, state="skipped", problems={"": ["You left this row out."]})
    factories.import_row(quill, alice, file=file, state="new", problems={})
    page = listed.get(check_page(file)).content.decode()
    counted = dict(re.findall(r'id="show-(\w+)"[^>]*>[^<]*<span>(\d+)', page))
    assert counted == {"all": "6", "ready": "2", "decide": "1", "fix": "1", "skipped": "1"}
    for show, count in counted.items():
        shown = listed.get(f"{check_page(file)}?show={show}").content.decode()
        assert len(re.findall(r' id="row-\d+"', shown)) == int(count), show


def test_an_import_with_nothing_booked_is_deleted(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    factories.import_row(quill, alice, file=file)
    url = reverse("remove_import", args=[file.uuid])
    assert "Nothing was booked from it. Its 1 row will be gone." in text(listed.get(url))
    assert "orders.csv is deleted." in text(listed.post(url, follow=True))
    assert not Import.objects.exists()


def test_today_counts_rows_to_fix_up_to_a_thousand(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = factories.import_file(quill, alice)
    for _ in range(3):
        factories.import_row(quill, alice, file=file)
    assert "Import rows to fix: 3 They" in text(listed.get("/today/"))
    for module in (keyset, formatting):
        monkeypatch.setattr(module, "MOST_COUNTED", 2)
    assert "Import rows to fix: 2+ They" in text(listed.get("/today/"))


def test_an_import_with_parcels_is_archived_and_can_be_restored(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    order = factories.order(quill, alice, status="booked")
    factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    factories.import_row(quill, alice, file=file)
    url, lists = reverse("remove_import", args=[file.uuid]), reverse("imports")
    assert "1 to fix" in text(listed.get(lists))
    assert "Import rows to fix" in text(listed.get("/today/"))
    assert "orders.csv is archived." in text(listed.post(url, follow=True))
    assert "orders.csv" not in text(listed.get(lists)).partition("1 archived")[0].partition("Imports")[2]
    assert "Import rows to fix" not in text(listed.get("/today/"))
    assert "Archived" in text(listed.get(f"{lists}?archived=yes"))
    assert file.rows.count() == 2
    listed.post(url, {"back": "yes"})
    assert "1 to fix" in text(listed.get(lists))


def test_an_import_that_is_being_booked_cannot_be_removed(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    factories.import_row(quill, alice, file=file, state="owed", problems={})
    answer = listed.post(reverse("remove_import", args=[file.uuid]), follow=True)
    assert "orders.csv is being booked." in text(answer)
    assert Import.objects.get().archived_at is None


def test_rows_of_an_abandoned_file_no_longer_count(listed: Client, quill: Sender, alice: User) -> None:
    now = timezone.now()
    for days_ago, count in ((13, 1), (15, 1)):
        file = factories.import_file(quill, alice, created_at=now - dt.timedelta(days=days_ago))
        factories.import_row(quill, alice, file=file)
        assert progress.to_fix(quill, now).count() == count


def test_rows_to_fix_are_not_counted_among_those_not_booked(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    factories.import_row(quill, alice, file=file)
    factories.import_row(quill, alice, file=file, state="failed", problems={"": ["No pickup that day."]})
    page = listed.get(reverse("import", args=[file.uuid]))
    assert "0 booked, 1 not booked." in text(page)
    assert "This must be more than 0." not in text(page)


def ready_rows(file: Import, *amounts: str) -> None:
    """Rows with two services each: the second at twice the price, and faster."""
    for amount in amounts:
        quote = factories.quote(file.sender, file.made_by, amount=amount, eta_to="2026-12-09")
        fast = {"code": "EXPRESS-PICKUP", "name": "Express Pickup", "amount": str(Decimal(amount) * 2)}
        quote.products.append({**quote.products[0], **fast, "eta_to": "2026-12-01"})
        quote.save()
        factories.import_row(file.sender, file.made_by, file=file, state="ready", problems={}, quote=quote)


def test_after_a_booking_the_page_counts_the_rows_that_are_still_ready(
    listed: Client, quill: Sender, alice: User
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    booked = factories.order(quill, alice, status="booked")
    factories.import_row(quill, alice, file=file, state="booked", problems={}, order=booked)
    for state in ("ready", "warning", "fix"):
        factories.import_row(quill, alice, file=file, state=state)
    page = text(listed.get(reverse("import", args=[file.uuid])))
    assert "1 booked, 2 ready to book." in page
    assert "Fix 1 row" in page


def test_only_pickup_days_that_suit_every_row_are_offered(listed: Client, quill: Sender, alice: User) -> None:
    file, today = factories.import_file(quill, alice), timezone.now().astimezone(quill.tzinfo).date()
    firsts = [str(today + dt.timedelta(days=ahead)) for ahead in (1, 6)]
    ready_rows(file, "9.00", "11.00")
    for row, first in zip(file.rows.order_by("pk"), firsts, strict=True):
        row.quote.products = [{**offer, "pickup": first} for offer in row.quote.products]
        row.quote.save()
    assert min(days(listed.get(check_page(file)).content.decode()), default="9") >= firsts[1]


def test_every_ready_row_shows_its_parcel_service_and_price(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.08")
    page = text(listed.get(check_page(file)))
    assert "2 Noor Tamsin HOBART TAS PORTAL-100234 , 32 × 24 × 11 Ready 32 × 24 × 11 cm 2.4 kg Standard Pickup" in page


@pytest.mark.parametrize("name", ["check_import"])
def test_ready_rows_that_look_wrong_need_no_extra_query_each(
    name: str, quill: Sender, alice: User, visit: Visit
) -> None:
    file, client, found = factories.import_file(quill, alice), visit(alice), []
    for more in (1, 2, 20):
        for typed in ("0.35,300,200,150", "9,3,2,1", "2.4,32,24,11") * more:
            outlier(file, typed)
        url = reverse(name, args=[file.uuid])
        client.get(url)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(url).status_code == 200
        found.append(len([query for query in seen.captured_queries if "SAVEPOINT" not in query["sql"]]))
    assert found[0] == found[1] == found[2] <= 21


def test_rows_are_priced_by_the_chosen_rule(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.08")
    page = listed.get(check_page(file) + "?rule=fastest").content.decode()
    assert prices(page) == [Decimal("24.16")]
    assert 'value="fastest" selected' in page
    assert "<b>$24.16 AUD</b>" in page


def test_the_total_is_the_sum_of_the_rows_page_by_page(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    amounts = [f"{10 + at / 100:.2f}" for at in range(60)]
    ready_rows(file, *amounts)
    first = listed.get(check_page(file)).content.decode()
    assert prices(first) == [Decimal(amount) for amount in amounts[:50]]
    [after] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = listed.get(after).content.decode()
    assert prices(second) == [Decimal(amount) for amount in amounts[50:]]
    assert 'rel="next"' not in second
    assert f"<b>${sum(prices(first) + prices(second)):,.2f} AUD" in first


def test_the_most_expensive_rows_can_be_listed_first(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, *[f"{10 + at / 100:.2f}" for at in range(60)])
    page = listed.get(check_page(file) + "?sort=price").content.decode()
    assert prices(page)[:2] == [Decimal("10.59"), Decimal("10.58")]
    rest = listed.get(check_page(file) + "?sort=price&page=2").content.decode()
    assert prices(rest)[-1] == Decimal("10.00")


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999999999999", "٣", "7"])
def test_an_invalid_page_number_shows_the_first_page_or_an_empty_one(
    listed: Client, quill: Sender, alice: User, page: str
) -> None:
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.08")
    assert len(prices(listed.get(f"{check_page(file)}?page={page}").content.decode())) == (page != "7")


def test_a_booked_row_shows_what_its_parcel_cost(listed: Client, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice, state="booking")
    order = factories.order(quill, alice, status="booked", charged_price=Decimal("99.00"))
    factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    assert prices(listed.get(check_page(file)).content.decode()) == [Decimal("99.00")]


def test_a_header_in_millimetres_is_shown_and_choosing_centimetres_is_refused(listed: Client) -> None:
    header = HEADER.replace("Weight,Length", "Weight (g),Length (mm)")
    upload(listed, f"{header}\n{GOOD}")
    url = reverse("match_columns", args=[Import.objects.get().uuid])
    page = text(listed.get(url))
    assert "In mm, as its name says" in page
    assert "Measures are in" in page
    answer = listed.post(url, {"weight_unit": "g", "size_unit": "cm", "column_length": "7"})
    assert answer.status_code == 422
    assert "“Length (mm)” says mm. Choose mm, or rename that column" in text(answer)


def test_a_column_that_is_no_choice_is_refused_however_long_its_number_is(listed: Client) -> None:
    upload(listed, f"{HEADER}\n{GOOD}")
    url = reverse("match_columns", args=[Import.objects.get().uuid])
    answer = listed.post(url, {"column_weight": "1" * 5000})
    assert answer.status_code == 422
    assert "Choose one of the file's columns." in answer.context["form"].errors["column_weight"]


def test_a_file_beyond_the_hourly_limit_is_refused_and_accepted_the_next_hour(
    listed: Client, quill: Sender, alice: User, settings: Any
) -> None:
    settings.IMPORTS_AN_HOUR = 2
    for number in range(2):
        assert upload(listed, f"name,weight\nNoor {number},2\n").status_code == 302
    answer = upload(listed, "name,weight\nNoor,2\n")
    assert answer.status_code == 429
    assert "You gave us 2 files within an hour" in text(answer)
    ImportTry.objects.update(at=timezone.now() - dt.timedelta(minutes=61))
    assert upload(listed, "name,weight\nNoor,2\n").status_code == 302


def test_unreadable_files_count_and_past_the_limit_nothing_is_read(
    listed: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.IMPORTS_AN_HOUR = 2
    for _ in range(2):
        assert upload(listed, "\x00").status_code == 422
    monkeypatch.setattr(reading, "read", None)
    answer = listed.post(reverse("new_import"), {"pasted": "name\nNoor"})
    assert answer.status_code == 429
    assert "couldn't be read count as well" in text(answer)
    assert "Noor" in text(answer)  # the pasted text is still there


def test_a_day_chosen_before_midnight_is_refused_at_its_field_and_pressing_again_books(
    listed: Client, carrier: SandboxCarrier, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(dt.datetime(2026, 11, 26, 12, 52, tzinfo=dt.UTC))  # Thursday, 23:52 in Melbourne
    upload(listed, f"{HEADER}\n{GOOD}")
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    page = listed.get(f"{check_page(file)}?rule=cheapest_pickup").content.decode()
    assert days(page)[0] == "2026-11-27"
    hidden = dict(re.findall(r'name="(rows|newest|last|doubts|services)" value="([^"]*)"', page))
    time_machine.move_to(dt.datetime(2026, 11, 26, 13, 16, tzinfo=dt.UTC))
    chosen = {"rule": "cheapest_pickup", "pickup_date": "2026-11-27"}
    answer = listed.post(reverse("book_import", args=[file.uuid]), hidden | chosen)
    assert answer.status_code == 422
    assert "That pickup day is no longer on offer. Nothing was booked." in text(answer)
    assert "These prices are from Thu 26 Nov." in text(answer)
    assert "2026-11-27" not in days(answer.content.decode())
    assert dead_links(listed, answer) == []
    assert not ImportRow.objects.filter(state="owed").exists()
    listed.post(reverse("price_import_again", args=[file.uuid]))
    work_off(file)
    assert "These prices are from" not in text(listed.get(check_page(file)))
    book(listed, file, "cheapest_pickup")
    work_off(file)
    assert str(Order.objects.get().carrier_pickup_date) == "2026-11-30"


def test_a_row_that_looks_wrong_takes_no_pickup_day_from_the_others(
    listed: Client, carrier: SandboxCarrier, quill: Sender, alice: User, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(dt.datetime(2026, 11, 26, 1, tzinfo=dt.UTC))
    file = factories.import_file(quill, alice)
    ready_rows(file, "12.00", "12.00", "12.00", "120.00")
    dear = file.rows.order_by("-number")[0].quote
    dear.products = [{**offer, "pickup": "2026-12-02"} for offer in dear.products]
    dear.save()
    page = listed.get(check_page(file)).content.decode()
    assert "Book 3 parcels" in text(listed.get(check_page(file)))
    assert days(page)[0] == "2026-11-27"
    hidden = dict(re.findall(r'name="(rows|newest|last|doubts|services)" value="([^"]*)"', page))
    chosen = {"rule": "cheapest", "pickup_date": "2026-11-27"}
    assert listed.post(reverse("book_import", args=[file.uuid]), hidden | chosen).status_code == 302
    assert [row.state for row in file.rows.all()] == ["owed"] * 3 + ["ready"]


def test_rows_priced_from_another_pickup_address_are_checked_again_before_they_are_booked(
    listed: Client, carrier: SandboxCarrier
) -> None:
    """Otherwise a driver goes to the address that the business had when the file was checked."""
    upload(listed, "\n".join([HEADER, GOOD, GOOD.replace("1001", "1002")]))
    file = Import.objects.get()
    match(listed, file)
    work_off(file)
    PickupAddress.objects.update(line1="99 New Road")
    answer = book(listed, file)
    assert answer["Location"] == check_page(file)
    assert set(file.rows.values_list("state", flat=True)) == {"new"}
    said = (
        "Your pickup address has changed since these rows were checked. Rows checked again: 2. Nothing is booked yet."
    )
    assert said in text(listed.get(check_page(file)))
    work_off(file)
    book(listed, file)
    work_off(file)
    assert [order.pickup["line1"] for order in Order.objects.all()] == ["99 New Road"] * 2
    assert len(carrier.ledger("booked")) == 2


def test_rows_whose_pickup_day_has_come_are_booked_by_one_button(
    quill: Sender, alice: User, visit: Visit, carrier: SandboxCarrier
) -> None:
    file = factories.import_file(quill, alice, state="booking")
    problem = {"kind": "pickup_passed", "text": "Its pickup day came before the booking could be sent."}
    order = factories.order(quill, alice, problem=problem, pickup_date=dt.date(2026, 1, 5))
    factories.import_row(quill, alice, file=file, state="booked", problems={}, order=order)
    page = visit(alice)
    assert "Book 1 for the next business day" in text(page.get(reverse("import", args=[file.uuid])))
    page.post(reverse("import", args=[file.uuid]), {"act": "next_day"})
    order.refresh_from_db()
    assert (order.status, order.pickup_date) == ("booking", None)


def test_the_check_names_what_is_hidden_in_the_workbook(listed: Client, quill: Sender) -> None:
    book = Workbook()
    rows: Any = book.active
    for line in (HEADER.split(","), GOOD.split(",")):
        rows.append(line)
    rows.column_dimensions["A"].hidden = True
    data = io.BytesIO()
    book.save(data)
    upload(listed, data.getvalue(), name="orders.xlsx")
    file = Import.objects.get()
    match(listed, file)
    page = text(listed.get(reverse("check_import", args=[file.uuid])))
    assert f"Hidden in your workbook, and used: {file.header[0]}." in page
