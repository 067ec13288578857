"""Each record of a report is read exactly, or reported with its line in the file."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from shipping_portal.billing.reports.fields import DEFAULT_COLUMNS, Profile
from shipping_portal.billing.reports.reading import NotAReport, Problem, ReportRow, ReportTotal, read_report
from tests.billing.conftest import HEADER, line, refund, total, written

PROFILE = Profile(",", DEFAULT_COLUMNS, "%Y-%m-%d", refunds_positive=True, cover_inside=True, total_word="Total")


def test_a_row_is_read_with_its_amounts_words_day_and_measures() -> None:
    content = written(line("Sq7K2m", "16.80", Warranty_Price="2.30", Declared_Max_Weight="1.0", Measured_Weight="1.6"))
    (row,) = read_report(content, PROFILE)
    assert isinstance(row, ReportRow)
    assert (row.number, row.word, row.reference) == (2, "Order Invoiced / Paid", "Sq7K2m")
    assert (row.price, row.cover, row.currency) == (Decimal("16.80"), Decimal("2.30"), "AUD")
    assert row.day == dt.date(2026, 11, 18)
    assert row.measures["declared_kg"] == Decimal("1.0")
    assert row.measures["measured_kg"] == Decimal("1.6")


def test_a_customer_reference_is_shortened_and_does_not_change_the_lines_key() -> None:
    """A line posted before its column was known must stay the same line."""
    without = replace(PROFILE, columns={**DEFAULT_COLUMNS, "customer_reference": ""})
    for seen, kept in (("unk-1", "unk-1"), ("n" * 300, "n" * 255)):
        content = written(line("SQ7K2M", Customer_Reference=seen))
        (row,), (before,) = read_report(content, PROFILE), read_report(content, without)
        assert isinstance(row, ReportRow)
        assert isinstance(before, ReportRow)
        assert (row.customer_reference, before.customer_reference) == (kept, "")
        assert row.key == before.key


def test_a_refund_has_the_day_it_was_given_back() -> None:
    (row,) = read_report(written(refund("SQ7K2M", Refund_Reason="Delay")), PROFILE)
    assert isinstance(row, ReportRow)
    assert (row.word, row.day) == ("Order Invoiced / Refunded / Delay", dt.date(2026, 11, 20))


def test_the_files_own_totals_are_not_lines() -> None:
    found = list(read_report(written(line("SQ7K2M"), total("12.08"), total("3.00", "USD")), PROFILE))
    assert found[1:] == [ReportTotal("AUD", Decimal("12.08")), ReportTotal("USD", Decimal("3.00"))]


def test_identical_lines_in_one_file_are_two_lines_with_stable_keys() -> None:
    content = written(line("SQ7K2M"), line("SQ7K2M"))
    first, second = (row for row in read_report(content, PROFILE) if isinstance(row, ReportRow))
    assert first.key != second.key
    again = [row.key for row in read_report(content, PROFILE) if isinstance(row, ReportRow)]
    assert again == [first.key, second.key]


def test_a_line_with_the_carriers_own_number_is_identified_by_it_alone() -> None:
    profile = replace(PROFILE, columns={**DEFAULT_COLUMNS, "line_id": "Customer Reference"})
    keys = {
        row.key
        for content in (line("SQ7K2M", Customer_Reference="L-1"), line("SQ9M4R", "9.00", Customer_Reference="L-1"))
        for row in read_report(written(content), profile)
        if isinstance(row, ReportRow)
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"Price": "12.0x"}, "not a number"),
        ({"Price": "12.085"}, "not an amount to the cent"),
        ({"Price": "NaN"}, "not a number"),
        ({"Price": "Infinity"}, "not a number"),
        ({"Price": "9" * 30}, "not a number"),
        ({"Price": ""}, "no type or no amount"),
        ({"Type": ""}, "no type or no amount"),
        ({"Currency": "dollars"}, "not a currency"),
        ({"Order Date": "18/11/2026"}, "not a date"),
        ({"Refund Date": "2026-02-30"}, "not a date"),
        ({"Measured Weight": "-1"}, "not a weight"),
        ({"Reference": "S" * 101}, "too long"),
        ({"Type": "x" * 101}, "too long"),
        ({"Reference": "1.23457E+12"}, "which a spreadsheet shortened"),
    ],
)
def test_an_unreadable_cell_is_reported_with_its_line(cells: dict[str, str], message: str) -> None:
    good, bad = read_report(written(line("SQ7K2M"), line("SQ9M4R") | cells), PROFILE)
    assert isinstance(good, ReportRow)
    assert isinstance(bad, Problem)
    assert bad.number == 3
    assert message in bad.message


@pytest.mark.parametrize("number", ["1.23457E+12", "1,23E+11", "4E+15"])
def test_a_line_whose_number_a_spreadsheet_shortened_is_reported(number: str) -> None:
    """Next week's lines have the same number, and would be left out as billed."""
    numbered = replace(PROFILE, columns={**PROFILE.columns, "line_id": "Line"})
    [problem] = read_report(written(line("SQ7K2M", Line=number)), numbered)
    assert problem == Problem(2, f"“{number}” was a longer number, which a spreadsheet shortened.")


