"""Requests that no page of ours makes: forged, oversized or misaddressed. They are refused with a proper page."""

import pytest

from orders.models import Order, Quote
from shipping_portal.accounts.models import User
from tests import factories
from tests.catalogue.browsing import FORM, Browser, ListeningCarrier, encoded
from tests.catalogue.rows import rows
from tests.pages.typed import AT_HOME, text

pytestmark = pytest.mark.django_db

NEW = "/parcels/new/"
PARTS = b"--x\r\n%s--x--\r\n"
FIELD = b'Content-Disposition: form-data; name="f%d"\r\n\r\n1\r\n--x\r\n'
FILE = b'Content-Disposition: form-data; name="f%d"; filename="f"\r\n\r\n1\r\n--x\r\n'
MULTIPART = "multipart/form-data; boundary=x"


def nothing_happened(listener: ListeningCarrier) -> bool:
    return not (Quote.objects.exists() or Order.objects.exists() or listener.asked)


@rows(
    "changes, headers",
    ("B31", "no token", {"csrfmiddlewaretoken": ""}, {}),
    ("B31", "a forged token", {"csrfmiddlewaretoken": "x" * 64}, {}),
    ("B31", "a token of another length", {"csrfmiddlewaretoken": "1"}, {}),
    ("B31", "wrong Origin", {}, {"HTTP_ORIGIN": "https://evil.example"}),
    ("B31", "no Origin", {}, {"HTTP_ORIGIN": "null"}),
)
def test_a_forged_post_is_a_403_page(
    alices: Browser, listener: ListeningCarrier, changes: dict[str, str], headers: dict[str, str]
) -> None:
    form = {**AT_HOME, "csrfmiddlewaretoken": alices.token(NEW), **changes}
    answer = alices.send_raw(NEW, encoded(form), **headers)
    assert answer.status_code == 403
    assert "Nothing was booked or changed" in text(answer)
    assert nothing_happened(listener)


@rows(
    "body, content_type",
    ("B33", "2,000 fields", b"&".join(b"f%d=1" % n for n in range(2000)), FORM),
    ("B33", "3 MB", b"receiver_name=" + b"x" * 3_000_000, FORM),
    (
        "B33",
        "3 MB in a file",
        PARTS % (FILE % 0).replace(b"\r\n1\r\n", b"\r\n" + b"x" * 3_000_000 + b"\r\n"),
        MULTIPART,
    ),
    ("B33", "2,000 parts", PARTS % b"".join(FIELD % n for n in range(2000)), MULTIPART),
    ("B33", "200 files", PARTS % b"".join(FILE % n for n in range(200)), MULTIPART),
    ("B33", "a part's headers of 100 kB", PARTS % (b"X: " + b"y" * 100_000 + b"\r\n" + FIELD % 0), MULTIPART),
    ("B33", "parts without a boundary", PARTS % b"", "multipart/form-data"),
    ("B34", "an encoding other than UTF-8", b"receiver_name=+ADw-script+AD4-", f"{FORM}; charset=utf-7"),
    ("B34", "another encoding in parts", PARTS % (FIELD % 0), f"{MULTIPART}; charset=utf-7"),
    ("B34", "an unknown encoding", b"a=1", f"{FORM}; charset=no-such"),
    ("B34", "JSON", b'{"receiver_name": "Priya"}', "application/json"),
    ("B34", "XML", b"<receiver/>", "text/xml"),
    ("B34", "plain text", b"receiver_name=Priya", "text/plain"),
    ("B34", "no type", b"receiver_name=Priya", ""),
)
def test_a_body_that_no_form_sends_is_refused_unread(
    alices: Browser, listener: ListeningCarrier, body: bytes, content_type: str
) -> None:
    token = alices.token(NEW)
    answer = alices.send_raw(NEW, body, content_type=content_type, HTTP_X_CSRFTOKEN=token)
    assert answer.status_code in {400, 415}
    assert "was too large or damaged, so nothing was done with it" in text(answer)
    assert nothing_happened(listener)


@rows("encoding", ("B44", "gzip", "gzip"), ("B44", "deflate", "deflate"), ("B44", "twice", "gzip, gzip"))
def test_a_compressed_body_is_refused(alices: Browser, listener: ListeningCarrier, encoding: str) -> None:
    answer = alices.send(NEW, AT_HOME, HTTP_CONTENT_ENCODING=encoding)
    assert answer.status_code == 415
    assert nothing_happened(listener)


@rows("address", ("B44", "to log in", "/accounts/login/"), ("B33", "to sign up", "/accounts/signup/"))
def test_such_a_body_is_refused_before_logging_in_too(db: None, address: str) -> None:
    browser = Browser()
    compressed = browser.send(address, {"login": "a@b.example"}, HTTP_CONTENT_ENCODING="gzip")
    large = browser.send(address, {"login": "x" * 3_000_000})
    assert (compressed.status_code, large.status_code) == (415, 400)


@rows(
    "host",
    ("B35", "evil.com", "evil.com"),
    ("B35", "two hosts joined", "testserver,evil.com"),
    ("B35", "ours as a prefix", "testserver.evil.com"),
    ("B35", "ours as a user", "testserver@evil.com"),
    ("B35", "with a path", "testserver/evil.com"),
    ("B35", "empty", ""),
)
def test_a_request_for_another_host_is_refused(alices: Browser, host: str) -> None:
    assert alices.get(NEW, HTTP_HOST=host).status_code == 400


ELSEWHERE = {
    "two slashes": "//evil.com",
    "https without slashes": "https:evil",
    "javascript": "javascript:alert(1)",
    "a backslash": "/\\evil.com",
    "three slashes": "///evil.com",
    "a blank in front": " //evil.com",
    "a tab inside": "/\t/evil.com",
    "our name as a user": "http://testserver@evil.com/",
    "data": "data:text/html,x",
    "NUL": "//evil.com\x00",
}


@pytest.mark.usefixtures("quick_hash")
@rows("elsewhere", *(("B36", words, address) for words, address in ELSEWHERE.items()))
def test_the_next_page_is_never_on_another_site(alice: User, elsewhere: str) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    log_in = {"login": alice.email, "password": factories.PASSWORD, "next": elsewhere}
    assert Browser().send("/accounts/login/", log_in)["Location"] == "/today/"
    browser = Browser(alice)
    seen = browser.client.get("/accounts/login/", {"next": elsewhere})
    again = browser.send("/accounts/reauthenticate/", {"password": factories.PASSWORD, "next": elsewhere})
    out = browser.send("/accounts/logout/", {"next": elsewhere})
    for answer in (seen, again, out):
        assert "evil" not in answer.get("Location", "")
        assert answer.get("Location", "/").startswith("/")


@pytest.mark.usefixtures("quick_hash")
@rows(
    "elsewhere", *(("B36", f"staff, {words}", address) for words, address in ELSEWHERE.items() if "\x00" not in address)
)
def test_the_admins_login_redirects_nowhere_else(elsewhere: str, alice: User) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    door = Browser().client.get("/admin/login/", {"next": elsewhere})["Location"]
    answer = Browser().send(door, {"login": alice.email, "password": factories.PASSWORD})
    assert answer["Location"] == "/today/"
