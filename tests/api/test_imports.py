"""Files of parcels through the API: their columns matched, their rows read and corrected. Nothing is booked."""

import json
from typing import Any

import pytest

from orders.models import Label, Order
from shipping_portal.accounts.models import Sender, User
from shipping_portal.importing import checking
from shipping_portal.importing.models import Import, ImportRow
from tests import factories
from tests.api.conftest import Program
from tests.api.test_parcels import problem
from tests.api.test_requests import raw
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
HEADER = "Xyz,Email,Address 1,Suburb,Postcode,Contents,Weight,Length,Width,Height"
GOOD = "Noor Tamsin,noor@example.net,4 Sample Street,Hobart,7000,Mugs,1.2,32,24,11"
BAD = "Ada Tamsin,ada@example.net,5 Sample Street,Hobart,7000,Mugs,heavy,32,24,11"


@pytest.fixture
def url(hers: Program) -> str:
    made = raw(hers, "/imports", "\n".join([HEADER, GOOD, BAD]).encode(), kind="text/csv")
    assert made.status_code == 201, made.content
    return f"/imports/{made.json()['id']}"


def matched(program: Program, url: str) -> Any:
    values = program.get(f"{url}/columns").json()["values"] | {"column_receiver_name": 0}
    return program.call("PUT", f"{url}/columns", {"values": values})


@pytest.fixture
def checked(carrier: SandboxCarrier, hers: Program, url: str) -> str:
    assert matched(hers, url).status_code == 200
    for row in ImportRow.objects.all():
        checking.check_row(row.pk)
    return url


def rows(program: Program, url: str, query: str = "") -> list[dict[str, Any]]:
    return program.get(f"{url}/rows{query}").json()["rows"]  # type: ignore[no-any-return]


def test_columns_are_guessed_and_matched(hers: Program, url: str) -> None:
    assert hers.get(url).json()["state"] == "matching"
    shown = hers.get(f"{url}/columns").json()
    assert shown["header"] == HEADER.split(",")
    assert (shown["values"]["column_receiver_email"], shown["values"]["weight_unit"]) == ("1", "kg")
    assert shown["missing"] == ["column_receiver_name"]
    assert shown["controls"]["column_receiver_name"] == "Name"
    assert not set(shown["values"]) - set(shown["controls"])
    answer = matched(hers, url)
    assert (answer.status_code, answer.json()["state"]) == (200, "checking")
    assert Import.objects.get().columns["receiver_name"] == 0


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ({}, "column_receiver_name"),
        ({"column_receiver_name": 99}, "column_receiver_name"),
        ({"weight_unit": "stone"}, "weight_unit"),
        ({"column_colour": 0}, "column_colour"),
    ],
)
def test_a_wrong_match_is_an_error_on_its_field(hers: Program, url: str, values: dict[str, Any], at: str) -> None:
    answer = hers.call("PUT", f"{url}/columns", {"values": values})
    assert problem(answer) == (422, "invalid")
    assert at in answer.json()["errors"]
    assert Import.objects.get().state == "matching"


def test_columns_are_fixed_while_a_file_is_booked(hers: Program, url: str) -> None:
    Import.objects.update(state="booking")
    assert problem(matched(hers, url)) == (409, "state")


def test_rows_have_their_values_problems_and_prices(hers: Program, checked: str) -> None:
    good, bad = rows(hers, checked)
    assert (good["number"], good["state"], good["problems"]) == (2, "ready", {})
    assert good["price"]["currency"] == "AUD"
    assert float(good["price"]["amount"]) > 0
    assert good["service"]
    assert good["values"]["receiver_name"] == "Noor Tamsin"
    assert (bad["number"], bad["state"], bad["price"]) == (3, "fix", None)
    assert list(bad["problems"]) == ["weight_kg"]
    assert bad["values"]["weight_kg"] == "heavy"
    assert rows(hers, checked, "?state=fix") == [bad]
    for query in ("?state=odd", "?cursor=x", "?colour=red"):
        assert problem(hers.get(f"{checked}/rows{query}")) == (422, "invalid")


