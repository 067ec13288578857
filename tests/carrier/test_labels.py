"""Fetching a label: byte for byte, from the carrier only, and with credentials sent to nobody else."""

import hashlib
import time

import pytest

from shipping_portal.carrier.errors import AccountStopped, OutcomeUnknown, Rejected
from shipping_portal.carrier.messages import LabelLink

from .conftest import SocketCarrier, reply

PDF = b"%PDF-1.7\nlabel\n%%EOF\n"


def pdf(content=PDF, **headers):
    return reply(200, content, **({"Content_Type": "application/pdf"} | headers))


def link(far_side, path="/orders/1/labels/a4.pdf"):
    return LabelLink("pdf", "a4", f"{far_side.url}{path}")


@pytest.fixture
def files():
    """The host that serves the signed files."""
    server = SocketCarrier()
    yield server
    server.close()


def test_a_redirected_file_is_fetched_without_credentials(client, far_side, files):
    signed = f"{files.url}/labels/a4.pdf?token=abc"
    far_side.answers(reply(302, b"", Location=signed))
    files.answers(pdf())
    got = client({"label_hosts": f"127.0.0.1:{files.port}"}).label(link(far_side))
    assert (got.content, got.sha256) == (PDF, hashlib.sha256(PDF).hexdigest())
    assert (far_side.asked[0].method, "authorization" in far_side.asked[0].headers) == ("HEAD", True)
    assert (files.asked[0].method, files.asked[0].target) == ("GET", "/api/labels/a4.pdf?token=abc")
    assert "authorization" not in files.asked[0].headers
    assert files.asked[0].headers["user-agent"] == "ShippingPortal/1.0 (ops@portal.example)"


def test_a_relative_redirect_stays_with_the_carrier(client, far_side):
    far_side.answers(reply(302, b"", Location="/files/1?token=abc"), pdf())
    assert client().label(link(far_side)).content == PDF
    assert far_side.asked[1].target == "/files/1?token=abc"
    assert "authorization" not in far_side.asked[1].headers


@pytest.mark.parametrize("status", [200, 404, 405])
def test_a_carrier_that_does_not_redirect_a_head_is_sent_a_get(client, far_side, status):
    far_side.answers(reply(status, b""), pdf())
    assert client().label(link(far_side)).content == PDF
    assert [(asked.method, "authorization" in asked.headers) for asked in far_side.asked] == [
        ("HEAD", True),
        ("GET", True),
    ]


def test_the_contract_can_ask_for_a_get_straight_away(client, far_side):
    far_side.answers(pdf(Content_Type="application/octet-stream; x=1"))
    assert client({"label_fetch": "get"}).label(link(far_side)).content == PDF
    assert [asked.method for asked in far_side.asked] == ["GET"]


def test_a_label_on_another_host_is_requested_without_our_key(client, files):
    files.answers(pdf())
    carrier = client({"label_hosts": f"127.0.0.1:{files.port}", "label_fetch": "get"})
    assert carrier.label(link(files)).content == PDF
    assert "authorization" not in files.asked[0].headers


@pytest.mark.parametrize("status", [401, 403])
def test_an_expired_signed_url_does_not_stop_the_account(client, far_side, status):
    far_side.answers(reply(302, b"", Location="/files/1?token=abc"), reply(status, {"error": "expired"}))
    with pytest.raises(OutcomeUnknown):
        client().label(link(far_side))


def test_a_redirect_without_a_location_is_not_a_label(client, far_side):
    far_side.answers(reply(302, b""))
    with pytest.raises(OutcomeUnknown):
        client().label(link(far_side))
    assert len(far_side.asked) == 1


def test_only_one_redirect_is_followed(client, far_side):
    far_side.answers(reply(302, b"", Location="/again"))
    with pytest.raises(OutcomeUnknown):
        client().label(link(far_side))
    assert len(far_side.asked) == 2


def test_a_missing_label_is_a_refusal(client, far_side):
    far_side.answers(reply(404, {"error": "not_found"}))
    with pytest.raises(Rejected) as raised:
        client().label(link(far_side))
    assert raised.value.status == 404


def test_a_refused_key_stops_the_account(client, far_side):
    far_side.answers(reply(401, b""))
    with pytest.raises(AccountStopped):
        client().label(link(far_side))


KINDS = ["APPLICATION/PDF; charset=binary", "binary/octet-stream", "application/force-download", "image/png"]


@pytest.mark.parametrize("kind", [*KINDS, "text/plain", "application/xml", ""])
def test_a_whole_pdf_is_a_label_whatever_its_content_type(client, far_side, kind):
    far_side.answers(pdf(Content_Type=kind))
    assert client({"label_fetch": "get"}).label(link(far_side)).content == PDF


WHOLE = {
    "no last line end": PDF[:-1],
    "NULs behind": PDF + b"\0" * 80_000,
    "blanks behind": PDF + b" \r\n\t\0" * 1_000,
    "padded to the limit": PDF + b"\0" * (10 * 1024 * 1024 - len(PDF)),
    "line ends before": b"\n\n\n" + PDF,
    "a printer's words before": b"\x1b%-12345X@PJL\r\n" + PDF,
    "1,019 bytes before": b"x" * 1019 + PDF,
    "some lines behind": PDF + b"x" * 2042,
    "lines and NULs behind": PDF + b"x" * 2042 + b"\0" * 5_000,
}


