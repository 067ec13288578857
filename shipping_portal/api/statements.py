"""Statements: the weeks shown in Billing, for roles that may see money."""

from typing import Any

from shipping_portal.accounts.access import MemberRequest
from shipping_portal.api import schemas
from shipping_portal.api.listed import UNKNOWN
from shipping_portal.api.operations import api_operation
from shipping_portal.api.problems import ApiProblem
from shipping_portal.billing.models import round_cents
from shipping_portal.billing.pages import statements


@api_operation("GET", "/statements", scope="billing:read", answer=schemas.StatementsOut)
def list_statements(request: MemberRequest, cursor: str = "") -> Any:
    """List weekly statements, newest first, one quarter per page."""
    before = statements.week_named(cursor)
    if cursor and before is None:
        raise ApiProblem("invalid", errors={"cursor": UNKNOWN})
    weeks = statements.week_rows(statements.sums_of(request.user, request.sender), before=before)
    money = ("net", *statements.COLUMNS)
    rows = [row | {name: round_cents(row[name]) for name in money} for row in weeks.rows]
    return {"statements": rows, "next": weeks.on}
