"""Actions: every change an operator makes needs a reason, happens once, and is in the audit log."""

import re
from collections.abc import Callable
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.labels import fetching
from orders.models import Label, LabelBytes
from shipping_portal.accounts.models import Audit, LocalityAlias, Sender, User
from shipping_portal.carrier.messages import LabelFile
from shipping_portal.refused import Refused
from tests import factories
from tests.pages.typed import text
from tests.staff.conftest import REASON

SUSPENSION = {"category": "terms", "text": "We wrote to you about the terms.", "note": "second time"}


def _act(thing: Any, name: str) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_act", args=[thing.pk, name])


def _last() -> Audit:
    return Audit.objects.latest("pk")


def test_a_sender_is_suspended_with_a_text_and_reinstated_with_a_reason(
    staff: Client, quill: Sender, sam: User
) -> None:
    staff.post(_act(quill, "suspend"), SUSPENSION)
    quill.refresh_from_db()
    assert quill.is_suspended
    assert quill.suspension_text == SUSPENSION["text"]
    assert (_last().action, _last().actor) == ("sender suspended", sam)

    staff.post(_act(quill, "reinstate"), {"reason": REASON})
    quill.refresh_from_db()
    assert not quill.is_suspended
    assert _last().reason == REASON

    assert (_last().action, _last().sender) == ("sender reinstated", quill)


@pytest.mark.parametrize("query", ["owner=nobody", ""])
def test_an_act_leads_back_to_the_list_it_was_opened_from(staff: Client, quill: Sender, query: str) -> None:
    """Working down a queue, the next line is on the page that follows."""
    line, after = factories.charge(None), f"?{query}" if query else ""
    page = staff.get(f"/admin/billing/charge/{after}")
    (link,) = set(re.findall(rf'href="([^"]*/charge/{line.pk}/change/[^"]*)"', unescape(page.content.decode())))
    url = dict(staff.get(link).context["acts"])["Assign to a parcel or sender"]
    form = {"owner": quill.number, "reason": REASON}
    assert staff.post(url, form).url == f"/admin/billing/charge/{after}"


@pytest.mark.parametrize("missing", ["category", "text"])
def test_a_suspension_needs_a_category_and_a_text(staff: Client, quill: Sender, missing: str) -> None:
    page = staff.post(_act(quill, "suspend"), {**SUSPENSION, missing: ""})
    assert page.status_code == 200
    assert page.context["form"].errors[missing]
    quill.refresh_from_db()
    assert not quill.is_suspended


def test_a_second_operator_reads_that_it_is_already_done(staff: Client, quill: Sender) -> None:
    staff.post(_act(quill, "suspend"), SUSPENSION)
    answer = staff.post(_act(quill, "suspend"), SUSPENSION)
    assert answer.status_code == 409
    assert "already been done" in answer.content.decode()
    assert Audit.objects.filter(action="sender suspended").count() == 1


@pytest.mark.parametrize("reason", ["", "because", "         x"])
def test_a_short_reason_is_refused_and_nothing_changes(staff: Client, db: None, reason: str) -> None:
    account = factories.account()
    page = staff.post(_act(account, "pause-bookings"), {"text": "Booking is paused.", "reason": reason})
    assert page.context["form"].errors["reason"]
    account.refresh_from_db()
    assert account.paused_at is None


def test_the_carrier_is_paused_for_everybody_and_resumed(staff: Client, sam: User) -> None:
    account = factories.account()
    staff.post(_act(account, "pause-bookings"), {"text": "Booking is paused.", "reason": REASON})
    account.refresh_from_db()
    assert account.holds_until(timezone.now())
    assert account.pause_text == "Booking is paused."

    staff.post(_act(account, "resume-bookings"), {"reason": REASON})
    account.refresh_from_db()
    assert account.holds_until(timezone.now()) is None
    assert list(Audit.objects.order_by("pk").values_list("action", flat=True)) == [
        "bookings paused",
        "bookings resumed",
    ]


def test_a_stopped_account_can_be_tried_again_at_once(staff: Client, sam: User) -> None:
    account = factories.account()
    account.stop("402 no payment method", timezone.now())
    staff.post(_act(account, "try-now"), {"reason": REASON})
    account.refresh_from_db()
    assert account.take_probe(timezone.now())


