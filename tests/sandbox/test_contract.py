import copy

import pytest

from shipping_portal.sandbox.contract import DEFAULTS, Contract, ContractError
from shipping_portal.sandbox.paths import Operation
from tests.sandbox.client import AGENT, CREDENTIALS, an_order

OTHER_CARRIER = """
auth = "header:X-Api-Key"
version_header = "X-Version: 7"
partner_field = "partner"
numbers = "number"
cancel_repeatable = false
book = "POST /v2/consignments"
view = "GET /v2/consignment?no={id}"
cancel = "POST /v2/consignments/{id}/void"
track = "GET /v2/trace?ref={reference}"
subscribe = ""
products = "data.offers"
quoted_code = "code"
quoted_price = "cost.total"
quoted_currency = "cost.unit"
order_id = "data.no"
reference = "data.ref"
state = "data.status"
cancelled_word = "VOIDED"
order_key = "client.key"
weight = "kilos"
weight_units = "kilo_units"
length = "l"
width = "w"
height = "h"
dimension_units = "u"
receiver_suburb = "to.town"
labels = "data.papers"
label_url = "href"
label_fetch = "get"
events = "scans"
event_type = "what"
location = "where"
location_suburb = "town"
error_code = "problem.code"
error_text = "problem.text"
error_messages = "problem.fields"

[words]
"scanned at door" = "delivered"
"""
OTHER = {**AGENT, "X-Api-Key": "demo-key", "X-Version": "7"}


@pytest.fixture
def other(open_carrier, tmp_path):
    path = tmp_path / "contract.toml"
    path.write_text(OTHER_CARRIER)
    return open_carrier(dict(Contract.load(path)))


def other_order():
    order = copy.deepcopy(an_order())
    for taken in ("weight", "dimensions", "metadata"):
        del order[taken]
    del order["receiver"]["address"]["suburb"]
    return order | {
        "partner": "PRT-1", "client": {"key": "K-9"}, "kilos": 2.4, "kilo_units": "kg", "l": 32, "w": 24,
        "h": 11, "u": "cm", "to": {"town": "Hobart"},
    }  # fmt: skip


def test_a_carrier_with_other_names_works_the_same(other):
    booked = other.call("POST", "/v2/consignments", other_order(), OTHER)
    assert booked.status == 201
    data = booked.json["data"]
    assert booked.json["client"]["key"] == "K-9"
    seen = other.call("GET", f"/v2/consignment?no={data['no']}", headers=OTHER)
    assert seen.json["data"]["ref"] == data["ref"]
    other.control("scan", reference=data["ref"], progress="delivered", location={"suburb": "Hobart"})
    (event,) = other.call("GET", f"/v2/trace?ref={data['ref']}", headers=OTHER).json["scans"]
    assert (event["what"], event["where"]["town"]) == ("Scanned At Door", "Hobart")
    assert other.call("GET", data["papers"][0]["href"], headers=OTHER).body.startswith(b"%PDF-")
    assert other.call("HEAD", data["papers"][0]["href"], headers=OTHER).status == 405


def test_an_order_is_cancelled_once_with_the_contracts_word(other):
    number = other.call("POST", "/v2/consignments", other_order(), OTHER).json["data"]["no"]
    first, second = (other.call("POST", f"/v2/consignments/{number}/void", headers=OTHER) for _ in range(2))
    assert first.json["data"]["status"] == "VOIDED"
    assert second.status == 422


def test_quotes_and_refusals_are_at_the_contracts_paths(other):
    quoted = other.call("POST", "/products", other_order(), OTHER)
    offer = quoted.json["data"]["offers"][0]
    assert (offer["code"], offer["cost"]["unit"]) == ("STANDARD-DROPOFF", "AUD")
    refused = other.call("POST", "/v2/consignments", other_order() | {"kilos": "2.4"}, OTHER)
    assert refused.json["problem"]["fields"] == {"weight": ["is not a number"]}


def test_operations_the_contract_turns_off_are_not_found(other):
    for method, path in (("POST", "/orders"), ("POST", "/tracking/SFOREIGN1/subscribe")):
        assert other.call(method, path, {}, OTHER).status == 404


def test_the_contracts_credentials_and_version_are_required(other):
    assert other.call("GET", "/ping", headers=OTHER).status == 200
    assert other.call("GET", "/ping", headers={**AGENT, **CREDENTIALS}).status == 401
    assert other.call("GET", "/ping", headers={**AGENT, "X-Api-Key": "demo-key"}).status == 400


@pytest.mark.parametrize(
    ("auth", "headers"), [("bearer", {"Authorization": "Bearer demo-key"}), ("none", {}), ("basic", CREDENTIALS)]
)
def test_each_authentication_scheme_accepts_its_own_credentials(open_carrier, auth, headers):
    carrier = open_carrier({"auth": auth})
    assert carrier.call("GET", "/ping", headers={**AGENT, **headers}).status == 200
    assert carrier.call("GET", "/ping", headers={**AGENT, "Authorization": "Bearer no"}).status == (
        200 if auth == "none" else 401
    )


@pytest.mark.parametrize(
    "line",
    [
        'colour = "red"', "replays = 1", 'replay_hours = "48"', "quote = true", 'numbers = "roman"',
        'auth = "header:"', 'view = "FETCH /orders"', 'view = "GET /orders/{number}"',
        "[words]\nx = 'teleported'", "words = 3", "= 1",
    ],
)  # fmt: skip
def test_an_invalid_file_is_refused_with_a_sentence(tmp_path, line):
    path = tmp_path / "contract.toml"
    path.write_text(line)
    with pytest.raises(ContractError, match=r"\.$"):
        Contract.load(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ContractError, match="cannot be read"):
        Contract.load(tmp_path / "nowhere.toml")


def test_every_default_is_a_valid_value():
    assert dict(Contract(DEFAULTS)) == DEFAULTS


def test_a_placeholder_may_be_in_the_query():
    operation = Operation.parse("GET /trace?ref={reference}&kind=parcel")
    assert operation.match("GET", "/trace", {"ref": "S1", "kind": "parcel"}) == {"reference": "S1"}
    assert operation.match("GET", "/trace", {"ref": "S1", "kind": "pallet"}) is None
    assert operation.match("GET", "/trace", {"kind": "parcel"}) is None
    assert operation.match("POST", "/trace", {"ref": "S1", "kind": "parcel"}) is None
