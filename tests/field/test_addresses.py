"""Names and address lines the way shops, spreadsheets and phones write them."""

import pytest
from django.utils import timezone

from shipping_portal.importing import checking, row_form
from tests.field.checking import checked, places, problems, ready, receiver, rows
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db


def test_invisible_characters_are_removed_before_any_rule(carrier: SandboxCarrier) -> None:
    found = rows(checked("signs_nobody_sees_us.csv", "US"))
    assert ready(found) == set(found)
    assert set(places(found.values())) == {"Los Angeles CA 90012"}
    assert {receiver(row)["phone"] for row in found.values()} == {"(213) 555-0142", ""}
    assert {receiver(row)["email"] for row in found.values()} == {"ann@example.com"}
    fourth, sixth = receiver(found["S4"]), receiver(found["S6"])
    assert (fourth["name"], fourth["line1"], fourth["line2"]) == ("Ann Poe", "5 Sample Rd", "Unit-4")
    assert sixth["name"] == "Ann O’Poe-Lee"


def test_one_click_confirms_that_a_line_ending_like_its_place_is_the_street(carrier: SandboxCarrier) -> None:
    file = checked("lines_that_end_like_the_place.csv", "US")
    found = rows(file)
    assert ready(found) == {"L1", "L2", "L3", "L4"}
    assert "Leave out “Hartford CT” here" in problems(found["L5"])
    press = {"receiver_line1_is_street": "9 Hartford Ct"}
    assert row_form.save(file, found["L6"], press, alike=True, now=timezone.now()) == 2
    for number in ("L6", "L7"):
        checking.check_row(found[number].pk)
    assert ready(rows(file)) == {"L1", "L2", "L3", "L4", "L6", "L7"}
    assert checking.schedule_check(rows(file)["L6"], {"receiver_line1": "9 Elm St Hartford CT"}, timezone.now())
    checking.check_row(found["L6"].pk)
    assert "L6" not in ready(rows(file))
