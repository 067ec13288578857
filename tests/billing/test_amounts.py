"""An amount is read the way finance systems write it, or reported. It is never guessed."""

from dataclasses import replace
from decimal import Decimal

import pytest

from shipping_portal.billing.reports.amounts import UnreadableCell, read_amount
from shipping_portal.billing.reports.fields import DEFAULT_COLUMNS, Profile
from shipping_portal.billing.reports.reading import Problem, ReportRow, ReportTotal, read_report
from tests.billing.conftest import line, total, written

PROFILE = Profile(",", DEFAULT_COLUMNS, "%Y-%m-%d", refunds_positive=True, cover_inside=True, total_word="Total")
SEPARATED = ["1021.36", "1,021.36", "1 021.36", "1'021.36", "1’021.36", "1021.360"]
MINUS = ["-21.36", "−21.36", "–21.36", "21.36-", "21.36 −", "(21.36)", "21.36 CR", "21.36cr", "CR 21.36", "-$21.36",
         "$-21.36", "($21.36)", "$(21.36)", "AUD -21.36", "- 21.36", "-21.36 AUD"]  # fmt: skip
PLUS = ["21.36", "+21.36", "$21.36", "A$21.36", "AU$ 21.36", "AUD 21.36", "21.36 AUD", "AUD21.36", "aud 21.36",
        "21.36 DR", "AUD $21.36", "21.360", "2.136E+01"]  # fmt: skip


def test_windows_letters_for_a_euro_and_a_minus_are_read() -> None:
    content = written(line("SQ7K2M", "MINUS12.08", Currency="EUR")).replace(b"MINUS", "–€".encode("cp1252"))
    (row,) = read_report(content, PROFILE)
    assert isinstance(row, ReportRow)
    assert (row.price, row.currency) == (Decimal("-12.08"), "EUR")


@pytest.mark.parametrize(
    ("texts", "sign", "amount"),
    [
        (SEPARATED, "", "1021.36"),
        (SEPARATED, ".", "1021.36"),
        (["1021,36", "1.021,36", "1 021,36", "1'021,36"], ",", "1021.36"),
        (["1,021"], ".", "1021"),
        (["1.021"], ",", "1021"),
        (["1,021,360", "1 021 360"], "", "1021360"),
        (["1.021.360"], ",", "1021360"),
        (MINUS, "", "-21.36"),
        (["-21,36", "(1.021,36)", "21,36- €"], ",", None),
        (PLUS, "", "21.36"),
        (["0", "0.00", "-", "–", ".0", "0."], "", "0"),
        (["10,6", "10,60"], ",", "10.6"),
    ],
)
def test_amounts_are_read_the_way_finance_systems_write_them(texts: list[str], sign: str, amount: str | None) -> None:
    for text in texts:
        read_as = read_amount(text, sign, "EUR" if "€" in text else "AUD")
        assert amount is None or read_as == Decimal(amount), text
        assert amount or read_as < 0, text


@pytest.mark.parametrize(
    ("texts", "sign", "message"),
    [
        (["1,021", "(1,021)", "$1,021"], "", "may be 1021 or 1.021"),
        (["12,08", "1.021,36", "1,02.36", "1,0213.00", "10,21,360.00"], "", "is not a number. If that is its decimal"),
        (["12.08", "1,021.36"], ",", "is not a number. If that is its decimal"),
        (["0,500", "01,021.36", "-0,001"], ".", "is not a number. If that is its decimal"),  # no thousands begin with 0
        (["0.500", "$0.005", "00.500"], ",", "is not a number. If that is its decimal"),
        (["6.09E+02", "1.06E+01", "(1.0E+10)"], "", "was rounded by a spreadsheet"),
        (["1,021 360.00", "1e2", "1_0", "NaN", "Infinity", "٢١", "12.0x", "", "()", "$", "AUD", "1 02"], "", "number"),
        (["9" * 13, "1" + ",000" * 4 + ".00"], "", "is not a number"),
        (["-(21.36)", "--21.36", "-21.36-", "(21.36) CR", "-21.36 DR", "CR 21.36 DR"], "", "sign is written twice"),
        (["US$21.36", "USD 21.36", "21.36 USD", "€21.36", "£21.36", "C$21.36", "XYZ 21.36"], "", "is not in AUD"),
    ],
)
def test_an_ambiguous_or_unreadable_amount_is_reported(texts: list[str], sign: str, message: str) -> None:
    for text in texts:
        with pytest.raises(UnreadableCell, match=message.replace(".", r"\.")):
            read_amount(text, sign, "AUD")


@pytest.mark.parametrize(
    ("currency", "is_taken"), [("AUD", True), ("USD", True), ("CAD", True), ("EUR", False), ("JPY", False)]
)
def test_a_dollar_sign_is_accepted_for_any_dollar_but_no_other_currency(currency: str, *, is_taken: bool) -> None:
    if is_taken:
        assert read_amount("$1.00", "", currency) == 1
    else:
        with pytest.raises(UnreadableCell):
            read_amount("$1.00", "", currency)


def test_the_cover_total_and_measures_of_a_line_are_read_the_same_way() -> None:
    row = line("SQ7K2M", "$1,021.36", Warranty_Price="AUD 2.30", Declared_Max_Weight="2.400", Measured_Weight="1,021.5")
    [read_row, said] = read_report(written(row, total("AUD 1,021.36")), PROFILE)
    assert isinstance(read_row, ReportRow)
    assert (read_row.price, read_row.cover) == (Decimal("1021.36"), Decimal("2.30"))
    assert (read_row.measures["declared_kg"], read_row.measures["measured_kg"]) == (Decimal("2.4"), Decimal("1021.5"))
    assert said == ReportTotal("AUD", Decimal("1021.36"))


def test_a_line_saved_with_decimal_commas_is_the_same_line() -> None:
    [as_it_came] = read_report(written(line("SQ7K2M", "10.60", Declared_Max_Weight="2.400")), PROFILE)
    comma = replace(PROFILE, decimal_sign=",", delimiter=";")
    [saved] = read_report(written(line("SQ7K2M", "10,6", Declared_Max_Weight="2,4")).replace(b",", b";").replace(
        b'"10;6"', b"10,6").replace(b'"2;4"', b"2,4"), comma)  # fmt: skip
    assert isinstance(as_it_came, ReportRow)
    assert isinstance(saved, ReportRow)
    assert (saved.key, saved.measures["declared_kg"]) == (as_it_came.key, Decimal("2.4"))


def test_an_ambiguous_amount_is_a_problem_on_its_line() -> None:
    [problem] = read_report(written(line("SQ7K2M", "1,021")), PROFILE)
    assert isinstance(problem, Problem)
    assert (problem.number, "may be 1021 or 1.021" in problem.message) == (2, True)


def test_a_file_saved_as_unicode_text_is_read() -> None:
    content = written(line("SQ7K2M", "10.60")).decode().replace(",", "\t").encode("utf-16")
    [row] = read_report(content, replace(PROFILE, delimiter="\t"))
    assert isinstance(row, ReportRow)
    assert row.price == Decimal("10.60")
