"""Drafts through the API: saved half-typed, visible to the whole account, and booked."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.drafting import drafts
from orders.drafting.sizes import OFFERED
from orders.models import Draft, Order, Quote
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


MEASURES = ("weight_kg", "length_cm", "width_cm", "height_cm")


def test_a_saved_size_stands_for_the_measures(carrier: SandboxCarrier, hers: Program, quill: Sender) -> None:
    box = factories.size(quill, weight="2.4")
    bare = {name: value for name, value in PARCEL.items() if name not in MEASURES}
    for name in (str(box.uuid), str(box.uuid).upper()):
        assert hers.post("/quotes", bare | {"size": name}).status_code == 201
        assert hers.post("/quotes", PARCEL | {"size": name}).status_code == 201
    assert {asked.details["size"] for asked in Quote.objects.all()} == {str(box.uuid)}


def test_a_rarely_used_size_counts_too(carrier: SandboxCarrier, hers: Program, quill: Sender) -> None:
    """The page shows only the most used ones."""
    for number in range(OFFERED):
        factories.size(quill, name=f"Box {number}")
    rare = factories.size(quill, name="Rare", weight="7")
    bare = {name: value for name, value in PARCEL.items() if name not in MEASURES}
    assert hers.post("/quotes", bare | {"size": str(rare.uuid)}).status_code == 201
    assert Quote.objects.get().details["size"] == str(rare.uuid)


@pytest.mark.parametrize("more", [{}, dict.fromkeys(MEASURES, "")], ids=["with measures", "without"])
@pytest.mark.parametrize("name", ["x", "00000000-0000-0000-0000-000000000001"])
def test_an_unknown_size_is_refused_at_its_field(hers: Program, quill: Sender, name: str, more: Any) -> None:
    factories.size(quill)
    answer = hers.post("/quotes", PARCEL | more | {"size": name})
    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"] == {"size": ["There is no such size."]}
    assert not Draft.objects.exists()


def test_a_size_beside_other_measures_is_refused(hers: Program, quill: Sender) -> None:
    box = factories.size(quill, weight="9.5")
    answer = hers.post("/quotes", PARCEL | {"size": str(box.uuid)})
    assert problem(answer) == (422, "invalid")
    assert answer.json()["errors"] == {"size": ["Its measures are others. Send the size or the measures."]}
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
