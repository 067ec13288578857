"""One answer resolves all rows of a file with the same question, and its effect is shown first."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import answering, columns, currencies, row_form, unread
from shipping_portal.importing.models import ColumnMapping, Import, ImportRow
from tests import factories
from tests.orders.test_importing import GOOD, HEADER, work_off
from tests.pages.test_imports import check_page
from tests.pages.typed import dead_links, text
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Take = Callable[..., Import]
ABROAD_HEADER = f"{HEADER},Country,Phone,Customs description,Customs value,Quantity,Country of origin"
ABROAD = (
    "Priya Nair,priya@example.net,4 Sampling Street,Portland,97205,Mugs,2.4,32,24,11,{number},US,+1 503 555 0142,"
    "Mugs,{value},2,Australia"
)


@pytest.fixture
def take(quill: Sender, alice: User, localities: None, carrier: SandboxCarrier) -> Take:
    """`take(header, row, row)` is a checked import."""

    def taken(header: str, *rows: str) -> Import:
        file = factories.taken("\n".join([header, *rows]).encode(), quill, alice)
        work_off(file)
        return file

    return taken


def asked(file: Import) -> answering.Asked:
    rows = row_form.to_fix(file)
    return answering.find_questions(rows, row_form.typed_in(file, rows))


def states(file: Import) -> list[str]:
    work_off(file)
    return list(file.rows.values_list("state", flat=True))


def test_a_column_is_dismissed_once_and_remembered(take: Take) -> None:
    header, rows = f"{HEADER},Zorble,Gate code", [f"{GOOD},quux,", f"{GOOD.replace('1001', '1002')},quux,4471"]
    file = take(header, *rows)
    assert unread.waiting(row_form.to_fix(file)) == {11: 2, 12: 1}
    assert answering.ignore_columns(file, [11], timezone.now()) == 2
    assert states(file) == ["ready", "fix"]
    assert unread.listed(file, unread.waiting(row_form.to_fix(file))) == ["Zorble"]
    again = take(header, rows[0].replace("1001", "1003"), rows[1].replace("1002", "1004"))
    assert states(again) == ["ready", "fix"]


def test_allowing_one_row_leaves_the_next_waiting(take: Take, alice: User, visit: Callable[[User], Client]) -> None:
    file = take(f"{HEADER},Zorble", f"{GOOD},quux", f"{GOOD.replace('1001', '1002')},quux")
    row = file.rows.all()[0]
    visit(alice).post(reverse("import_row", args=[file.uuid, row.pk]), {"anyway": "yes"})
    assert states(file) == ["ready", "fix"]


def test_one_click_gives_rows_without_an_email_the_senders_own(take: Take, quill: Sender, alice: User) -> None:
    rows = [GOOD, *(GOOD.replace("1001", n).replace("priya@example.net", mail) for n, mail in (
        ("1002", ""), ("1003", "Invalid Request"), ("1004", "no-address")))]  # fmt: skip
    file = take(HEADER, *rows)
    assert asked(file).without_email == 2
    address = quill.pickup_address()
    assert address is not None
    assert answering.use_own_email(file, address, timezone.now()) == 2
    assert states(file) == ["ready", "ready", "ready", "fix"]
    assert file.rows.all()[1].quote.details["receiver"]["email"] == address.email  # type: ignore[union-attr]


def test_a_rate_converts_values_in_its_currency_in_this_file_only(take: Take) -> None:
    header, row = ABROAD_HEADER, ABROAD
    file = take(header, *(row.format(number=n, value=v) for n, v in (("1", "US $100.00"), ("2", "28.00"), ("3", "£5"))))
    assert asked(file).currencies == {"USD": 1, "GBP": 1}
    assert answering.use_rate(file, "USD", "1.525", timezone.now()) == 1
    assert states(file) == ["ready", "ready", "fix"]
    items = [row.quote.details["contents"][0]["value"] for row in file.rows.all() if row.quote]
    assert items == ["152.50", "28.00"]
    assert columns.RATES not in ColumnMapping.objects.get().constants


@pytest.mark.parametrize(
    ("typed", "rate", "converted"),
    [
        ("US$1.00", "0.124", "0.12"),
        ("US$1.00", "0.125", "0.13"),
        ("US$1.00", "0.126", "0.13"),
        ("US$3.00", "0.125", "0.38"),
        ("US$5.00", "0.125", "0.63"),
        ("5.00", "0.125", "5.00"),
        ("A$5.00", "0.125", "5.00"),
        ("GBP 5.00", "0.125", "GBP 5.00"),
        ("(5.00)", "0.125", "(5.00)"),
        ("~5.00", "0.125", "~5.00"),
        ("5.00*", "0.125", "5.00*"),
    ],
)
def test_half_a_cent_is_rounded_up_as_in_every_price(typed: str, rate: str, converted: str) -> None:
    assert currencies.converted(typed, "AUD", {"USD": rate}) == converted


def test_rows_with_one_right_answer_are_corrected_by_kind(take: Take) -> None:
    header = HEADER.replace("Suburb", "Company,Address 2,Suburb")
    row = GOOD.replace("Brunswick", "{company},{line},{place}").replace(",3056", "").replace("1001", "{number}")
    said = [
        ("Priya Nair", "", "Brunswick,3056"), ("PRIYA NAIR", "", "Brunswick,3056"), ("-", "", "Brunswick,3056"),
        ("", "Brunswick", "Brunswick,3056"), ("", '"Unit 3, Brunswick 3056"', "Brunswick,3056"),
        ("", "", "Darwin,800"), ("", "", "Brunswick,9999"),
    ]  # fmt: skip
    file = take(
        header, *(row.format(company=c, line=line, place=place, number=n) for n, (c, line, place) in enumerate(said))
    )
    found = {one.kind: (len(one.rows), one.examples[0]) for one in asked(file).corrections}
    assert found["company"] == (2, (2, "Priya Nair", "blank"))
    assert found["line"][0] == 2
    assert found["postcode"] == (1, (7, "Darwin, 800", "DARWIN, NT, 0800"))
    assert [answering.correct(file, kind, timezone.now()) for kind in ("company", "line", "postcode")] == [2, 2, 1]
    assert states(file) == ["ready"] * 5 + ["fix"] * 2  # this carrier calls the place Darwin City
    assert file.rows.get(number=7).corrected["receiver_postcode"] == "0800"
    kept = file.rows.get(number=6).quote
    assert kept is not None
    assert kept.details["receiver"]["line2"] == "Unit 3"
    assert answering.correct(file, "company", timezone.now()) == 0


def test_a_full_postcode_is_not_treated_as_short_of_a_zero(take: Take) -> None:
    """The sender decides the state. Restoring a zero doesn't change it."""
    header = HEADER.replace("Suburb,Postcode", "Suburb,State,Postcode")
    file = take(header, GOOD.replace("Brunswick,3056", "Brunswick,NSW,3056"))
    row = file.rows.get()
    assert (row.state, row.near[0][2]) == ("fix", "3056")
    assert asked(file).corrections == []
    assert answering.correct(file, "postcode", timezone.now()) == 0


