"""Where a scan was, as one readable line, and the order of scans."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from shipping_portal.accounts.models import Sender, User
from tests import factories
from tracking import timeline


@pytest.mark.parametrize(
    ("given", "line"),
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
def test_a_scans_place_is_the_carriers_with_the_country_spelled_out(
    given: tuple[str, str, str, str], line: str
) -> None:
    assert timeline.place_line(*given) == line


@pytest.mark.django_db
def test_a_late_scan_is_listed_at_its_own_time(quill: Sender, alice: User) -> None:
    parcel, now = factories.parcel(factories.order(quill, alice, status="booked")), timezone.now()
    for hours, word in ((1, "Delivered"), (9, "Pickup"), (5, "Transit")):  # as they came
        at = now - dt.timedelta(hours=hours)
        factories.event(parcel, event_type=word, scan_time=at, received_at=now + dt.timedelta(hours=hours))
    shown = timeline.for_parcel(parcel, ZoneInfo("Australia/Melbourne"))
    assert [details.at for details in shown] == sorted((details.at for details in shown), reverse=True)
