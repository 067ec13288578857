"""Drafts through the API: saved half-typed, visible to the whole account, and booked."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.drafting import drafts
from orders.models import Draft, Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.api.conftest import PARCEL, Program
from tests.api.test_parcels import problem
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db
HALF = {"receiver_name": "Noor", "weight_kg": 2.4, "receiver_postcode": "not one"}


def make(program: Program, values: Any = HALF) -> dict[str, Any]:
    answer = program.post("/drafts", values)
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def test_a_half_typed_parcel_is_kept_as_it_was_sent(hers: Program) -> None:
    made = make(hers)
    assert made["values"] == {"receiver_name": "Noor", "weight_kg": "2.4", "receiver_postcode": "not one"}
    assert (made["is_saved"], made["quote"], made["parcel"], made["corrects"]) == (True, None, None, None)
    url = f"/drafts/{made['id']}"
    assert hers.get(url).json() == made
    assert hers.get("/drafts").json() == {"drafts": [made]}
    changed = hers.call("PUT", url, {"receiver_name": "Noor Tamsin"}).json()
    assert (changed["id"], changed["values"]) == (made["id"], {"receiver_name": "Noor Tamsin"})
    assert hers.call("DELETE", url).status_code == 204
    assert problem(hers.get(url)) == (404, "not-found")


def test_a_field_the_account_does_not_have_is_refused(hers: Program) -> None:
    answer = hers.post("/drafts", {"weight_lb": 2})
    assert problem(answer) == (422, "invalid")
    assert list(answer.json()["errors"]) == ["weight_lb"]
    assert not Draft.objects.exists()


def test_a_valid_draft_is_priced_and_booked_once(carrier: SandboxCarrier, hers: Program) -> None:
    made = make(hers)
    url = f"/drafts/{made['id']}"
    wrong = hers.post(f"{url}/quotes")
    assert problem(wrong) == (422, "invalid")
    assert {"receiver_line1", "description"} <= set(wrong.json()["errors"])
    hers.call("PUT", url, PARCEL)
    priced = hers.post(f"{url}/quotes")
    assert priced.status_code == 201
    assert (priced.json()["draft"], hers.get(url).json()["quote"]) == (made["id"], priced.json()["id"])
    assert priced["RateLimit"].startswith('"quotes";')
    booked = hers.book(priced.json(), "one").json()["id"]
    after = hers.get(url).json()
    assert (after["parcel"], after["values"]) == (booked, {})
    assert hers.get("/drafts").json() == {"drafts": []}
    for again in (hers.post(f"{url}/quotes"), hers.call("PUT", url, PARCEL)):
        assert problem(again) == (409, "state")
        assert again.json()["parcel"] == booked
    assert Order.objects.count() == Draft.objects.count() == 1


def test_a_colleagues_draft_belongs_to_the_account(
    hers: Program, program: Callable[..., Program], quill: Sender
) -> None:
    """As on the pages, anybody who may book can continue a draft."""
    made = make(hers)
    colleague = factories.user("cleo@quill.example")
    factories.member(quill, colleague, role="shipper")
    theirs = program(colleague)
    assert theirs.get("/drafts").json() == {"drafts": [made]}
    assert theirs.call("PUT", f"/drafts/{made['id']}", {"receiver_name": "Mine"}).status_code == 200
    assert hers.get(f"/drafts/{made['id']}").json()["values"] == {"receiver_name": "Mine"}


def test_a_draft_from_the_pages_has_only_a_parcels_fields(hers: Program, quill: Sender, alice: User) -> None:
    draft = factories.draft(quill, alice)
    drafts.change(draft, {"unused": ["Ring the bell"], "kept": "x"})
    assert set(hers.get(f"/drafts/{draft.uuid}").json()["values"]) == set(draft.values) - {"unused", "kept"}


def test_a_draft_over_the_limit_is_kept_for_a_day(hers: Program, quill: Sender, alice: User) -> None:
    last = factories.draft(quill, alice)
    Draft.objects.bulk_create(
        Draft(sender=quill, made_by=alice, updated_at=last.updated_at) for _ in range(drafts.MOST - 1)
    )
    assert make(hers)["is_saved"] is False
    assert len(hers.get("/drafts").json()["drafts"]) == drafts.MOST
