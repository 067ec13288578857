"""Whatever a program sends, it gets a problem that says what is wrong, never a 500."""

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.drafting import drafts
from orders.models import Draft, Order
from orders.views.addresses import AddressForm
from shipping_portal.accounts.models import Receiver, Sender, User
from shipping_portal.api import schemas
from shipping_portal.api.gate import MOST_BYTES
from shipping_portal.importing.models import Import
from tests import factories
from tests.api.conftest import PARCEL, V1, Program
from tests.api.test_parcels import problem

pytestmark = pytest.mark.django_db


def raw(program: Program, path: str, body: bytes, *, kind: str = "application/json", method: str = "POST") -> Any:
    headers = {"Authorization": f"Bearer {program.text}", "Idempotency-Key": "k"}
    return Client(raise_request_exception=False).generic(method, V1 + path, body, content_type=kind, headers=headers)


@pytest.mark.parametrize(
    ("body", "kind", "wanted"),
    [
        (b"", "application/json", (422, "invalid")),
        (b"{", "application/json", (400, "bad-request")),
        (b"\xff\xfe", "application/json", (400, "bad-request")),
        (b"[" * 60_000, "application/json", (400, "bad-request")),
        (b'{"receiver_name": "\\ud800"}', "application/json", (400, "bad-request")),
        (b'{"receiver_name": "Ann", "receiver_name": "Bea"}', "application/json", (400, "bad-request")),
        (b"null", "application/json", (422, "invalid")),
        (b"[]", "application/json", (422, "invalid")),
        (b'{"receiver_name": ["a"]}', "application/json", (422, "invalid")),
        (b'{"receiver_name": {"a": 1}}', "application/json", (422, "invalid")),
        (b'{"receiver_name": "a\\u0000b"}', "application/json", (422, "invalid")),
        (b'{"weight_kg": NaN}', "application/json", (422, "invalid")),
        (b'{"weight_kg": 1e400}', "application/json", (422, "invalid")),
        (b'{"weight_kg": ' + b"9" * 5000 + b"}", "application/json", (400, "bad-request")),
        (b"{}" + b" " * MOST_BYTES, "application/json", (413, "too-large")),
        (b"receiver_name=a", "application/x-www-form-urlencoded", (415, "media-type")),
        (b"--x\r\n", "multipart/form-data; boundary=x", (415, "media-type")),
        (b"{}", "text/plain", (415, "media-type")),
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem(
    hers: Program, body: bytes, kind: str, wanted: tuple[int, str]
) -> None:
    assert problem(raw(hers, "/quotes", body, kind=kind)) == wanted
    assert not Draft.objects.exists()


def test_a_compressed_body_is_refused_as_such(hers: Program) -> None:
    for coding in ("gzip", "br"):
        answer = hers.post("/drafts", PARCEL, content_encoding=coding)
        assert (problem(answer), answer.json()["detail"]) == ((415, "media-type"), "Send the body uncompressed.")
    assert problem(hers.post("/imports", {}, content_encoding="gzip")) == (415, "media-type")
    assert hers.post("/drafts", PARCEL, content_encoding="Identity").status_code == 201


@pytest.mark.parametrize("name", ["receiver_name", "weight_kg", "customer_reference"])
@pytest.mark.parametrize("value", [True, False, ["a"], {"a": 1}])
def test_a_value_that_is_no_text_or_number_is_reported_at_its_field(hers: Program, name: str, value: Any) -> None:
    answer = hers.post("/quotes", PARCEL | {name: value})
    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"] == {name: ["Send a text or a number."]}
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/nowhere", (404, "not-found")),
        ("GET", "/parcels/", (404, "not-found")),
        ("GET", "/parcels/x", (404, "not-found")),
        ("DELETE", "/parcels", (405, "method")),
        ("TRACE", "/parcels", (405, "method")),
        ("POST", "/", (405, "method")),
        ("POST", "/openapi.json", (405, "method")),
        ("GET", "/parcels?q=%00", (400, "bad-request")),
        ("GET", "/parcels/%00", (404, "not-found")),
    ],
)
def test_an_unknown_url_or_method_is_a_problem(hers: Program, method: str, path: str, wanted: tuple[int, str]) -> None:
    answer = raw(hers, path, b"", method=method)
    assert problem(answer) == wanted
    assert answer.has_header("Allow") is (wanted[0] == 405)