def test_a_row_is_corrected_and_checked_at_once(hers: Program, checked: str) -> None:
    wrong = hers.call("PATCH", f"{checked}/rows/3", {"values": {"weight_lb": 2}})
    assert problem(wrong) == (422, "invalid")
    still = hers.call("PATCH", f"{checked}/rows/3", {"values": {"weight_kg": "light"}}).json()
    assert (still["state"], list(still["problems"])) == ("fix", ["weight_kg"])
    right = hers.call("PATCH", f"{checked}/rows/3", {"values": {"weight_kg": 2}}).json()
    assert (right["state"], right["values"]["weight_kg"]) == ("ready", "2")
    assert right["price"]
    assert ImportRow.objects.get(number=3).cells == BAD.split(",")
    assert problem(hers.call("PATCH", f"{checked}/rows/9", {})) == (404, "not-found")
    assert not Order.objects.exists()


def test_a_row_can_be_left_out_and_put_back(hers: Program, checked: str) -> None:
    out = hers.call("PATCH", f"{checked}/rows/2", {"leave_out": True}).json()
    assert (out["state"], out["problems"]) == ("skipped", checking.LEFT_OUT)
    assert hers.call("PATCH", f"{checked}/rows/2", {"anyway": True}).json()["state"] == "ready"


def test_a_rows_values_can_be_sent_back_once_its_unread_text_is_accepted(
    carrier: SandboxCarrier, hers: Program
) -> None:
    content = "\n".join([f"{HEADER},Favourite dog", f"{GOOD},Beagle"]).encode()
    url = f"/imports/{raw(hers, '/imports', content, kind='text/csv').json()['id']}"
    assert matched(hers, url).status_code == 200
    checking.check_row(ImportRow.objects.get().pk)
    (row,) = rows(hers, url)
    assert row["problems"] == {"unread:10": ["“Favourite dog” says “Beagle”, and no field takes it."]}
    accepted = hers.call("PATCH", f"{url}/rows/2", {"anyway": True}).json()
    assert accepted["state"] == "ready"
    again = hers.call("PATCH", f"{url}/rows/2", {"values": accepted["values"]})
    assert (again.status_code, again.json()["state"]) == (200, "ready")


def test_each_state_of_a_row_and_of_a_label_is_in_words_in_the_schema(hers: Program) -> None:
    schemas = hers.get("/openapi.json").json()["components"]["schemas"]
    said = schemas["ImportRowOut"]["properties"]["state"]["description"]
    assert [word for word in ImportRow.State.values if f"{word}: " not in said] == []
    said = schemas["LabelOut"]["properties"]["state"]["description"]
    assert [word for word in Label.State.values if f"{word}: " not in said] == []


@pytest.mark.parametrize("word", ["yes", 1, "true"])
def test_a_row_is_left_out_by_true_alone(hers: Program, checked: str, word: Any) -> None:
    assert list(hers.call("PATCH", f"{checked}/rows/2", {"leave_out": word}).json()["errors"]) == ["leave_out"]
    assert ImportRow.objects.get(number=2).state == "ready"


@pytest.mark.parametrize("more", [{"anyway": True}, {"values": {"weight_kg": 2}}])
def test_a_row_is_left_out_or_corrected_but_not_both(hers: Program, checked: str, more: Any) -> None:
    answer = hers.call("PATCH", f"{checked}/rows/2", {"leave_out": True, **more})
    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"] == {"leave_out": ["Send it without the others."]}
    assert ImportRow.objects.get(number=2).state == "ready"


def test_a_queued_row_cannot_be_left_out(hers: Program, checked: str) -> None:
    ImportRow.objects.filter(number=2).update(state="owed", product_code="STANDARD-PICKUP")
    assert problem(hers.call("PATCH", f"{checked}/rows/2", {"leave_out": True})) == (409, "state")
    assert ImportRow.objects.get(number=2).state == "owed"


def test_every_row_is_on_one_page(hers: Program, quill: Sender, alice: User) -> None:
    file = factories.import_row(quill, alice).file
    more = ({"number": number, "cells": ["x"]} for number in range(3, 122))
    ImportRow.objects.bulk_create(ImportRow(file=file, **row) for row in more)
    seen, cursor, sizes = [], "", []
    while cursor is not None:
        page = hers.get(f"/imports/{file.uuid}/rows?cursor={cursor}").json()
        sizes.append(len(page["rows"]))
        seen += [row["number"] for row in page["rows"]]
        cursor = page["next"]
    assert (sizes, seen) == ([50, 50, 20], list(range(2, 122)))


def test_an_account_without_a_pickup_address_cannot_match_columns(hers: Program, url: str, quill: Sender) -> None:
    quill.pickup_addresses.all().delete()
    assert problem(hers.get(f"{url}/columns")) == (409, "start")
    assert json.loads(hers.get(url).content)["state"] == "matching"
