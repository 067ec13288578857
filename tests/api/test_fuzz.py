"""Whatever is sent to whichever operation, the answer is one of its schema's, and no fault of ours."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipping_portal.api.reference import openapi
from tests.api.conftest import PARCEL, V1, Program
from tests.api.test_access import OPERATIONS, Operation
from tests.api.test_access import things as things
from tests.savepoints import undone

pytestmark = pytest.mark.django_db
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["", " ", "\x00", "\u202e", "é" * 300, "9" * 40, "2026-13-45", "-1", "💥"]
)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=2)


def fields(operation: Operation) -> list[str]:
    """The fields of an operation's JSON body."""
    declared = openapi()["paths"][V1 + operation[1]][operation[0].lower()]
    content = declared.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return list(openapi()["components"]["schemas"].get(name, {}).get("properties", {}))


def parameters(operation: Operation) -> list[str]:
    declared = openapi()["paths"][V1 + operation[1]][operation[0].lower()]["parameters"]
    return [one["name"] for one in declared if one["in"] == "query"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: " ".join(one[:2]))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_call_is_a_fault(operation: Operation, hers: Program, things: dict[str, Any], data: Any) -> None:
    method, path, _ = operation
    names = fields(operation)
    body: Any = dict(PARCEL) if "receiver_name" in names else {}
    body |= data.draw(st.dictionaries(st.sampled_from(names) | TEXTS, VALUES, max_size=4)) if names else {}
    known = parameters(operation)
    query = data.draw(st.dictionaries(st.sampled_from(known) | TEXTS, TEXTS, max_size=3)) if known else {}
    for name, thing in things.items():
        path = path.replace(f"{{{name}}}", str(getattr(thing, "uuid", "")))
    with undone():
        answer = hers.call(method, f"{path}?{urlencode(query)}", body if names else None, idempotency_key="k")
    assert answer.status_code != 500, answer.content
    if answer.status_code >= 400:
        assert answer["Content-Type"] == "application/problem+json"
        assert json.loads(answer.content)["status"] == answer.status_code
    else:
        declared = openapi()["paths"][V1 + operation[1]][method.lower()]["responses"]
        assert answer.status_code in {int(code) for code in declared if code != "default"}