def test_a_cut_off_line_is_reported() -> None:
    content = written(line("SQ7K2M"), line("SQ9M4R")).rsplit(b",", 8)[0]
    *_, last = read_report(content, PROFILE)
    assert isinstance(last, Problem)
    assert (last.number, "header has 15" in last.message) == (3, True)


def test_an_unclosed_quote_is_reported() -> None:
    *_, last = read_report(written(line("SQ7K2M")) + b'"Order Invoiced,SQ9M4R', PROFILE)
    assert isinstance(last, Problem)


def test_a_file_whose_header_cannot_be_read_is_not_a_report() -> None:
    for header in (b'"Type', b'Type,"a"b,c', b'"' + b"x" * 200_000 + b'"'):
        with pytest.raises(NotAReport, match="first line can't be read"):
            list(read_report(header, PROFILE))


def test_an_unreadable_line_below_the_header_is_reported() -> None:
    [problem] = read_report(written() + b'"' + b"x" * 200_000 + b'"', PROFILE)
    assert isinstance(problem, Problem)
    assert problem.message.startswith("The file can't be read from here on")


def test_a_character_that_cannot_be_stored_is_reported_but_not_quoted() -> None:
    [problem] = read_report(written(line("SA\x0000001")), PROFILE)
    assert problem == Problem(2, "It has a character that isn't text.")


def test_invalid_bytes_are_reported_if_they_spoil_a_number() -> None:
    content = written(line("SQ7K2M")).replace(b"12.08", b"12\xff08")
    (bad,) = read_report(content, PROFILE)
    assert isinstance(bad, Problem)
    assert bad.number == 2


def test_a_line_number_allows_for_a_cell_of_two_lines() -> None:
    content = written(line("SQ7K2M", Customer_Reference="two\nlines"), line("SQ9M4R", "x"))
    *_, bad = read_report(content, PROFILE)
    assert isinstance(bad, Problem)
    assert bad.number == 4


def test_a_file_without_a_required_column_is_not_a_report() -> None:
    content = ",".join(name for name in HEADER if name != "Price").encode()
    with pytest.raises(NotAReport, match="“Price”"):
        next(read_report(content, PROFILE))


def test_a_file_with_a_required_column_twice_is_not_a_report() -> None:
    with pytest.raises(NotAReport, match="more than one column “Price”"):
        next(read_report(",".join([*HEADER, "price "]).encode(), PROFILE))


def test_an_unused_column_may_appear_twice() -> None:
    header, *rest = written(line("SQ7K2M")).decode().splitlines()
    [row] = read_report("\n".join([f"{header},Remark,Remark", *(f"{each},," for each in rest)]).encode(), PROFILE)
    assert isinstance(row, ReportRow)


def test_columns_without_a_name_are_ignored() -> None:
    """They are not read for a field that has no column either, such as a customer reference the carrier doesn't send."""
    profile = replace(PROFILE, columns={**DEFAULT_COLUMNS, "customer_reference": ""})
    header, *rest = written(line("SQ7K2M")).decode().splitlines()
    [row] = read_report("\n".join([f"{header},,", *(f"{each},one,two" for each in rest)]).encode(), profile)
    assert isinstance(row, ReportRow)
    assert row.customer_reference == ""


@pytest.mark.parametrize("amount", ["1e2", "1_0", "١٢", "NaN", "Infinity", "."])
def test_an_amount_that_is_not_in_plain_digits_is_reported(amount: str) -> None:
    [problem] = read_report(written(line("SQ7K2M", Price=amount)), PROFILE)
    assert problem == Problem(2, f"“{amount}” is not a number.")