@pytest.mark.parametrize("content", WHOLE.values(), ids=WHOLE)
def test_bytes_before_and_after_a_pdf_are_kept(client, far_side, content):
    far_side.answers(pdf(content, Content_Type="binary/octet-stream"))
    got = client({"label_fetch": "get"}).label(link(far_side))
    assert got.content == content
    assert got.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("kind", ["application/pdf", "binary/octet-stream", ""])
@pytest.mark.parametrize(
    "content",
    [
        b"<html><pre>" + PDF + b"</pre>",
        b"\xef\xbb\xbf\r\n <?xml version='1.0'?><label>" + PDF + b"</label>",
        b'{"label": "' + PDF + b'"}',
        b'["' + PDF + b'"]',
        b'"' + PDF + b'"',
    ],
    ids=["HTML", "XML", "JSON", "a list", "a text"],
)
def test_a_page_or_json_that_contains_a_pdf_is_not_a_label(client, far_side, kind, content):
    far_side.answers(pdf(content, Content_Type=kind))
    with pytest.raises(OutcomeUnknown, match="does not begin like a PDF"):
        client({"label_fetch": "get"}).label(link(far_side))


@pytest.mark.parametrize(
    "kind", ["text/html", "Text/HTML; charset=utf-8", "application/json", "application/problem+json"]
)
def test_a_pdf_labelled_as_html_or_json_is_not_a_label(client, far_side, kind):
    far_side.answers(pdf(Content_Type=kind))
    with pytest.raises(OutcomeUnknown, match="not a PDF"):
        client({"label_fetch": "get"}).label(link(far_side))


@pytest.mark.parametrize(
    "answer",
    [
        pdf(b"<html>Sorry</html>", Content_Type="text/html"),
        pdf(b"<html>Sorry</html>"),
        pdf(b""),
        pdf(b"x" * 1020 + PDF),
        pdf(PDF + b"x" * 2043),
        pdf(PDF + b"x" * 2043 + b"\0" * 5_000),
        pdf(b"\0" * 5_000),
        pdf(PDF[: len(PDF) // 2]),  # cut short by the carrier itself, with a length to match
        pdf()[:-3],
        pdf(Content_Length=""),
        pdf(Content_Encoding="gzip"),
        pdf(PDF + b"x" * (10 * 1024 * 1024)),
        pdf().replace(b"200", b"206", 1),
    ],
    ids=[
        "html",
        "html as pdf",
        "empty",
        "late",
        "lines behind",
        "lines and NULs behind",
        "NULs alone",
        "half a file",
        "cut",
        "no length",
        "gzip",
        "too long",
        "partial",
    ],
)
def test_an_incomplete_pdf_is_fetched_again_later(client, far_side, answer):
    far_side.answers(answer)
    with pytest.raises(OutcomeUnknown):
        client({"label_fetch": "get"}).label(link(far_side))


UNSAFE = [
    "http://169.254.169.254/latest",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "https://127.0.0.1@evil.example/",
    "https://evil.example/#127.0.0.1",
    "//evil.example/x",
    "https://[::ffff:169.254.169.254]/",
    "https://2130706433/",
    "https://0x7f.1/",
    "http://localhost.:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.0.0.1:25/",
    "http://127.0.0.1:PORT\\@evil.example/",
    "http://127.0.0.1:PORT/\r\nX-Evil: 1",
    "http://127.0.0.1:PORT/" + "a" * 10_000,
    "https://files.carrier.example.evil.example/",
    "https://files.carrier.example:8443/",
    "http://files.carrier.example/",
    "https://fil\u0435s.carrier.example/",
    "https://files.carrier.example:99999/",
    "",
]


@pytest.mark.parametrize("url", UNSAFE)
def test_a_url_that_is_not_the_carriers_is_never_opened(client, far_side, url):
    far_side.answers(pdf())
    carrier = client({"label_hosts": "files.carrier.example"})
    with pytest.raises(Rejected) as raised:
        carrier.label(LabelLink("pdf", "a4", url.replace("PORT", str(far_side.port))))
    assert (raised.value.status, raised.value.code, far_side.asked) == (0, "unsafe_link", [])


@pytest.mark.parametrize("url", [*(url for url in UNSAFE if url.isprintable()), "https://evil.example/x"])
def test_a_redirect_away_from_the_carrier_is_not_followed(client, far_side, url):
    target = url.replace("PORT", str(far_side.port)).encode("utf-8").decode("latin-1") or "https://evil.example/"
    far_side.answers(reply(302, b"", Location=target))
    with pytest.raises((Rejected, OutcomeUnknown)):
        client({"label_hosts": "files.carrier.example"}).label(link(far_side))
    assert len(far_side.asked) == 1


def test_one_deadline_covers_the_redirect_and_the_file(client, far_side):
    def slow(connection):
        time.sleep(0.3)
        connection.sendall(reply(302, b"", Location="/files/1"))

    far_side.answers(slow)
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        client(deadline=0.45).label(link(far_side))
    assert time.monotonic() - started < 30


def test_the_request_log_never_has_a_labels_url(client, far_side, calls):
    far_side.answers(reply(302, b"", Location="/files/s1gned?token=abc"), pdf())
    client().label(link(far_side))
    assert [(call.operation, call.method, call.path, call.outcome) for call in calls] == [
        ("label", "HEAD", "(label address)", "ok"),
        ("label", "GET", "(label address)", "ok"),
    ]
