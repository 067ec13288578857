"""Whatever is sent to any operation, the response is one the schema describes."""

import os
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks

from shipping_portal.api.reference import openapi
from tests.api.conftest import Program
from tests.api.test_access import things as things
from tests.savepoints import undone

pytestmark = [pytest.mark.django_db, pytest.mark.full]
# Drawn calls of each operation, other ones each time, after those at the bounds of each field, about a hundred, which are
# always made. A night has 100,000 calls.
EXAMPLES = int(os.environ.get("API_EXAMPLES", "25"))
schema = schemathesis.openapi.from_dict(openapi())
schema.app = WSGIHandler()

# Which data is right is for the forms to say, not for the schema. Who gets in is in test_access. A parameter without a
# name is one too many for the schema, and never arrives.
NOT_HERE = [checks.positive_data_acceptance, checks.ignored_auth, checks.negative_data_rejection]


@pytest.mark.timeout(1200)
@schema.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
def test_responses_follow_the_schema(case: Any, hers: Program, things: Any, kept_connection: None) -> None:
    with undone():
        headers = {"Authorization": f"Bearer {hers.text}", "Accept-Encoding": "identity"}
        case.call_and_validate(headers=headers, excluded_checks=NOT_HERE)
