import re

import pytest

from shipping_portal.sandbox import code128
from tests.sandbox.client import AGENT, an_order

SIZES = {"a4": (595.28, 841.89), "cropped": (288, 432)}


def label_url(carrier, size="cropped", **changes):
    labels = carrier.book(an_order(**changes)).json["labels"]
    return {label["size"]: label["url"] for label in labels}[size]


def test_every_symbol_is_eleven_modules_wide_and_the_stop_thirteen():
    widths = [sum(map(int, symbol)) for symbol in code128.WIDTHS]
    assert widths == [11] * 106 + [13]
    assert len(set(code128.WIDTHS)) == 107


def test_the_bars_of_every_symbol_are_an_even_number_of_modules():
    assert all(sum(map(int, symbol[::2])) % 2 == 0 for symbol in code128.WIDTHS[:106])


def test_the_check_symbol_agrees_with_one_worked_out_by_hand():
    # 104 + 1*48 + 2*42 + 3*42 + 4*17 + 5*18 + 6*19 + 7*35 = 879 = 8 * 103 + 55
    assert code128.values("PJJ123C") == [104, 48, 42, 42, 17, 18, 19, 35, 55, 106]


def read_back(modules):
    """Read the bars the way a scanner does: measure the runs, look up each six of them, and verify the check symbol."""
    runs = "".join(str(len(run[0])) for run in re.finditer(r"1+|0+", modules))
    symbols = [runs[place : place + 6] for place in range(0, len(runs) - 7, 6)]
    found = [code128.WIDTHS.index(symbol) for symbol in symbols]
    assert runs[-7:] == "2331112"
    start, *body, check = found
    assert check == (start + sum(place * value for place, value in enumerate(body, 1))) % 103
    return "".join(chr(value + 32) for value in body)


@pytest.mark.parametrize("text", ["SQ7K2M", "S234567", " ~", "A"])
def test_bars_read_back_as_the_reference(text):
    assert read_back(code128.modules(text)) == text


def test_letters_outside_the_set_are_refused():
    with pytest.raises(ValueError, match="set B"):
        code128.modules("é")


@pytest.mark.parametrize("size", SIZES)
def test_a_label_is_a_pdf_page_of_its_size_with_its_bars(carrier, size):
    order = carrier.book().json
    url = {label["size"]: label["url"] for label in order["labels"]}[size]
    answer = carrier.call("GET", url)
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.body.startswith(b"%PDF-1.4")
    assert answer.body.endswith(b"%%EOF\n")
    width, height = SIZES[size]
    assert f"/MediaBox [0 0 {width:g} {height:g}]".encode() in answer.body
    for words in (order["carrier_reference"], "Noor Tamsin", "HOBART TAS 7000", "PORTAL-100234"):
        assert f"({words}".encode() in answer.body or words.encode() in answer.body
    assert read_back(drawn_bars(answer.body)) == order["carrier_reference"]


def drawn_bars(pdf):
    """Return the modules as they are really drawn, from the rectangles with the barcode's height."""
    found = re.findall(rb"([\d.]+) [\d.]+ ([\d.]+) 62\.000 re f", pdf)
    bars = [(float(x), float(width)) for x, width in found]
    left, modules = bars[0][0], ""
    for x, width in bars:
        modules = modules.ljust(round((x - left) / 1.35), "0") + "1" * round(width / 1.35)
    return modules


def test_the_cross_reference_table_points_at_the_objects(carrier):
    pdf = carrier.call("GET", label_url(carrier)).body
    start = int(re.search(rb"startxref\n(\d+)", pdf)[1])
    assert pdf[start:].startswith(b"xref")
    for number, offset in enumerate(re.findall(rb"(\d{10}) 00000 n", pdf), start=1):
        assert pdf[int(offset) :].startswith(b"%d 0 obj" % number)


def test_the_bytes_of_a_label_never_change(open_carrier, tmp_path):
    before = open_carrier(state=tmp_path / "kept")
    url = label_url(before)
    first = before.call("GET", url).body
    assert open_carrier(state=tmp_path / "kept").call("GET", url).body == first


def test_parentheses_and_accents_are_printed_on_the_label(carrier):
    url = label_url(carrier, receiver__contact__name="Zoë (front \\ desk)")
    assert "(Zoë \\(front \\\\ desk\\))".encode("cp1252") in carrier.call("GET", url).body


def test_head_redirects_to_a_link_that_works_without_credentials_for_a_minute(carrier):
    url = label_url(carrier)
    head = carrier.call("HEAD", url)
    assert (head.status, head.body) == (302, b"")
    link = head.headers["location"]
    assert carrier.call("GET", link, headers=AGENT).body == carrier.call("GET", url).body
    carrier.control("settings", clock_offset_seconds=61)
    assert carrier.call("GET", link, headers=AGENT).status == 403


def test_a_link_works_only_for_its_own_label(carrier):
    link = carrier.call("HEAD", label_url(carrier)).headers["location"]
    assert carrier.call("GET", link.replace("cropped.pdf", "a4.pdf"), headers=AGENT).status == 403
    assert carrier.call("GET", label_url(carrier), headers=AGENT).status == 401


def test_labels_are_null_until_they_are_ready(carrier):
    carrier.control("settings", labels_pending_seconds=60)
    order = carrier.book().json
    assert (order["labels"], order["state"]) == (None, "Booking")
    assert carrier.call("GET", f"/orders/{order['order_id']}/labels/a4.pdf").status == 404
    carrier.control("settings", clock_offset_seconds=61)
    assert len(carrier.call("GET", f"/orders/{order['order_id']}").json["labels"]) == 2


@pytest.mark.parametrize(
    ("verb", "shows"),
    [
        ("html", lambda bad, good: bad.startswith(b"<html>")),
        ("truncated", lambda bad, good: good.startswith(bad) and len(bad) < len(good)),
        ("changed", lambda bad, good: bad.startswith(b"%PDF") and bad != good),
    ],
)
def test_a_label_can_arrive_damaged(carrier, verb, shows):
    url = label_url(carrier)
    carrier.control("trouble", operation="label", verb=verb)
    bad, good = carrier.call("GET", url).body, carrier.call("GET", url).body
    assert shows(bad, good)


def test_a_label_link_can_redirect_elsewhere(carrier):
    url = label_url(carrier)
    carrier.control("trouble", operation="label", verb="redirect-elsewhere")
    assert carrier.call("HEAD", url).headers["location"].startswith("http://169.254.169.254/")