def test_a_senders_limits_are_set(staff: Client, quill: Sender) -> None:
    limits = {"bookings_a_day": 5000, "quotes_a_minute": 90, "pickup_days_ahead": 5}
    money = {"money_a_day": "800.50", "unbilled_limit": ""}
    staff.post(_act(quill, "limits"), {**limits, **money, "reason": REASON})
    quill.refresh_from_db()
    assert (quill.bookings_a_day, quill.pickup_days_ahead) == (5000, 5)
    assert (quill.money_a_day, quill.unbilled_limit) == (Decimal("800.50"), None)
    assert "bookings a day 5000, money a day 800.50, unbilled limit none" in _last().reason


def test_a_senders_page_says_how_much_of_its_limits_is_used(staff: Client, quill: Sender) -> None:
    today = timezone.now().astimezone(quill.tzinfo).date()
    Sender.objects.update(counted_on=today, booked_today=7, spent_today="84.56", own_money_a_day=90)
    page = staff.get(f"/admin/accounts/sender/{quill.pk}/change/").content.decode()
    assert "Parcels today: 7 of 2,000" in page
    assert "$84.56 AUD of $25,000.00 AUD; the owner's limit is $90.00 AUD" in page


def test_a_person_is_turned_off_and_on_again(staff: Client, alice: User, bob: User) -> None:
    staff.post(_act(alice, "turn-off"), {"reason": REASON})
    alice.refresh_from_db()
    assert not alice.is_active
    assert (_last().action, _last().subject) == ("account turned off", f"user {alice.pk}")
    assert User.objects.get(pk=bob.pk).is_active
    staff.post(_act(alice, "turn-on"), {"reason": REASON})
    alice.refresh_from_db()
    assert alice.is_active


def test_a_person_is_logged_out_everywhere_and_nobody_else_is(
    staff: Client, visit: Callable[[User], Client], alice: User, bob: User
) -> None:
    at_work, at_home, elsewhere = visit(alice), visit(alice), visit(bob)
    staff.post(_act(alice, "log-out"), {"reason": REASON})
    assert [browser.get("/parcels/").status_code for browser in (at_work, at_home, elsewhere)] == [302, 302, 200]
    assert staff.get("/admin/").status_code == 200
    assert _last().reason == f"2 sessions: {REASON}"
    assert visit(alice).get("/parcels/").status_code == 200


def test_nobody_turns_off_their_own_account(staff: Client, sam: User) -> None:
    page = staff.post(_act(sam, "turn-off"), {"reason": REASON})
    assert "your own account" in page.content.decode()
    sam.refresh_from_db()
    assert sam.is_active


def test_a_lost_second_factor_is_removed_and_the_person_is_emailed(staff: Client, alice: User) -> None:
    factories.second_factor(alice)
    staff.post(_act(alice, "reset-second-factor"), {"reason": REASON})
    assert not alice.authenticator_set.exists()
    assert [message.to for message in mail.outbox] == [[alice.email]]
    assert "reply to this email now" in mail.outbox[0].body
    assert staff.get("/admin/").status_code == 200  # the operator's own is still there


