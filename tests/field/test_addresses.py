"""Names and address lines as shops, spreadsheets and phones write them."""

import pytest

from tests.field.checking import checked, places, ready, receiver, rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


def test_signs_that_nobody_sees_are_gone_before_any_rule(carrier: SandboxCarrier) -> None:
    found = rows(checked("signs_nobody_sees_us.csv", "US"))
    assert ready(found) == set(found)
    assert set(places(found.values())) == {"Los Angeles CA 90012"}
    assert {receiver(row)["phone"] for row in found.values()} == {"(213) 555-0142", ""}
    assert {receiver(row)["email"] for row in found.values()} == {"ann@example.com"}
    fourth, sixth = receiver(found["S4"]), receiver(found["S6"])
    assert (fourth["name"], fourth["line1"], fourth["line2"]) == ("Ann Poe", "5 Sample Rd", "Unit-4")
    assert sixth["name"] == "Ann O’Poe-Lee"
