"""Where a scan was, as one line a person reads."""

import pytest

from tracking import timeline


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (("Fitzroy", "VIC", "3065", "AU"), "Fitzroy VIC 3065, Australia"),
        (("Fitzroy", "VIC", "3065", " au "), "Fitzroy VIC 3065, Australia"),
        (("Portland", "", "97205", "united states"), "Portland 97205, United States"),
        (("Lyon", "", "", "France"), "Lyon, France"),
        (("Fitzroy", "VIC", "", ""), "Fitzroy VIC"),
        (("", "", "", "NZ"), "New Zealand"),
        (("", "", "", ""), ""),
    ],
)
def test_the_place_of_a_scan_is_what_the_carrier_told_of_it_with_its_country_by_name(
    told: tuple[str, str, str, str], line: str
) -> None:
    assert timeline.place(*told) == line