def test_a_label_that_failed_is_queued_again(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    label = Label.objects.create(order=order, size="full", state="failed", tries=12)
    staff.post(_act(label, "fetch-again"), {"reason": REASON})
    label.refresh_from_db()
    assert (label.state, label.tries) == ("pending", 0)
    assert label.due_at <= timezone.now()


def test_a_stored_label_is_never_fetched_again(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    label = Label.objects.create(
        order=order, size="full", state="stored", sha256="0" * 64, length=9, stored_at=timezone.now()
    )
    assert staff.post(_act(label, "fetch-again"), {"reason": REASON}).status_code == 409


def test_before_an_order_is_cancelled_its_operator_sees_whose_it_is_and_what_changes(
    staff: Client, quill: Sender, alice: User
) -> None:
    order = factories.order(quill, alice, status="booked")
    said = text(staff.get(_act(order, "cancel")))
    assert (
        f"Noor Tamsin, {order.receiver_suburb} {order.receiver_postcode} Now After Status Booked Being cancelled"
        in said
    )
    assert f"Charge ${order.total} AUD Credited later" in said


def test_an_actions_page_names_the_sender_it_is_about(staff: Client, quill: Sender, alice: User) -> None:
    label = Label.objects.create(order=factories.order(quill, alice, status="booked"), size="full", state="failed")
    charge = factories.charge(factories.order(quill, alice, status="booked"), amount="4.20")
    for thing, name in ((label, "fetch-again"), (charge, "reverse")):
        assert "Sender: Quill & Co (" in text(staff.get(_act(thing, name)))
    assert "Sender: Quill" not in text(staff.get(_act(quill, "suspend")))


def test_a_wide_table_scrolls_and_not_its_page() -> None:
    for page in (Path(settings.BASE_DIR) / "templates/admin").glob("*.html"):
        source = page.read_text("utf-8")
        if "extends" in source and '<div class="wide"' in source:
            assert "staff{% endblock %}" in source.replace("staff work", "staff"), page.name


def test_a_damaged_label_is_fetched_again(staff: Client, quill: Sender, alice: User) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked"))
    LabelBytes.objects.update(content=b"%PDF-1.4 another label %%EOF")
    with pytest.raises(Label.Damaged):
        label.serve(at=timezone.now())
    staff.post(_act(label, "fetch-again"), {"reason": REASON})
    label.refresh_from_db()
    assert (label.state, label.due_at is not None) == ("pending", True)
    content = b"%PDF-1.4 a label %%EOF"
    fetching.store(label, LabelFile(content, label.sha256), at=timezone.now())
    assert label.serve(at=timezone.now()) == content


def test_a_label_whose_file_was_restored_is_offered_again_without_the_carrier(
    staff: Client, quill: Sender, alice: User
) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked"))
    content = label.intact_bytes()
    LabelBytes.objects.update(content=b"")
    with pytest.raises(Label.Damaged):
        label.serve(at=timezone.now())
    LabelBytes.objects.update(content=content)
    staff.post(_act(label, "fetch-again"), {"reason": REASON})
    label.refresh_from_db()
    assert (label.state, label.problem, label.due_at) == ("stored", "", None)
    assert label.serve(at=timezone.now()) == content


def test_an_alias_is_stored_in_the_lists_spelling(staff: Client, sam: User) -> None:
    staff.post(reverse("admin:accounts_localityalias_add"), {"word": " xy ", "stands_for": "Mount", "reason": REASON})
    alias = LocalityAlias.objects.latest("pk")
    assert (alias.word, alias.stands_for) == ("XY", "MOUNT")
    assert (_last().action, _last().reason) == ("alias saved", f"XY for MOUNT: {REASON}")


def test_an_unknown_action_is_not_found(staff: Client, quill: Sender) -> None:
    assert staff.post(_act(quill, "delete-everything"), {"reason": REASON}).status_code == 404


def test_an_order_offers_no_action_except_resolving(staff: Client, quill: Sender, alice: User) -> None:
    order = factories.order(quill, alice, status="booked")
    page = staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    assert "Resolve" not in page


def test_an_action_on_one_sender_does_not_change_another(staff: Client, quill: Sender, bob: User, sam: User) -> None:
    other = Sender.objects.get(memberships__user=bob)
    before = Sender.objects.filter(pk=other.pk).values().get()
    limits = {"bookings_a_day": 5, "quotes_a_minute": 9, "pickup_days_ahead": 5, "money_a_day": "8"}
    assert staff.post(_act(quill, "limits"), {**limits, "reason": REASON}).status_code == 302
    assert staff.post(_act(quill, "suspend"), SUSPENSION).status_code == 302
    assert Sender.objects.filter(pk=other.pk).values().get() == before
    other.suspend(by=sam, category="terms", text="As for the other.", note="", now=timezone.now())
    assert staff.post(_act(quill, "reinstate"), {"reason": REASON}).status_code == 302
    assert Sender.objects.get(pk=other.pk).suspension_text == "As for the other."


def test_a_sender_is_not_suspended_or_reinstated_without_a_reason(quill: Sender, sam: User) -> None:
    now = timezone.now()
    with pytest.raises(Refused, match="text for the sender"):
        quill.suspend(by=sam, category="terms", text="  ", note="", now=now)
    quill.suspend(by=sam, category="terms", text="We wrote to you.", note="", now=now)
    with pytest.raises(Refused, match="Say why"):
        quill.reinstate(by=sam, reason="  ", now=now)
    assert Sender.objects.get(pk=quill.pk).is_suspended
