"""The webhook's two entry points, its address and the short cut in gunicorn, answer every request the same way.

Only the host name is treated differently (docs/decisions/0030).
"""

from typing import Any

import pytest
from django.conf import settings

from tests.catalogue.pushing import URL, basic, by_its_address, by_the_short_cut, wire
from tracking.models import WebhookDelivery, WebhookTally

pytestmark = pytest.mark.django_db

PAIR = settings.WEBHOOK_SECRETS[0]
SECRET = PAIR.partition(":")[2]
RIGHT, WRONG = basic(PAIR), basic(f"{PAIR}x")
BARE = URL.rstrip("/")

STORED, ASKED, REFUSED, NOWHERE = (200, 1, 0), (401, 0, 0), (404, 0, 1), (404, 0, 0)
ADDRESSES = {
    # by address: what comes of the right pair in the header, of a wrong one, and of none
    URL: (STORED, REFUSED, ASKED),
    BARE: (STORED, REFUSED, ASKED),
    f"{URL}?a=/": (STORED, REFUSED, ASKED),
    f"{URL}{SECRET}/": (STORED, STORED, STORED),
    f"{URL}{SECRET}": (STORED, STORED, STORED),
    f"{URL}%{ord(SECRET[0]):02x}{SECRET[1:]}": (STORED, STORED, STORED),
    f"{URL}{SECRET}x": (REFUSED, REFUSED, REFUSED),
    f"{URL}%0a": (REFUSED, REFUSED, REFUSED),
    f"{URL}%20/": (REFUSED, REFUSED, REFUSED),
    f"{URL}/": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}//": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}/{SECRET}/": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}{SECRET}//": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}{SECRET}/x": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}%2f": (NOWHERE, NOWHERE, NOWHERE),
    f"{URL}a%2f{SECRET}/": (NOWHERE, NOWHERE, NOWHERE),
    f"{BARE}%0a": (NOWHERE, NOWHERE, NOWHERE),
    f"{BARE}x": (NOWHERE, NOWHERE, NOWHERE),
    f"{BARE}x/": (NOWHERE, NOWHERE, NOWHERE),
    "/webhooks//tracking/": (NOWHERE, NOWHERE, NOWHERE),
}
GIVEN = {"right": {"HTTP_AUTHORIZATION": RIGHT}, "wrong": {"HTTP_AUTHORIZATION": WRONG}, "none": {}}


def outcome(way: Any, method: str, url: str, given: dict[str, str], **extra: Any) -> tuple[int, int, int]:
    """Return the status, how many deliveries were stored, and how many refusals were counted."""
    before = (WebhookDelivery.objects.count(), sum(WebhookTally.objects.values_list("count", flat=True)))
    status = way(method, url, wire(), content_type="application/json", **given, **extra).status_code
    after = (WebhookDelivery.objects.count(), sum(WebhookTally.objects.values_list("count", flat=True)))
    return status, after[0] - before[0], after[1] - before[1]


@pytest.mark.parametrize("url", list(ADDRESSES))
def test_both_entry_points_treat_an_address_the_same(url: str) -> None:
    for expected, given in zip(ADDRESSES[url], GIVEN.values(), strict=True):
        found = {way: outcome(way, "POST", url, given) for way in (by_its_address, by_the_short_cut)}
        assert found == dict.fromkeys(found, expected), given


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "post"])
def test_both_entry_points_treat_a_method_the_same(method: str) -> None:
    for url in (URL, BARE, f"{URL}{SECRET}/"):
        found = {way: outcome(way, method, url, GIVEN["right"]) for way in (by_its_address, by_the_short_cut)}
        assert len(set(found.values())) == 1
        assert found[by_its_address] == ((200, 1, 0) if method == "post" else (405, 0, 0))


@pytest.mark.parametrize(
    "extra",
    [{"wsgi.url_scheme": "http"}, {"HTTP_ORIGIN": "https://evil.example"}, {"HTTP_COOKIE": "sessionid=x"},
     {"CONTENT_LENGTH": "99999"}, {"CONTENT_LENGTH": "1"}, {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}],
)  # fmt: skip
def test_both_entry_points_treat_a_header_the_same(extra: dict[str, str]) -> None:
    first, second = (outcome(way, "POST", URL, GIVEN["right"], **extra) for way in (by_its_address, by_the_short_cut))
    assert first == second
