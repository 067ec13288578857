"""What is compressed for the browser, and what never is (docs/decisions/0010)."""

import gzip
import hashlib
from collections.abc import Callable, Iterator

import pytest
from django.test import Client, RequestFactory

from shipping_portal.accounts.models import Sender, User
from shipping_portal.http.middleware import gzip_pages
from shipping_portal.sheets import stream_sheet
from tests import factories

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
TAKES_GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def get(page: Client, address: str, **headers: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and bytes of a response."""
    answer = page.get(address, headers=headers)
    body = b"".join(answer) if answer.streaming else answer.content
    return dict(answer.headers), body


@pytest.mark.parametrize("address", ["/parcels/", "/parcels/new/", "/help/", "/brand/style.css", "/static/site.js"])
def test_pages_styles_and_scripts_are_compressed_for_browsers_that_accept_it(
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


def test_the_same_page_has_a_different_length_each_time(quill: Sender, alice: User, visit: Visit) -> None:
    page = visit(alice)
    assert len({len(page.get("/help/", headers=TAKES_GZIP).content) for _ in range(20)}) > 5


def test_pages_with_a_signed_link_or_a_token_are_not_compressed(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="booked")
    page = visit(alice)
    for address in (f"/orders/{order.uuid}/tracking-page/", "/accounts/2fa/totp/activate/", "/invitation/x/"):
        answer = page.get(address, headers=TAKES_GZIP)
        assert len(answer.content) > 500 or answer.status_code == 302, address
        assert "Content-Encoding" not in answer, address


def test_a_label_is_sent_byte_for_byte(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="booked")
    label = factories.stored_label(order)
    answer = visit(alice).get(f"/parcels/{order.uuid}/label/{label.size}.pdf", headers=TAKES_GZIP)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer


def test_a_list_is_compressed_as_it_is_read(quill: Sender, alice: User, visit: Visit) -> None:
    factories.order(quill, alice, status="booked", receiver_name="Zoë Ångström")
    plain_headers, plain = get(visit(alice), "/parcels/export.csv")
    headers, packed = get(visit(alice), "/parcels/export.csv", **TAKES_GZIP)
    assert headers.pop("Content-Encoding") == "gzip"
    assert gzip.decompress(packed) == plain
    assert "Zoë Ångström" in plain.decode()
    for name in ("Content-Disposition", "Cache-Control", "Content-Type", "Vary"):
        assert headers[name] == plain_headers[name], name


def test_a_long_list_takes_the_memory_of_a_few_rows(rf: RequestFactory) -> None:
    """Rows are made only as they are read, 30 MB in all."""
    asked = []

    def rows() -> Iterator[list[object]]:
        for number in range(30_000):
            asked.append(number)
            yield [number, hashlib.sha256(b"%d" % number).hexdigest() * 16]

    request = rf.get("/parcels/export.csv", headers=TAKES_GZIP)
    answer = gzip_pages(lambda _: stream_sheet("list.csv", ["number", "text"], rows()))(request)
    assert asked == []
    parts = [(len(part), len(asked)) for part in answer]
    assert sum(size for size, _ in parts) > 1_000_000
    assert max(size for size, _ in parts) < 200_000
    assert parts[1][1] < 3_000, "it begins before a tenth is read"


def test_a_part_of_a_file_counts_the_files_own_bytes(visit: Visit, alice: User) -> None:
    headers, body = get(visit(alice), "/static/portal.css", Range="bytes=0-499", **TAKES_GZIP)
    assert len(body) == 500
    assert "Content-Encoding" not in headers