def test_our_own_error_is_a_problem_with_its_request_id(hers: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("portal_" + "x" * 43)

    monkeypatch.setattr("shipping_portal.api.parcels.page_of_parcels", fail)
    answer = raw(hers, "/parcels", b"", method="GET")
    assert problem(answer) == (500, "fault")
    assert "RuntimeError" not in answer.content.decode()


def test_an_unreachable_database_gives_503_with_a_retry_time(hers: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("shipping_portal.api.parcels.page_of_parcels", fail)
    answer = raw(hers, "/parcels", b"", method="GET")
    assert problem(answer) == (503, "unavailable")
    assert answer["Retry-After"] == "5"


def queries(program: Program, path: str) -> int:
    program.get(path)
    with CaptureQueriesContext(connection) as asked:
        assert program.get(path).status_code == 200
    return len(asked)


def test_a_list_takes_as_many_queries_for_fifty_rows_as_for_one(hers: Program, quill: Sender, alice: User) -> None:
    file = factories.import_file(quill, alice)

    def more(count: int) -> None:
        for number in range(count):
            factories.import_row(quill, alice, file=file)
            order = factories.order(quill, alice, status="booked")
            factories.stored_label(order)
            factories.event(factories.parcel(order))
            factories.draft(quill, alice, order.quote)
            factories.saved_receiver(quill, name=f"Somebody {Order.objects.count()} {number}")

    found = {}
    for count in (1, 9):
        more(count)
        urls = ("/parcels", "/addresses", "/drafts", "/statements", f"/parcels/{Order.objects.latest('pk').uuid}")
        urls += (f"{urls[4]}/tracking", f"/imports/{file.uuid}/rows")
        found[count] = [queries(hers, url) for url in urls]
    assert found[1] == found[9]
    assert max(found[1]) <= 10


def test_the_address_book_uses_the_same_form_as_the_pages(hers: Program, quill: Sender) -> None:
    body = {name: value for name, value in PARCEL.items() if name.startswith("receiver_")} | {"group": "Markets"}
    made = hers.post("/addresses", body)
    assert made.status_code == 201
    row = Receiver.objects.get()
    assert made.json()["id"] == str(row.uuid)
    assert (row.name, row.suburb, row.state, row.group, row.is_saved) == (
        "Noor Tamsin", "HOBART", "TAS", "Markets", True,
    )  # fmt: skip
    again = hers.post("/addresses", body)
    assert problem(again) == (422, "invalid")
    assert "in your address book already" in again.json()["errors"]["receiver_name"][0]
    url = f"/addresses/{row.uuid}"
    wrong = hers.call("PUT", url, body | {"receiver_email": "noor"})
    assert list(wrong.json()["errors"]) == ["receiver_email"]
    assert hers.call("PUT", url, body | {"receiver_line1": "5 Sample Street"}).json()["line1"] == "5 Sample Street"
    assert [one["id"] for one in hers.get("/addresses?q=noor").json()["addresses"]] == [str(row.uuid)]
    assert hers.get("/addresses?group=None").json()["addresses"] == []
    assert hers.call("DELETE", url).status_code == 204
    assert not Receiver.objects.exists()
    assert hers.call("DELETE", url).status_code == 404


def test_a_file_is_accepted_as_on_the_page(hers: Program, settings: Any) -> None:
    content = (
        b"Name,Email,Address 1,Suburb,Postcode,Contents,Weight,Length,Width,Height\n"
        b"Noor Tamsin,noor@example.net,4 Sample Street,Hobart,7000,Mugs,1.2,32,24,11\n"
    )
    made = raw(hers, "/imports?name=monday.csv", content, kind="text/csv")
    assert made.status_code == 201, made.content
    file = Import.objects.get()
    shown = made.json()
    assert (shown["id"], shown["name"], shown["rows"]) == (str(file.uuid), "monday.csv", 1)
    assert hers.get(f"/imports/{file.uuid}").json() == shown
    assert not Order.objects.exists()
    unread = raw(hers, "/imports", b"\x00\x01", kind="text/csv")
    assert problem(unread) == (422, "invalid")
    assert list(unread.json()["errors"]) == ["file"]
    settings.IMPORTS_AN_HOUR = 2
    over = raw(hers, "/imports", content, kind="text/csv")
    assert problem(over) == (429, "limit")
    assert 0 < int(over["Retry-After"]) <= 3600


def test_statements_have_the_sums_of_billing(
    program: Callable[..., Program], bea: User, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    factories.charge(order, "under-declared", "4.13", measured_kg="3.6")
    found = program(bea).get("/statements").json()
    (row,) = found["statements"]
    assert (row["currency"], row["net"], row["size_charges"]) == ("AUD", "4.13", "4.13")
    assert found["next"] is None
    assert problem(program(bea).get("/statements?cursor=x")) == (422, "invalid")


def test_the_schema_is_openapi_3_1_and_open_to_all() -> None:
    schema = Client().get(f"{V1}/openapi.json").json()
    assert schema["openapi"].startswith("3.1.")
    assert schema["servers"] == [{"url": settings.SITE_URL}]
    assert schema["components"]["securitySchemes"] == {"Bearer": {"type": "http", "scheme": "bearer"}}
    assert "receiver_postcode" in schema["components"]["schemas"]["ParcelIn"]["properties"]
    for methods in schema["paths"].values():
        for declared in methods.values():
            assert "application/problem+json" in declared["responses"]["default"]["content"]
            assert declared["summary"]
            assert not declared["summary"].endswith(".")


@pytest.mark.parametrize("country", ["AU", "CA", "US"])
def test_every_form_control_has_a_field_in_the_schema(country: str) -> None:
    sender = factories.sender(country=country)
    factories.pickup_address(sender, email="a@quill.example")
    factories.size(sender, weight_units="lb" if country == "US" else "kg")
    form = drafts.parcel_form(sender)
    # Only people start an order of several parcels: docs/decisions/0060-several-parcels-in-an-order.md.
    assert set(form.fields) - set(schemas.ParcelIn.model_fields) == {"parcels"}
    assert set(AddressForm(sender=sender).fields) - set(schemas.AddressIn.model_fields) == set()


def test_a_page_shows_every_operation_within_our_content_policy() -> None:
    page = Client().get(f"{V1}/")
    schema, text = Client().get(f"{V1}/openapi.json").json(), unescape(page.content.decode())
    for path, methods in schema["paths"].items():
        for method, declared in methods.items():
            assert f"{method.upper()} {path}" in text
            assert declared["summary"].replace("`", "") in text, path
    assert "script-src 'self'" in page["Content-Security-Policy"]
    assert 'id="key-reused"' in text


def test_the_page_says_where_each_parameter_goes() -> None:
    text = " ".join(unescape(Client().get(f"{V1}/").content.decode()).split())
    assert "<code>Idempotency-Key</code></dt> <dd> A header (needed)." in text
    assert "<code>size</code></dt> <dd> In the query." in text
    assert "<code>parcel</code></dt> <dd> In the path (needed)." in text


def test_reading_about_the_api_logs_nobody_out(
    hers: Program, visit: Callable[[User], Client], alice: User, settings: Any
) -> None:
    """In the demo each page has a form, and so sets a cookie for visitors without one."""
    settings.DEMO_BAR = True
    browser = visit(alice)
    page = browser.get(f"{V1}/").content.decode()
    browser.get(f"{V1}/openapi.json")
    browser.get(f"{V1}/parcels", headers={"Authorization": f"Bearer {hers.text}"})
    assert browser.get(f"{V1}/parcels").status_code == 401  # only the cookie counts
    assert browser.get("/settings/").status_code == 200
    assert 'href="/parcels/"' in page


def test_no_operation_sets_a_cookie(hers: Program) -> None:
    assert not hers.get("/parcels").cookies
    assert not Client().get(f"{V1}/parcels").cookies
