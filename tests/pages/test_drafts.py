"""A half-typed parcel is kept, gone on with, and gone once it is booked."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from orders.drafting import saved_drafts, sizes
from orders.models import Draft, Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import AT_HOME, messages_at, text, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
HALF = {"receiver_name": "Priya Nair", "receiver_postcode": "", "weight_kg": "heavy", "delivery_choice": "signature"}
BY_SCRIPT = {"Accept": "application/json"}


def save(page: Client, typed: dict[str, Any], **more: Any) -> Any:
    return page.post("/parcels/drafts/", typed, **more)


def test_a_half_typed_form_is_kept_as_it_is_and_opens_again(listed: Client) -> None:
    answer = save(listed, HALF)
    draft = Draft.objects.get()
    assert answer["Location"] == f"/parcels/new/?draft={draft.uuid}"
    again = listed.get(answer["Location"])
    assert value_of(again, "receiver_name") == "Priya Nair"
    assert value_of(again, "weight_kg") == "heavy"
    assert value_of(again, "draft") == str(draft.uuid)
    assert re.search(r'value="signature"[^>]* checked', again.content.decode())
    assert messages_at(again, "weight_kg") == []  # nobody asked for prices yet


def test_the_page_says_when_it_was_saved_by_the_senders_clock(listed: Client, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(zone="Australia/Perth")
    words = text(save(listed, HALF) and listed.get(f"/parcels/new/?draft={Draft.objects.get().uuid}"))
    clock = Draft.objects.get().updated_at.astimezone(dt.timezone(dt.timedelta(hours=8)))
    assert f"Draft saved {clock.hour % 12 or 12}:{clock:%M}" in words


def test_a_draft_that_is_worked_on_is_as_old_as_its_last_change(quill: Sender, alice: User) -> None:
    made, later = factories.draft(quill, alice), timezone.now() + dt.timedelta(days=29)
    saved_drafts.save(quill, alice, HALF, now=later, draft=made)
    assert Draft.objects.get().updated_at == later


def test_only_the_forms_own_controls_are_kept_each_on_one_line(listed: Client) -> None:
    save(listed, {**HALF, "receiver_line1": "4 Sample\nStreet", "pasted": "a secret", "sender": "7"})
    assert Draft.objects.get().values == {**HALF, "receiver_line1": "4 SampleStreet"}


def test_the_same_draft_is_kept_again_rather_than_another(listed: Client) -> None:
    save(listed, HALF)
    draft = Draft.objects.get()
    save(listed, {**HALF, "receiver_name": "Greta", "draft": str(draft.uuid)})
    assert Draft.objects.get().values["receiver_name"] == "Greta"


def test_a_script_is_told_the_draft_and_the_time(listed: Client) -> None:
    answer = save(listed, HALF, headers=BY_SCRIPT).json()
    assert answer["draft"] == str(Draft.objects.get().uuid)
    assert answer["said"].startswith("Draft saved ")


def test_asking_for_prices_keeps_what_was_typed_since(carrier: SandboxCarrier, listed: Client) -> None:
    save(listed, HALF)
    draft = Draft.objects.get()
    answer = listed.post("/parcels/new/", {**AT_HOME, "draft": str(draft.uuid)})
    assert answer["Location"] == f"/parcels/new/{Quote.objects.get().uuid}/?draft={draft.uuid}"
    assert Draft.objects.get().values["receiver_line1"] == AT_HOME["receiver_line1"]


def test_a_booked_parcel_deletes_its_draft_and_no_other(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User
) -> None:
    other, mine = factories.draft(quill, alice), factories.draft(quill, alice)
    page = listed.post("/parcels/new/", {**AT_HOME, "draft": str(mine.uuid)}, follow=True)
    quote = Quote.objects.get()
    assert value_of(page, "draft") == str(mine.uuid)
    chosen = {"form_token": quote.uuid, "product": "STANDARD-PICKUP", "pickup_date": "", "draft": mine.uuid}
    listed.post(f"/parcels/new/{quote.uuid}/book/", chosen)
    assert Order.objects.exists()
    assert Draft.objects.get() == other


def test_a_booked_parcel_deletes_no_draft_of_another_account(
    listed: Client, quill: Sender, alice: User, bob: User
) -> None:
    theirs, quote = factories.draft(bob.membership.sender, bob), factories.quote(quill, alice)
    chosen = {"form_token": quote.uuid, "product": "STANDARD-PICKUP", "pickup_date": "", "draft": theirs.uuid}
    listed.post(f"/parcels/new/{quote.uuid}/book/", chosen)
    assert Order.objects.exists()
    assert Draft.objects.get() == theirs


def test_checking_the_prices_again_and_editing_go_on_with_the_draft(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User
) -> None:
    draft = factories.draft(quill, alice)
    page = listed.post("/parcels/new/", {**AT_HOME, "draft": str(draft.uuid)}, follow=True)
    quote = Quote.objects.get()
    assert f"?quote={quote.uuid}&amp;draft={draft.uuid}" in page.content.decode()
    edited = listed.get(f"/parcels/new/?quote={quote.uuid}&draft={draft.uuid}")
    assert value_of(edited, "draft") == str(draft.uuid)
    again = listed.post(f"/parcels/new/{quote.uuid}/", {"draft": str(draft.uuid)})
    assert again["Location"].endswith(f"?draft={draft.uuid}")


def test_a_refused_booking_keeps_the_draft(listed: Client, quill: Sender, alice: User) -> None:
    draft, quote = factories.draft(quill, alice), factories.quote(quill, alice)
    chosen = {"form_token": quote.uuid, "product": "NO-SUCH", "pickup_date": "", "draft": draft.uuid}
    assert listed.post(f"/parcels/new/{quote.uuid}/book/", chosen).status_code == 422
    assert Draft.objects.get() == draft


def test_drafts_are_listed_with_continue_and_delete(listed: Client, quill: Sender, alice: User, ana: User) -> None:
    draft = factories.draft(quill, ana)
    page = listed.get("/parcels/?view=drafts")
    words = text(page)
    assert "Priya Nair, Brunswick" in words
    assert f"begun by {ana.get_full_name()}" in words
    assert "Nothing here" not in words
    assert f'href="/parcels/new/?draft={draft.uuid}"' in page.content.decode()
    answer = listed.post(f"/parcels/drafts/{draft.uuid}/delete/")
    assert answer["Location"] == "/parcels/?view=drafts"
    assert not Draft.objects.exists()


def test_another_accounts_draft_is_not_there(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    draft, stranger = factories.draft(quill, alice), visit(bob)
    assert stranger.get(f"/parcels/new/?draft={draft.uuid}").status_code == 404
    assert stranger.post(f"/parcels/drafts/{draft.uuid}/delete/").status_code == 404
    assert "Priya Nair" not in text(stranger.get("/parcels/?view=drafts"))
    save(stranger, {"receiver_name": "Mallory", "draft": str(draft.uuid)})
    draft.refresh_from_db()
    assert draft.values["receiver_name"] == "Priya Nair"


@pytest.mark.parametrize("named", ["nonsense", "", "00000000-0000-4000-8000-000000000000"])
def test_a_draft_that_is_gone_cannot_be_opened(listed: Client, named: str) -> None:
    assert listed.get(f"/parcels/new/?draft={named}").status_code == 404


def test_what_is_typed_into_a_draft_that_is_gone_is_kept_as_a_new_one(listed: Client) -> None:
    save(listed, {**HALF, "draft": "00000000-0000-4000-8000-000000000000"})
    assert Draft.objects.get().values["receiver_name"] == "Priya Nair"


@pytest.mark.parametrize("role", ["viewer", "bookkeeper"])
def test_who_may_not_book_sees_no_drafts(quill: Sender, alice: User, visit: Visit, role: str) -> None:
    factories.draft(quill, alice)
    person = factories.user("reader@quill.example")
    factories.member(quill, person, role=role)
    assert "Priya Nair" not in text(visit(person).get("/parcels/?view=drafts"))


def test_an_account_keeps_so_many_drafts_and_the_form_stays(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_drafts, "MOST", 1)
    kept = factories.draft(quill, alice)
    answer = save(listed, {**HALF, "receiver_name": "Greta"})
    assert "1 drafts are kept already, so this one wasn't. Delete one first." in text(answer)
    assert value_of(answer, "receiver_name") == "Greta"
    assert save(listed, HALF, headers=BY_SCRIPT).status_code == 409
    save(listed, {"receiver_name": "Rosa", "draft": str(kept.uuid)})
    assert Draft.objects.get().values["receiver_name"] == "Rosa"


def test_drafts_nobody_touches_go_after_a_month(quill: Sender, alice: User) -> None:
    old, young = factories.draft(quill, alice), factories.draft(quill, alice)
    Draft.objects.filter(pk=old.pk).update(updated_at=timezone.now() - dt.timedelta(days=31))
    Draft.objects.filter(pk=young.pk).update(updated_at=timezone.now() - dt.timedelta(days=29))
    call_command("retention")
    assert Draft.objects.get() == young


def test_a_receiver_of_the_address_book_begins_a_parcel_with_the_default_size(listed: Client, quill: Sender) -> None:
    receiver = factories.saved_receiver(quill, name="Greta Lindqvist")
    sizes.make_default(factories.size(quill))
    page = listed.get(f"/parcels/new/?receiver={receiver.uuid}")
    assert value_of(page, "receiver_name") == "Greta Lindqvist"
    assert value_of(page, "receiver_email") == receiver.email
    assert value_of(page, "weight_kg") == "1.2"


def test_a_strangers_receiver_begins_nothing(quill: Sender, bob: User, visit: Visit) -> None:
    receiver = factories.saved_receiver(quill)
    for named in (receiver.uuid, "nonsense"):
        assert visit(bob).get(f"/parcels/new/?receiver={named}").status_code == 404
