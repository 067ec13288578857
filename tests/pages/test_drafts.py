"""A draft is saved as typed from the first letter on, has its own URL, and is emptied once booked."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.drafting import drafts, sizes
from orders.models import Draft, Order, Quote
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import AT_HOME, BY_SCRIPT, messages_at, text, title, value_of
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]
HALF = {"receiver_name": "Priya Nair", "receiver_postcode": "", "weight_kg": "heavy", "delivery_choice": "signature"}


def save(page: Client, typed: dict[str, Any], **more: Any) -> Any:
    return page.post("/parcels/new/", {"save_draft": "1", **typed}, **more)


def test_a_half_typed_form_is_saved_as_it_is_and_can_be_opened_again(listed: Client) -> None:
    answer = save(listed, HALF)
    draft = Draft.objects.get()
    assert answer["Location"] == f"/parcels/drafts/{draft.uuid}/"
    again = listed.get(answer["Location"])
    assert value_of(again, "receiver_name") == "Priya Nair"
    assert value_of(again, "weight_kg") == "heavy"
    assert value_of(again, "draft") == str(draft.uuid)
    assert re.search(r'value="signature"[^>]* checked', again.content.decode())
    assert messages_at(again, "weight_kg") == []  # no prices were requested yet


def test_the_page_says_when_it_was_saved_in_the_senders_time(listed: Client, quill: Sender) -> None:
    Sender.objects.filter(pk=quill.pk).update(zone="Australia/Perth")
    words = text(save(listed, HALF) and listed.get(f"/parcels/drafts/{Draft.objects.get().uuid}/"))
    clock = Draft.objects.get().updated_at.astimezone(dt.timezone(dt.timedelta(hours=8)))
    assert f"Draft saved {clock.hour % 12 or 12}:{clock:%M}" in words


def test_a_drafts_age_counts_from_its_last_change(quill: Sender, alice: User) -> None:
    made, later = factories.draft(quill, alice), timezone.now() + dt.timedelta(days=29)
    drafts.save(made, HALF, now=later)
    assert Draft.objects.get().updated_at == later


def test_only_the_forms_own_controls_are_saved_each_on_one_line(listed: Client) -> None:
    save(listed, {**HALF, "receiver_line1": "4 Sample\nStreet", "pasted": "a secret", "sender": "7"})
    assert Draft.objects.get().values == {**HALF, "receiver_line1": "4 SampleStreet"}


def test_saving_again_updates_the_same_draft(listed: Client) -> None:
    save(listed, HALF)
    draft = Draft.objects.get()
    save(listed, {**HALF, "receiver_name": "Greta", "draft": str(draft.uuid)})
    assert Draft.objects.get().values["receiver_name"] == "Greta"


def test_the_script_receives_the_draft_and_the_time(listed: Client) -> None:
    answer = listed.post("/parcels/new/", HALF, headers=BY_SCRIPT).json()
    draft = Draft.objects.get()
    assert (answer["draft"], answer["address"]) == (str(draft.uuid), f"/parcels/drafts/{draft.uuid}/")
    assert answer["said"].startswith("Draft saved ")


def edited(listed: Client, edit: str, name: str, **more: Any) -> Any:
    values = {**HALF, "receiver_name": name, "edit": edit, **more}
    return listed.post("/parcels/new/", values, headers=BY_SCRIPT).json()


@pytest.mark.parametrize("saved", [True, False])
def test_a_post_that_arrives_after_a_newer_one_from_its_page_changes_nothing(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    other = factories.draft(quill, alice)
    monkeypatch.setattr(drafts, "MOST", 2 if saved else 1)
    key = {"draft": "6e6d3bbd-2a0c-4a4e-8f2f-3f4b6b4f5a11"}
    edited(listed, "0.25 2", "Priya Nair", **key)
    assert edited(listed, "0.25 1", "Priya", **key)["draft"] == key["draft"]
    draft = Draft.objects.exclude(pk=other.pk).get()
    assert (draft.values["receiver_name"], draft.is_saved) == ("Priya Nair", saved)


@pytest.mark.parametrize(
    ("first", "edit"),
    [("0.25 2", "0.5 1"), ("0.25 2", "0.25 10"), ("0.25 2", ""), ("", ""), ("0.25 x", "0.25 -1"), ("0.25 ٣", "0.25")],
)
def test_a_later_post_or_one_from_another_page_is_saved(listed: Client, first: str, edit: str) -> None:
    edited(listed, edit, "Priya Nair", draft=edited(listed, first, "Priya")["draft"])
    assert Draft.objects.get().values["receiver_name"] == "Priya Nair"


def test_the_sender_is_locked_before_a_draft_that_is_not_saved(quill: Sender, alice: User) -> None:
    made = drafts.begin(quill, alice, HALF, now=timezone.now())
    with CaptureQueriesContext(connection) as asked:
        drafts.save(made, HALF, now=timezone.now())
    tables = [re.findall(r'FROM "(\w+)"', query["sql"])[0] for query in asked if "FROM" in query["sql"]]
    assert tables[0] == "accounts_sender"


def test_another_parcel_stays_when_an_older_save_comes_after_it(listed: Client) -> None:
    key = {"draft": edited(listed, "0.25 1", "Priya Nair")["draft"], "parcels": "1"}
    listed.post("/parcels/new/", {**HALF, **key, "edit": "0.25 3", "add_parcel": ""})
    edited(listed, "0.25 2", "Priya Nair", **key)
    assert Draft.objects.get().values["parcels"] == "2"


def test_asking_for_prices_keeps_what_was_typed_since(carrier: SandboxCarrier, listed: Client) -> None:
    save(listed, HALF)
    draft = Draft.objects.get()
    answer = listed.post("/parcels/new/", {**AT_HOME, "draft": str(draft.uuid)})
    assert answer["Location"] == f"/parcels/drafts/{draft.uuid}/prices/"
    assert Draft.objects.get().values["receiver_line1"] == AT_HOME["receiver_line1"]


def book(page: Client, draft: Draft, quote: Quote, product: str = "STANDARD-PICKUP") -> Any:
    chosen = {"form_token": quote.uuid, "product": product, "pickup_date": ""}
    return page.post(f"/parcels/drafts/{draft.uuid}/prices/book/", chosen)


def test_a_booked_draft_is_empty_and_leads_to_its_parcel(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User
) -> None:
    other, mine = factories.draft(quill, alice), factories.draft(quill, alice)
    page = listed.post(f"/parcels/drafts/{mine.uuid}/", {**AT_HOME, "draft": str(mine.uuid)}, follow=True)
    assert "Prices for Priya Nair" in text(page)
    book(listed, mine, Quote.objects.get())
    mine.refresh_from_db()
    order = Order.objects.get()
    assert (mine.order, mine.values) == (order, {})
    assert list(drafts.listed(alice)) == [other]
    assert listed.get(f"/parcels/drafts/{mine.uuid}/")["Location"] == f"/parcels/{order.uuid}/"
    assert "You booked this parcel." in text(listed.get(f"/parcels/drafts/{mine.uuid}/prices/"))


def test_typing_into_the_form_of_a_booked_parcel_starts_another_draft(
    listed: Client, quill: Sender, alice: User
) -> None:
    mine = factories.draft(quill, alice)
    book(listed, mine, factories.quote(quill, alice))
    answer = listed.post(f"/parcels/drafts/{mine.uuid}/", HALF, headers=BY_SCRIPT).json()
    assert answer["draft"] != str(mine.uuid)
    [other] = drafts.listed(alice)
    assert (str(other.uuid), other.values["receiver_name"]) == (answer["draft"], "Priya Nair")


def test_another_parcel_like_a_booked_one_is_priced_in_its_own_draft(
    carrier: SandboxCarrier, localities: None, listed: Client, quill: Sender, alice: User
) -> None:
    mine, quote = factories.draft(quill, alice), factories.quote(quill, alice)
    Draft.objects.filter(pk=mine.pk).update(quote=quote)
    book(listed, mine, quote)
    answer = listed.post(f"/parcels/drafts/{mine.uuid}/prices/")
    other = Draft.objects.latest("pk")
    assert answer["Location"] == f"/parcels/drafts/{other.uuid}/prices/"
    assert other.quote not in (None, quote)
    assert other.values["receiver_name"] == "Noor Tamsin"


def test_checking_the_prices_again_and_editing_continue_the_draft(
    carrier: SandboxCarrier, listed: Client, quill: Sender, alice: User
) -> None:
    draft = factories.draft(quill, alice)
    page = listed.post(f"/parcels/drafts/{draft.uuid}/", AT_HOME, follow=True)
    assert f'href="/parcels/drafts/{draft.uuid}/">Edit' in page.content.decode()
    edited = listed.get(f"/parcels/drafts/{draft.uuid}/")
    assert value_of(edited, "receiver_line1") == AT_HOME["receiver_line1"]
    before = Quote.objects.get()
    again = listed.post(f"/parcels/drafts/{draft.uuid}/prices/")
    draft.refresh_from_db()
    assert again["Location"] == f"/parcels/drafts/{draft.uuid}/prices/"
    assert draft.quote != before


def test_book_uses_the_price_its_page_showed(listed: Client, quill: Sender, alice: User) -> None:
    shown, newer = factories.quote(quill, alice), factories.quote(quill, alice)
    draft = factories.draft(quill, alice)
    Draft.objects.filter(pk=draft.pk).update(quote=newer)
    book(listed, draft, shown)
    assert Order.objects.get().quote == shown


def test_book_never_uses_another_accounts_quote(listed: Client, quill: Sender, alice: User, bob: User) -> None:
    draft, own = factories.draft(quill, alice), factories.quote(quill, alice)
    Draft.objects.filter(pk=draft.pk).update(quote=own)
    book(listed, draft, factories.quote(bob.membership.sender, bob))
    assert set(Order.objects.values_list("quote", "sender")) == {(own.pk, quill.pk)}


def test_a_refused_booking_keeps_the_draft(listed: Client, quill: Sender, alice: User) -> None:
    draft = factories.draft(quill, alice)
    assert book(listed, draft, factories.quote(quill, alice), product="NO-SUCH").status_code == 422
    assert list(drafts.listed(alice)) == [draft]


def test_two_tabs_make_two_drafts_and_a_form_sent_twice_makes_one(listed: Client) -> None:
    keys = [value_of(listed.get("/parcels/new/"), "draft") for _ in range(2)]
    for key in (*keys, keys[0]):
        save(listed, {**HALF, "draft": key})
    assert sorted(str(one.uuid) for one in Draft.objects.all()) == sorted(keys)


def test_the_unused_part_of_a_paste_is_still_there_after_a_reload(listed: Client) -> None:
    pasted = "Priya Nair\n4 Sample Street\ngate code 42\nBrunswick VIC 3056"
    answer = listed.post("/parcels/new/", {"pasted": pasted, "unpaste": "1"})
    for _ in range(2):
        assert "We didn't use “gate code 42”" in text(listed.get(answer["Location"]))


def test_an_untouched_copy_is_not_listed_and_is_deleted_after_a_day(
    carrier: SandboxCarrier, localities: None, listed: Client, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice)
    address = listed.get(f"/parcels/new/?again={order.uuid}")["Location"]
    listed.post(address, {**AT_HOME, "untouched": "1"}, headers=BY_SCRIPT)
    assert not drafts.listed(alice).exists()
    assert Draft.objects.get().quote
    Draft.objects.update(updated_at=timezone.now() - dt.timedelta(hours=25))
    call_command("retention")
    assert not Draft.objects.exists()


def test_a_copy_that_is_typed_into_is_listed(listed: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice)
    address = listed.get(f"/parcels/new/?again={order.uuid}")["Location"]
    listed.post(address, HALF)
    [draft] = drafts.listed(alice)
    assert (draft.source, draft.origin) == ("copied", order)


def test_untouched_copies_are_limited(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST", 2)
    order, kept = factories.order(quill, alice), factories.draft(quill, alice)
    for _ in range(4):
        listed.get(f"/parcels/new/?again={order.uuid}")
    assert Draft.objects.filter(is_saved=False).count() == 2
    assert list(drafts.listed(alice)) == [kept]


def test_drafts_are_listed_with_continue_and_delete(listed: Client, quill: Sender, alice: User, ana: User) -> None:
    draft = factories.draft(quill, ana)
    page = listed.get("/parcels/?view=drafts")
    words = text(page)
    assert "Priya Nair, Brunswick" in words
    assert f"begun by {ana.get_full_name()}" in words
    assert "Nothing here" not in words
    assert f'href="/parcels/drafts/{draft.uuid}/"' in page.content.decode()
    answer = listed.post(f"/parcels/drafts/{draft.uuid}/delete/")
    assert answer["Location"] == "/parcels/?view=drafts"
    assert not Draft.objects.exists()


def test_another_accounts_draft_is_not_found(quill: Sender, alice: User, bob: User, visit: Visit) -> None:
    draft, stranger = factories.draft(quill, alice), visit(bob)
    assert stranger.get(f"/parcels/drafts/{draft.uuid}/").status_code == 404
    assert stranger.post(f"/parcels/drafts/{draft.uuid}/delete/").status_code == 404
    assert "Priya Nair" not in text(stranger.get("/parcels/?view=drafts"))
    assert stranger.get(f"/parcels/drafts/{draft.uuid}/prices/").status_code == 404
    for address in ("/parcels/new/", f"/parcels/drafts/{draft.uuid}/"):
        typed = {"receiver_name": "Mallory", "draft": str(draft.uuid)}
        assert stranger.post(address, typed).status_code == 404
    draft.refresh_from_db()
    assert draft.values["receiver_name"] == "Priya Nair"


@pytest.mark.parametrize("named", ["nonsense", "", "00000000-0000-4000-8000-000000000000"])
def test_a_deleted_draft_cannot_be_opened(listed: Client, named: str) -> None:
    assert listed.get(f"/parcels/new/?draft={named}").status_code == 404


def test_typing_into_a_deleted_draft_saves_a_new_one(listed: Client) -> None:
    save(listed, {**HALF, "draft": "00000000-0000-4000-8000-000000000000"})
    assert Draft.objects.get().values["receiver_name"] == "Priya Nair"


@pytest.mark.parametrize("role", ["viewer", "bookkeeper"])
def test_those_who_may_not_book_see_no_drafts(quill: Sender, alice: User, visit: Visit, role: str) -> None:
    factories.draft(quill, alice)
    person = factories.user("reader@quill.example")
    factories.member(quill, person, role=role)
    assert "Priya Nair" not in text(visit(person).get("/parcels/?view=drafts"))


def test_drafts_are_limited_and_the_form_stays(
    listed: Client, quill: Sender, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MOST", 1)
    monkeypatch.setattr(drafts, "FULL", drafts.FULL.replace("50", "1"))
    kept = factories.draft(quill, alice)
    answer = save(listed, {**HALF, "receiver_name": "Greta"}, follow=True)
    assert "1 drafts are kept already, so this one wasn't. Delete one first." in text(answer)
    assert value_of(answer, "receiver_name") == "Greta"
    assert listed.post("/parcels/new/", HALF, headers=BY_SCRIPT).json()["is_saved"] is False
    save(listed, {"receiver_name": "Rosa", "draft": str(kept.uuid)})
    assert [draft.values["receiver_name"] for draft in drafts.listed(kept.made_by)] == ["Rosa"]


def test_untouched_drafts_are_deleted_after_a_month(quill: Sender, alice: User) -> None:
    old, young = factories.draft(quill, alice), factories.draft(quill, alice)
    Draft.objects.filter(pk=old.pk).update(updated_at=timezone.now() - dt.timedelta(days=31))
    Draft.objects.filter(pk=young.pk).update(updated_at=timezone.now() - dt.timedelta(days=29))
    call_command("retention")
    assert Draft.objects.get() == young


def test_a_receiver_from_the_address_book_starts_a_parcel_with_the_default_size(listed: Client, quill: Sender) -> None:
    receiver = factories.saved_receiver(quill, name="Greta Lindqvist")
    sizes.make_default(factories.size(quill))
    page = listed.get(f"/parcels/new/?receiver={receiver.uuid}", follow=True)
    assert value_of(page, "receiver_name") == "Greta Lindqvist"
    assert value_of(page, "receiver_email") == receiver.email
    assert value_of(page, "weight_kg") == "1.2"


def test_another_accounts_receiver_starts_nothing(quill: Sender, bob: User, visit: Visit) -> None:
    receiver = factories.saved_receiver(quill)
    for named in (receiver.uuid, "nonsense"):
        assert visit(bob).get(f"/parcels/new/?receiver={named}").status_code == 404


def test_a_saved_draft_has_its_own_title(listed: Client, quill: Sender, alice: User) -> None:
    draft = factories.draft(quill, alice)
    receiver = draft.values["receiver_name"]
    new, saved = (title(listed.get(address)) for address in ("/parcels/new/", f"/parcels/drafts/{draft.uuid}/"))
    assert (receiver in new, receiver in saved) == (False, True)
    assert " to " not in new
