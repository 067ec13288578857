"""A locality list is checked first, activated in one step, and can be rolled back."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from shipping_portal.accounts.address import places
from shipping_portal.accounts.models import LocalityList, User
from tests.staff.conftest import REASON

URL = "/admin/accounts/localitylist/import/"
HOBART_ONLY = b"country,suburb,state,postcode\nAU,HOBART,TAS,7000\n"


def _upload(content: bytes) -> dict[str, Any]:
    return {"file": SimpleUploadedFile("au.csv", content, content_type="text/csv")}


def _checked(staff: Client, content: bytes) -> dict[str, Any]:
    """Return what the page carries over from the check to the import."""
    carried: dict[str, Any] = staff.post(URL, _upload(content)).context["checked"].initial
    return carried


def test_checking_a_file_shows_what_would_change_and_changes_nothing(
    staff: Client, alice: User, localities: None
) -> None:
    page = staff.post(URL, _upload(HOBART_ONLY))
    preview = page.context["previews"][0]
    assert (preview.change.rows, preview.change.added, preview.change.removed) == (1, 0, 4)
    assert [address.suburb for address in preview.stranded] == ["FITZROY"]
    assert "Make sure the file is complete" in page.content.decode()
    assert places.check_pair("AU", "Fitzroy", "3065").place


def test_a_checked_file_is_used_after_confirming(staff: Client, localities: None) -> None:
    answer = staff.post(URL, _checked(staff, HOBART_ONLY) | {"reason": REASON})
    assert answer["Location"] == reverse("admin:accounts_localitylist_changelist")
    assert places.check_pair("AU", "Fitzroy", "3065").place is None
    assert places.check_pair("AU", "Hobart", "7000").place
    assert places.check_pair("US", "Portland", "97205").place


def test_without_a_reason_the_same_check_is_shown_again(staff: Client, localities: None) -> None:
    page = staff.post(URL, _checked(staff, HOBART_ONLY) | {"reason": "because"})
    assert page.context["previews"][0].change.rows == 1
    assert page.context["checked"].errors["reason"]
    assert places.check_pair("AU", "Fitzroy", "3065").place


def test_a_file_other_than_the_checked_one_must_be_chosen_again(staff: Client, localities: None) -> None:
    page = staff.post(URL, {"content": "nonsense", "source": "x", "reason": REASON})
    assert "previews" not in page.context
    assert LocalityList.objects.count() == 3


def test_the_previous_list_can_be_restored(staff: Client, localities: None) -> None:
    before = LocalityList.objects.get(country="AU")
    staff.post(URL, _checked(staff, HOBART_ONLY) | {"reason": REASON})
    act = reverse("admin:accounts_localitylist_act", args=[before.pk, "use-again"])
    staff.post(act, {"reason": REASON})
    assert places.check_pair("AU", "Fitzroy", "3065").place
    assert staff.post(act, {"reason": REASON}).status_code == 409


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"suburb,postcode\nHOBART,7000\n", "missing: country"),
        (b"country,suburb,state,postcode\nXX,HOBART,TAS,7000\n", "Line 2"),
        (b"\xff\xfe", "not UTF-8"),
        (b"country,suburb,state,postcode\n" + b"AU,HOBART,TAS,7000\n" * 120_000, "larger than 2 MB"),
        (b"", "empty"),
    ],
    ids=["columns", "country", "encoding", "size", "empty"],
)
def test_a_file_that_cannot_be_used_is_refused_with_a_reason(
    staff: Client, localities: None, content: bytes, words: str
) -> None:
    page = staff.post(URL, _upload(content))
    assert words in page.content.decode()
    assert "previews" not in page.context
    assert LocalityList.objects.filter(is_active=True).count() == 3