def test_the_profile_sets_the_columns_delimiter_and_date_format() -> None:
    profile = Profile(
        ";", {"type": "Art", "reference": "Ref", "price": "Betrag", "currency": "Whg", "order_date": "Tag"},
        "%d.%m.%Y", refunds_positive=False, cover_inside=False, total_word="",
    )  # fmt: skip
    (row,) = read_report("\ufeffArt;Ref;Betrag;Whg;Tag\nFracht;SQ7K2M;-3.10;aud;18.11.2026\n".encode(), profile)
    assert isinstance(row, ReportRow)
    assert (row.price, row.currency, row.day) == (Decimal("-3.10"), "AUD", dt.date(2026, 11, 18))


@pytest.mark.parametrize("name", ["Order  Date", "Order\u00a0Date", " order date ", "Order\tDate"])
def test_a_column_is_found_however_its_name_is_spaced(name: str) -> None:
    """Without its day a line is another line, and would be billed again."""
    plain = written(line("SQ7K2M"))
    (before,) = read_report(plain, PROFILE)
    (row,) = read_report(plain.replace(b"Order Date", name.encode()), PROFILE)
    assert row == before


def test_the_header_of_a_joined_report_is_no_line() -> None:
    content = written(line("SQ7K2M")) + written(line("SQ9M4R"))
    assert [row.reference for row in read_report(content, PROFILE) if isinstance(row, ReportRow)] == [
        "SQ7K2M",
        "SQ9M4R",
    ]
    assert len(list(read_report(content, PROFILE))) == 2


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u202a", "\u2066", "\u00ad"])
def test_a_sign_that_nobody_sees_is_no_part_of_a_cell(sign: str) -> None:
    """With it, a line would name no parcel, and be billed again."""
    plain = line("SQ7K2M", "16.80")
    marked = plain | {name: f"{plain[name]}{sign}" for name in ("Reference", "Price", "Currency", "Order Date")}
    assert list(read_report(written(marked), PROFILE)) == list(read_report(written(plain), PROFILE))


def test_a_line_in_both_of_two_joined_reports_is_reported() -> None:
    """Two of a kind in one report are two lines; in two reports they are the same line."""
    size = line("SQ7K2M", "3.30", Type="Adjustment: Incorrect size declared")
    first, *more = read_report(written(size, size) + written(line("SQ9M4R"), size), PROFILE)
    assert isinstance(first, ReportRow)
    assert [type(record) for record in more] == [ReportRow, ReportRow, Problem]
    assert isinstance(problem := more[-1], Problem)
    assert (problem.number, "in both of the reports" in problem.message) == (6, True)


@pytest.mark.parametrize("mark", ['="{}"', "'{}"])
def test_marks_against_shortening_are_no_part_of_a_cell(mark: str) -> None:
    plain, marked = line("SQ7K2M", "16.80"), line(mark.format("SQ7K2M"), mark.format("16.80"))
    assert list(read_report(written(marked), PROFILE)) == list(read_report(written(plain), PROFILE))


@pytest.mark.parametrize("word", ["Subtotal", "Sub-total", "SUB TOTAL", "Subtotal: adjustments"])
def test_a_subtotal_is_neither_a_line_nor_the_total(word: str) -> None:
    content = written(line("SQ7K2M"), line("", "12.08", Type=word), total("12.08"))
    assert [type(record) for record in read_report(content, PROFILE)] == [ReportRow, ReportTotal]
    kept = list(read_report(written(line("SQ7K2M", Type=word)), PROFILE))
    assert [type(record) for record in kept] == [ReportRow]  # it names an order


def test_a_total_may_have_a_colon() -> None:
    content = written(line("SQ7K2M"), total("12.08") | {"Type": "TOTAL:"})
    assert list(read_report(content, PROFILE))[1] == ReportTotal("AUD", Decimal("12.08"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04", "workbook"),
        (b"\xd0\xcf\x11\xe0", "workbook"),
        (b"%PDF-1.4", "PDF"),
        (b"Invoice 123,,\nType,Reference,Price,Currency\n", "Its first line is “Invoice 123,,”"),
        ("Typ\n".encode("utf-16-le"), "“Currency”.$"),
        (b"Type;Reference;Price;Currency\n", "Its first line is “Type;Reference;Price;Currency”"),
    ],
)
def test_a_file_that_is_no_report_is_refused_with_what_it_is(content: bytes, message: str) -> None:
    with pytest.raises(NotAReport, match=message):
        list(read_report(content, PROFILE))