def test_the_page_asks_each_question_once_and_its_buttons_answer_it(
    take: Take, alice: User, visit: Callable[[User], Client]
) -> None:
    file = take(f"{HEADER},Zorble", f"{GOOD},quux", f"{GOOD.replace('1001', '1002').replace('priya@example.net', '')},")
    page = visit(alice)
    shown = text(page.get(check_page(file)))
    assert "1 column in your file holds details we can't use" in shown
    assert "Use yours for 1 row" in shown
    answer = reverse("answer_import", args=[file.uuid])
    page.post(answer, {"column": "11"})
    page.post(answer, {"own_email": "yes"})
    assert states(file) == ["ready", "ready"]
    again = page.post(answer, {"column": "11"}, follow=True)
    assert "Rows or prices have changed." in text(again)


@pytest.mark.parametrize("rate", ["", "0", "abc", "-1", "1e5", "9999999"])
def test_an_invalid_rate_is_refused_at_its_field(
    rate: str, take: Take, alice: User, visit: Callable[[User], Client]
) -> None:
    header, row = ABROAD_HEADER, ABROAD
    file = take(header, row.format(number="1", value="USD 100.00"))
    page = visit(alice)
    answer = page.post(reverse("answer_import", args=[file.uuid]), {"code": "USD", "rate": rate})
    assert answer.status_code == 422
    assert dead_links(page, answer) == []
    assert 'id="rate-USD_error"' in answer.content.decode()
    assert states(file) == ["fix"]


