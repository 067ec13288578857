"""Map postcodes to a time zone where it differs from most of their state.

Generated once: the centre of each ZIP code (zipcodes 3.0 on PyPI), Canadian sorting area and
Australian postcode (GeoNames, in countrystatecity-postal-codes 2.0) was looked up in the outlines
of the zones (timezonefinder 9.0). A range of codes is listed if its clock differs from its state's
in STATES at any time of the year. By hand: the centre of an area is across a border for 2406, 4825,
6743, 42757, 57532, 58535, 58838, 79847 and 86502; Alabama has one time by law; Broken Hill and
Eucla are towns in a larger area.
"""

import bisect
from functools import lru_cache

TABLE = """
AU Australia/Broken_Hill 2880
AU Australia/Eucla 6443
AU Australia/Lord_Howe 2898
AU Indian/Christmas 6798
AU Indian/Cocos 6799
CA America/Cambridge_Bay X0B
CA America/Dawson_Creek V0C V1G V1J
CA America/Edmonton S9V V0A-V0B V1A V1C
CA America/Goose_Bay A0P-A0R A2V
CA America/Halifax G0B G4T
CA America/Rankin_Inlet X0C
CA America/Winnipeg P0V-P0Y P8N-P9N S0P
US America/Adak 99546-99547
US America/Chicago 32401-32455 32459-32592 40111-40115 40119 40140 40143-40146 40152-40153
    40170-40171 40176 40178 42001-42464 42602-42629 42642 42712-42715 42717 42720-42722 42726-42731
    42741-42746 42749-42756 42759-42765 42782 46301-46411 46531-46534 46968 47514-47515 47520 47523
    47525 47531 47536-47537 47550-47552 47556 47574 47576-47577 47579 47586-47588 47601-47750 47922
    47943 47948 47951 47963-47964 47977-47978 49801-49802 49812 49815 49821 49831 49834 49845-49848
    49852 49858 49863 49870 49873-49877 49881 49886-49887 49892-49893 49896 49902-49903 49911 49915
    49920 49927 49935-49938 49947 49959 49964 49968-49969
US America/Denver 57521 57537 57543 57547 57551-57553 57567 57574 57577 57620-57630 57633-57645
    57649-57799 58529 58533 58562 58564 58569 58601-58630 58632-58636 58639-58656 67733 67735 67741
    67758-67762 67836 67857 67878-67879 69021 69023 69027 69030 69033 69037 69041 69045 69121-69122
    69125-69129 69131 69133-69134 69140-69141 69144-69150 69152-69156 69160 69162 69168 69190 69211
    69216 69218-69219 69301-69367 79821 79835-79839 79847 79849-79851 79853 79901-79999 86016 86020
    86031 86033 86035 86044-86045 86053-86054 86503-86511 86514-86547 86556 88510-88595 89883
    97901-97903 97906 97908-97920
US America/Los_Angeles 83501-83546 83548 83552-83555 83801-83877
US America/New_York 37302-37304 37307-37312 37314-37317 37320-37323 37325-37326 37329 37331-37333
    37336-37337 37341 37343 37350-37351 37353-37354 37361-37364 37369-37373 37377 37379 37381
    37384-37385 37391 37401-37450 37601-37722 37724-37998
"""


@lru_cache(maxsize=1)
def _zone_ranges() -> list[tuple[str, str, str, str]]:
    """Return each row's country, first and last code, and zone, in order."""
    found, country, zone = [], "", ""
    for word in TABLE.split():
        if len(word) == 2:
            country = word
        elif "/" in word:
            zone = word
        else:
            first, _, last = word.partition("-")
            found.append((country, first, last or first, zone))
    return sorted(found)


def of_postcode(country: str, code: str) -> str:
    """Return the zone of a postcode that differs from its state's, or ""."""
    known = code[:3] if country == "CA" else code
    at = bisect.bisect(_zone_ranges(), (country, known, "\uffff"))
    where, first, last, zone = _zone_ranges()[at - 1]
    return zone if where == country and first <= known <= last else ""


def of_country(country: str) -> set[str]:
    """Return every zone of a country's postcodes in the table."""
    return {zone for where, _, _, zone in _zone_ranges() if where == country}
