"""What is packed on its way to the browser, and what never is (docs/decisions/0010)."""

import gzip
from collections.abc import Callable

import pytest
from django.test import Client

from shipping_portal.accounts.models import Sender, User
from tests import factories

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
TAKES_GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def get(page: Client, address: str, **headers: str) -> tuple[dict[str, str], bytes]:
    """The headers and the bytes of an answer."""
    answer = page.get(address, headers=headers)
    body = b"".join(answer) if answer.streaming else answer.content
    return dict(answer.headers), body


@pytest.mark.parametrize("address", ["/parcels/", "/parcels/new/", "/help/", "/brand/style.css", "/static/site.js"])
def test_pages_styles_and_scripts_are_packed_for_who_takes_it(
    quill: Sender, alice: User, visit: Visit, address: str
) -> None:
    page = visit(alice)
    headers, plain = get(page, address)
    assert "Content-Encoding" not in headers
    headers, packed = get(page, address, **TAKES_GZIP)
    assert headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in headers["Vary"]
    assert len(packed) * 2 < len(plain)
    assert gzip.decompress(packed)[:200] == plain[:200]


def test_the_same_page_has_another_length_each_time(quill: Sender, alice: User, visit: Visit) -> None:
    page = visit(alice)
    assert len({len(page.get("/help/", headers=TAKES_GZIP).content) for _ in range(20)}) > 5


def test_what_holds_a_link_or_a_key_that_acts_goes_plain(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="booked")
    page = visit(alice)
    for address in (f"/orders/{order.uuid}/tracking-page/", "/accounts/2fa/totp/activate/", "/invitation/x/"):
        answer = page.get(address, headers=TAKES_GZIP)
        assert len(answer.content) > 500 or answer.status_code == 302, address
        assert "Content-Encoding" not in answer, address


def test_a_label_goes_byte_for_byte(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="booked")
    label = factories.stored_label(order)
    answer = visit(alice).get(f"/parcels/{order.uuid}/label/{label.size}.pdf", headers=TAKES_GZIP)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer


def test_a_part_of_a_file_counts_the_files_own_bytes(visit: Visit, alice: User) -> None:
    headers, body = get(visit(alice), "/static/portal.css", Range="bytes=0-499", **TAKES_GZIP)
    assert len(body) == 500
    assert "Content-Encoding" not in headers