def test_another_accounts_member_cannot_answer(take: Take, visit: Callable[[User], Client]) -> None:
    file = take(f"{HEADER},Zorble", f"{GOOD},quux")
    other = factories.user("mallory@other.example")
    factories.member(factories.sender(name="Other"), other)
    answer = visit(other).post(reverse("answer_import", args=[file.uuid]), {"column": "11"})
    assert answer.status_code == 404
    assert ImportRow.objects.get().state == "fix"


PRICED = f"{HEADER},Country,Phone,Customs description,Price,Quantity,Country of origin"


@pytest.mark.parametrize(("press", "value"), [("piece", "100.00"), ("line", "50.00")])
def test_one_click_says_whether_prices_are_per_piece_or_for_all(
    press: str, value: str, take: Take, alice: User, visit: Callable[[User], Client]
) -> None:
    file = take(PRICED, *(ABROAD.format(number=number, value="100.00") for number in ("1", "2")))
    assert asked(file).unsure_prices == 2
    page = visit(alice)
    assert "2 rows with a price and more than one piece" in text(page.get(check_page(file)))
    page.post(reverse("answer_import", args=[file.uuid]), {"prices": press})
    assert states(file) == ["ready", "ready"]
    assert {row.quote.details["contents"][0]["value"] for row in file.rows.all() if row.quote} == {value}
    assert ColumnMapping.objects.get().constants["prices"] == press


def test_any_other_answer_about_prices_is_ignored(take: Take) -> None:
    file = take(PRICED, ABROAD.format(number="1", value="100.00"))
    assert answering.use_prices(file, "dozen", timezone.now()) == 0
    assert states(file) == ["fix"]


def test_one_save_stores_every_changed_row_and_no_other(
    take: Take, alice: User, visit: Callable[[User], Client]
) -> None:
    wrong = GOOD.replace("priya@example.net", "priya@")
    file = take(HEADER, *(wrong.replace("1001", number) for number in ("1", "2", "3")))
    first, second, third = file.rows.all()
    page, save = visit(alice), reverse("save_rows", args=[file.uuid])
    assert "Save all rows shown" in text(page.get(check_page(file)))
    typed = {first: "p@example.net", second: "q@example.net", third: "priya@"}
    page.post(save, {f"row-{row.pk}-receiver_email": email for row, email in typed.items()})
    assert states(file) == ["ready", "ready", "fix"]
    third.refresh_from_db()
    assert third.corrected == {}
    ImportRow.objects.exclude(pk=third.pk).update(state="booked")
    late = {f"row-{row.pk}-receiver_email": "r@example.net" for row in (first, second)}
    said = text(page.post(save, late, follow=True))
    assert f"so nothing was saved there: row {first.number}, {second.number}." in said
    assert "No field was changed" not in said
    first.refresh_from_db()
    assert first.corrected == {"receiver_email": "p@example.net"}


@pytest.mark.parametrize("count", [1, 2])
def test_pressing_enter_saves_what_is_typed_and_answers_no_question(
    take: Take, alice: User, visit: Callable[[User], Client], count: int
) -> None:
    """Without JavaScript, Enter presses the form's first button, which must never be a suggested place."""
    file = take(HEADER, *[GOOD.replace("1001", str(at)).replace(",3056,", ",3057,") for at in range(count)])
    assert all(row.near for row in file.rows.all())
    page = visit(alice).get(check_page(file)).content.decode()
    form = page.partition(f'action="{reverse("save_rows", args=[file.uuid])}"')[2]
    assert form.count('name="place"') >= count
    assert "formaction" not in form.partition("<button")[2].partition(">")[0]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("US $5.00", ("5.00", "USD")),
        ("5.00 kr", ("5.00", "KR")),
        ("₹5.00", ("5.00", "INR")),
        ("$5.00", ("5.00", "")),
        ("(5.00)", ("(5.00)", "")),
        ("~5.00", ("~5.00", "")),
        ("5.00*", ("5.00*", "")),
    ],
)
def test_a_sign_beside_an_amount_is_not_taken_for_a_currency(typed: str, read: tuple[str, str]) -> None:
    assert currencies.read(typed) == read
