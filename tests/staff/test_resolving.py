"""An unclear booking is resolved on one page, once, with a reason, based on what is known."""

import datetime as dt
import html
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.models import Order
from orders.status.transitions import move_to
from shipping_portal.accounts.models import Audit, Notification, Sender, User
from shipping_portal.staff.admin import resolving
from shipping_portal.staff.resolution import case as reconcile
from shipping_portal.staff.resolution import deciding, verifying
from tests import factories, older
from tests.sandbox_carrier import SandboxCarrier
from tests.staff import cases
from tests.staff.conftest import REASON

Unclear = Callable[..., Order]


def _url(order: Order) -> str:
    return reverse("admin:orders_order_resolve", args=[order.pk])


def _decision(name: str, reason: str = REASON, **fields: str) -> dict[str, str]:
    return {"decision": name, **{f"{name}-{field}": text for field, text in {"reason": reason, **fields}.items()}}


@pytest.fixture
def known(carrier: SandboxCarrier, contract: Callable[[str], None]) -> str:
    """A reference the carrier can track, although it shows no orders. If it does: tests/orders/test_adopting.py."""
    contract('view = ""')
    carrier.foreign("SFOUND12345")
    return "SFOUND12345"


def test_the_page_shows_the_history_and_offers_three_decisions(staff: Client, unclear: Unclear) -> None:
    order = unclear()
    order.changes.create(old="booking", new="unconfirmed", at=timezone.now(), reason="reset by peer")
    text = staff.get(_url(order)).content.decode()
    for words in (
        "reset by peer",
        str(order.attempts.get().key),
        "Adopt reference",
        "Resolve as not booked",
        "Keep waiting",
    ):
        assert words in text, words
    assert "Noor Tamsin" not in text


def test_unknown_references_are_proposed_same_postcode_first(staff: Client, unclear: Unclear) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(hours=1))
    for reference, postcode in (("SELSE00001", "2000"), ("SNEAR00001", "3065"), ("SOLDER0001", "3065")):
        parcel = factories.parcel(reference=reference, last_scan_at=timezone.now())
        when = timezone.now() - dt.timedelta(days=9 if reference == "SOLDER0001" else 0)
        factories.event(parcel, postcode=postcode, scan_time=when)
    factories.event(factories.parcel(factories.order(order.sender, order.made_by, status="booked")))
    candidates = staff.get(_url(order)).context["evidence"].candidates
    assert [candidate.reference for candidate in candidates] == ["SNEAR00001", "SELSE00001"]
    assert [candidate.same_postcode for candidate in candidates] == [True, False]


def test_a_proposed_reference_is_picked_with_one_click(staff: Client, unclear: Unclear) -> None:
    order = unclear(seen_reference="STOLD00001")
    link = "?reference=STOLD00001"
    assert link in staff.get(_url(order)).content.decode()
    assert staff.get(_url(order) + link).context["forms"]["adopt"]["reference"].value() == "STOLD00001"


def test_a_reference_from_a_doubtful_reply_is_proposed_first(staff: Client, unclear: Unclear) -> None:
    order = unclear(status="conflict", seen_reference="STOLD00001")
    assert staff.get(_url(order)).context["evidence"].candidates[0].reference == "STOLD00001"


def test_a_reference_found_by_tracking_is_adopted(staff: Client, unclear: Unclear, known: str, sam: User) -> None:
    order = unclear()
    answer = staff.post(_url(order), _decision("adopt", reference=known))
    assert answer["Location"] == reverse("admin:orders_order_change", args=[order.pk])
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("booked", known)
    assert order.changes.latest("pk").by == sam
    assert Audit.objects.get().reason == f"{known}: {REASON} ({verifying.UNCOMPARED})"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("HELLO", "One looks like S7K2QX"),
        ("SNOBODY999", "doesn&#x27;t confirm"),
        ("STEST00000", "Another order already has this reference"),
        ("", "This field is required"),
    ],
)
def test_a_reference_that_cannot_be_right_is_refused(
    staff: Client, unclear: Unclear, known: str, quill: Sender, alice: User, reference: str, words: str
) -> None:
    factories.order(quill, alice, status="booked", carrier_reference="STEST00000")
    order = unclear()
    page = staff.post(_url(order), _decision("adopt", reference=reference))
    assert words in page.content.decode()
    order.refresh_from_db()
    assert order.status == "unconfirmed"


def test_a_booking_the_carrier_does_not_have_is_resolved_as_not_booked(staff: Client, unclear: Unclear) -> None:
    order = unclear()
    staff.post(_url(order), _decision("not_booked"))
    order.refresh_from_db()
    assert order.status == "not_booked"
    assert order.attempts.get().state == "not_created"


def test_keep_waiting_leaves_the_case_open_and_stores_the_reason(staff: Client, unclear: Unclear) -> None:
    order = unclear()
    staff.post(_url(order), _decision("keep_waiting"))
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert (Audit.objects.get().action, Audit.objects.get().reason) == ("kept waiting", REASON)


@pytest.mark.parametrize("decision", ["adopt", "not_booked", "keep_waiting"])
def test_every_decision_needs_a_reason(staff: Client, unclear: Unclear, known: str, decision: str) -> None:
    order = unclear()
    page = staff.post(_url(order), _decision(decision, reason="because", reference=known))
    assert page.context["forms"][decision].errors["reason"]
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert not Audit.objects.exists()


@pytest.mark.parametrize("decision", ["adopt", "not_booked", "keep_waiting"])
def test_a_second_operator_reads_that_it_is_resolved(
    staff: Client, unclear: Unclear, known: str, decision: str
) -> None:
    order = unclear()
    staff.post(_url(order), _decision("not_booked"))
    answer = staff.post(_url(order), _decision(decision, reference=known))
    assert answer.status_code == 409
    assert "already resolved" in answer.content.decode()
    order.refresh_from_db()
    assert order.status == "not_booked"
    assert Audit.objects.count() == 1


def test_two_operators_at_the_same_moment_resolve_an_order_once(
    staff: Client, unclear: Unclear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other operator acts after this page has read the order and before it writes."""
    order = unclear()
    mine = deciding.not_booked

    def after_the_other(seen: Order, **more: Any) -> None:
        mine(Order.objects.get(pk=order.pk), **{**more, "reason": "the other operator was here"})
        mine(seen, **more)

    decision = (resolving.DecisionForm, after_the_other, "")
    monkeypatch.setitem(resolving.DECISIONS, "not_booked", decision)
    page = staff.post(_url(order), _decision("not_booked"))
    assert "already resolved" in page.content.decode()
    assert Audit.objects.count() == 1


def test_an_operator_without_the_permission_cannot_open_a_case(
    operator: Callable[[str], Client], unclear: Unclear
) -> None:
    assert operator("Read-only").get(_url(unclear())).status_code == 403


def test_an_unknown_order_is_not_found(staff: Client) -> None:
    assert staff.get(reverse("admin:orders_order_resolve", args=[999])).status_code == 404


def test_the_orders_page_links_to_the_decision(staff: Client, unclear: Unclear) -> None:
    order = unclear()
    page = staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    assert _url(order) in page


def call(order: Order, at: dt.datetime, milliseconds: int, **fields: Any) -> None:
    values = {"operation": "book", "method": "POST", "path": "/orders", "outcome": "unknown", **fields}
    order.calls.create(at=at, milliseconds=milliseconds, **values)


def test_the_history_is_one_list_from_the_order_to_the_last_decision(
    staff: Client, unclear: Unclear, sam: User
) -> None:
    began = timezone.now() - dt.timedelta(hours=1)

    def after(seconds: float) -> dt.datetime:
        return began + dt.timedelta(seconds=seconds)

    order = unclear(sent_at=began, done_at=after(1), http_status=502, replays=1)
    call(order, after(0.9), 800, status=502)
    order.changes.create(old="booking", new="unconfirmed", at=after(1.1), reason="HTTP 502")
    call(order, after(6), 500)
    call(order, after(9), 100, operation="track", outcome="ok", status=200)
    Audit.write("kept waiting", order, by=sam, at=after(60), reason=REASON)
    story = [(step.words, step.detail) for step in reconcile.gather_evidence(order).steps]
    assert [words for words, _ in story] == [
        "Attempt 1 written down",
        "Attempt 1 sent",
        "No answer we can trust",
        "Attempt 1: outcome unknown",
        "Booking → Checking with the carrier",
        "Attempt 1 sent again under the same key, replay 1",
        "No answer we can trust",
        "Track: the carrier answered",
        "Kept waiting",
    ]
    details = [detail for _, detail in story]
    assert str(order.attempts.get().key) in details[0]
    assert details[2] == "HTTP 502, after 0.8 s"
    assert "the connection closed before the answer, HTTP 502, after 1.0 s" in details[3]
    assert details[6] == "no HTTP status, after 0.5 s"
    assert details[8] == f"{REASON} – sam@portal.example"


def test_the_page_takes_the_same_number_of_queries_however_much_is_known(staff: Client, unclear: Unclear) -> None:
    order, found = unclear(), []
    for more in (1, 12):
        for number in range(more):
            parcel = factories.parcel(last_scan_at=timezone.now(), reference=f"SMANY{more:02}{number:03}")
            factories.event(parcel)
            call(order, timezone.now(), 100)
            Audit.write("kept waiting", order, by=order.made_by, at=timezone.now(), reason=REASON)
            order.changes.create(old="booking", new="unconfirmed", at=timezone.now(), reason="-", by=order.made_by)
        staff.get(_url(order))
        with CaptureQueriesContext(connection) as seen:
            assert len(staff.get(_url(order)).context["evidence"].candidates) >= more
        found.append(len(seen))
    assert found[0] == found[1]


# -- Which reference it may be -------------------------------------------------------------------


def scanned(reference: str, postcode: str = "3065", **fields: Any) -> None:
    """An unknown reference that was scanned just now."""
    parcel = factories.parcel(reference=reference, last_scan_at=timezone.now())
    factories.event(parcel, postcode=postcode, **fields)


def test_every_candidate_has_a_reason(unclear: Unclear) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(minutes=5), seen_reference="STOLD00001")
    scanned("SSTART0001", "3065")
    scanned("SENDS00001", "7000")
    scanned("SELSE00001", "2000")
    whys = {candidate.reference: candidate.why for candidate in reconcile.gather_evidence(order).candidates}
    assert whys["STOLD00001"].startswith("The carrier's answer to attempt 1 named it, and was not trusted: ")
    assert whys["SSTART0001"] == "Scanned where this parcel starts"
    assert whys["SENDS00001"] == "Scanned where this parcel ends"
    assert whys["SELSE00001"] == "Scanned after this attempt, elsewhere"


def test_of_two_candidates_at_one_place_the_one_scanned_first_comes_first(unclear: Unclear) -> None:
    now = timezone.now()
    order = unclear(sent_at=now - dt.timedelta(hours=3))
    scanned("SLATER0001", scan_time=now - dt.timedelta(hours=1))
    scanned("SSOON00001", scan_time=now - dt.timedelta(hours=2))
    found = [candidate.reference for candidate in reconcile.gather_evidence(order).candidates]
    assert found == ["SSOON00001", "SLATER0001"]


def test_a_reference_that_was_named_and_scanned_is_one_candidate(unclear: Unclear) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(minutes=5), seen_reference="STOLD00001")
    scanned("STOLD00001")
    [candidate] = reconcile.gather_evidence(order).candidates
    assert (candidate.was_named, candidate.places) == (True, "Fitzroy 3065")
    assert candidate.first_scan_at


def test_references_of_another_account_are_not_offered(unclear: Unclear, settings: Any) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(minutes=5))
    scanned("SMINE00001")
    settings.CARRIER_ACCOUNT = "another-account"
    scanned("SNEAR00001")
    assert [one.reference for one in reconcile.gather_evidence(order).candidates] == ["SMINE00001"]


def test_a_single_likely_reference_is_filled_in(staff: Client, unclear: Unclear) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(minutes=5))
    scanned("SELSE00001", "2000")
    assert staff.get(_url(order)).context["forms"]["adopt"]["reference"].value() == ""
    scanned("SNEAR00001")
    assert staff.get(_url(order)).context["forms"]["adopt"]["reference"].value() == "SNEAR00001"
    scanned("SNEAR00002")
    assert staff.get(_url(order)).context["forms"]["adopt"]["reference"].value() == ""


def test_contradictory_replies_are_shown_together_and_none_is_filled_in(staff: Client, unclear: Unclear) -> None:
    order = unclear(status="conflict", state="not_created", seen_reference="SLATE00001")
    first = order.attempts.get()
    order.attempts.create(
        generation=2,
        seen_reference="SOTHER0001",
        **{name: getattr(first, name) for name in ("body", "body_sha256", "state", "lease_until", "sent_at")},
    )
    page = staff.get(_url(order))
    text = page.content.decode()
    assert "Compare references" in text
    assert ("?reference=SLATE00001" in text, "?reference=SOTHER0001" in text) == (True, True)
    assert page.context["forms"]["adopt"]["reference"].value() == ""


def test_another_orders_reference_is_shown_with_that_order_and_not_offered(
    staff: Client, unclear: Unclear, quill: Sender, alice: User
) -> None:
    other = factories.order(quill, alice, status="booked", carrier_reference="STAKEN0001")
    order = unclear(status="conflict", seen_reference="STAKEN0001")
    text = staff.get(_url(order)).content.decode()
    assert f"order {other.pk}" in text
    assert "?reference=STAKEN0001" not in text


def test_a_typed_reference_is_adopted_as_its_scans_spell_it(
    staff: Client, unclear: Unclear, carrier: SandboxCarrier, contract: Callable[[str], None]
) -> None:
    contract('view = ""')
    carrier.foreign("Smixed12345")
    scanned("Smixed12345")
    order = unclear()
    staff.post(_url(order), _decision("adopt", reference="smixed12345"))
    order.refresh_from_db()
    assert order.carrier_reference == "Smixed12345"


def test_a_reference_seen_before_the_booking_was_sent_is_neither_offered_nor_accepted(
    staff: Client, unclear: Unclear
) -> None:
    """A past bug: an order made at 11:43:51 was offered a parcel first scanned at 11:29."""
    sent, received = timezone.now(), timezone.now() - dt.timedelta(minutes=14)
    order = unclear(sent_at=sent, seen_reference="STOLD00001")
    for reference in ("STOOEARLY1", "STOLD00001"):
        parcel = factories.parcel(reference=reference, last_scan_at=received)
        type(parcel).objects.update(created_at=received)
        factories.event(parcel, scan_time=received)
    page = staff.get(_url(order))
    [named] = page.context["evidence"].candidates
    assert (named.reference, named.is_strong, page.context["evidence"].likeliest) == ("STOLD00001", False, "")
    assert "?reference=" not in page.content.decode()
    for reference in ("STOOEARLY1", "stold00001"):
        page = staff.post(_url(order), _decision("adopt", reference=reference, carrier_order_id="id-1"))
        assert "belongs to another parcel: we first saw this reference at" in page.content.decode()
    order.refresh_from_db()
    assert order.status == "unconfirmed"


def test_a_watched_reference_counts_as_known_from_when_it_was_watched(
    staff: Client, unclear: Unclear, quill: Sender, alice: User
) -> None:
    order, watch = unclear(), factories.watch(quill, alice, reference="SWATCHED01")
    type(watch.parcel).objects.update(created_at=timezone.now() - dt.timedelta(hours=1))
    page = staff.post(_url(order), _decision("adopt", reference="SWATCHED01", carrier_order_id="id-1"))
    assert "belongs to another parcel" in page.content.decode()


def test_an_order_without_an_attempt_is_offered_references_from_when_it_was_made(
    staff: Client, quill: Sender, alice: User
) -> None:
    """This happens after restoring a backup: nothing says when the order was sent."""
    made = timezone.now() - dt.timedelta(hours=3)
    order = factories.order(quill, alice, status="unconfirmed", created_at=made)
    # The last one was watched before any scan of it came.
    for reference, known, scan in (("SSINCE0001", 5, 5), ("SBEFORE001", -5, -5), ("SWATCHED01", -5, 5)):
        when = made + dt.timedelta(minutes=scan)
        parcel = factories.parcel(reference=reference, last_scan_at=when)
        type(parcel).objects.filter(pk=parcel.pk).update(created_at=made + dt.timedelta(minutes=known))
        factories.event(parcel, scan_time=when)
    evidence = staff.get(_url(order)).context["evidence"]
    assert [candidate.reference for candidate in evidence.candidates] == ["SSINCE0001"]
    assert order.order_key() in evidence.support_text


NAMES: dict[str, Callable[[Order], bytes]] = {
    "order key": lambda order: b'{"metadata": {"portal_order": "%s"}}' % order.order_key().encode(),
    "customer reference": lambda order: b'{"customer_reference": "%s"}' % order.customer_reference.encode(),
}


@pytest.mark.parametrize(
    ("name", "where"),
    [("order key", "a scan"), ("customer reference", "a scan"), ("customer reference", "a line of the bill")],
)
def test_the_reference_with_our_key_at_the_carrier_comes_first_and_says_so(
    unclear: Unclear, quill: Sender, alice: User, name: str, where: str
) -> None:
    order, other = unclear(), unclear()
    Order.objects.filter(pk=order.pk).update(customer_reference="unk-1")
    Order.objects.filter(pk=other.pk).update(customer_reference="unk-2")
    order.refresh_from_db()
    other.refresh_from_db()
    for reference, named in (("SAPLAIN001", None), ("SOTHERS001", other), ("SITSOWN001", order)):
        raw = NAMES[name](named) if named and where == "a scan" else b"{}"
        scanned(reference, raw=raw)
        if named and where != "a scan":
            lines = {"day": timezone.now().date(), "customer_reference": named.customer_reference.upper()}
            factories.charge(None, reference=reference, **lines)
    for case, own, anothers in ((order, "SITSOWN001", "SOTHERS001"), (other, "SOTHERS001", "SITSOWN001")):
        found = reconcile.gather_evidence(case)
        first, *rest = found.candidates
        assert (first.reference, found.likeliest) == (own, own)
        assert first.is_its_own.startswith(f"The carrier has it under {'our' if 'key' in name else 'the'} {name}")
        assert [candidate.reference for candidate in rest] == ["SAPLAIN001"]
        assert anothers not in {candidate.reference for candidate in found.candidates}


def test_an_unknown_customer_reference_decides_nothing(unclear: Unclear) -> None:
    order = unclear()
    scanned("SPLAIN0001", raw=b'{"customer_reference": "the carrier wrote this"}')
    [candidate] = reconcile.gather_evidence(order).candidates
    assert (candidate.is_its_own, candidate.same_postcode) == ("", True)


# -- What the sender reads, and for how long -------------------------------


@pytest.mark.parametrize(
    ("minutes", "level", "word"),
    [(0, "new", "New"), (14, "new", "New"), (15, "late", "Late"), (119, "late", "Late"), (120, "overdue", "Overdue")],
)
def test_the_age_is_shown_in_words_and_by_a_colour(minutes: int, level: str, word: str) -> None:
    now = timezone.now()
    age = reconcile.case_age(now - dt.timedelta(minutes=minutes), now)
    assert (age.level, age.words.split(":")[0]) == (level, word)


def test_a_cases_age_counts_from_when_it_became_unclear_not_from_the_booking(unclear: Unclear) -> None:
    now = timezone.now()
    order = unclear(status="conflict", sent_at=now - dt.timedelta(days=1))
    assert reconcile.gather_evidence(order).age.level == "overdue"
    for old, new, hours in (("booking", "unconfirmed", 24), ("unconfirmed", "not_booked", 23)):
        order.changes.create(old=old, new=new, at=now - dt.timedelta(hours=hours), reason="-")
    order.changes.create(old="not_booked", new="conflict", at=now - dt.timedelta(minutes=1), reason="-")
    assert reconcile.gather_evidence(Order.objects.get(pk=order.pk)).age.level == "new"


def reads(browser: Client, order: Order) -> str:
    """Return the text of the sender's page of a parcel."""
    page = browser.get(reverse("parcel", args=[order.uuid])).content.decode()
    return " ".join(html.unescape(page).split())


@pytest.mark.parametrize("status", ["unconfirmed", "conflict"])
@pytest.mark.parametrize("decision", ["adopt", "not_booked"])
def test_the_admin_quotes_exactly_what_the_sender_reads_now_and_later(
    staff: Client,
    unclear: Unclear,
    known: str,
    visit: Callable[[User], Client],
    alice: User,
    status: str,
    decision: str,
) -> None:
    order, sender = unclear(status=status), visit(alice)
    evidence = staff.get(_url(order)).context["evidence"]
    assert html.unescape(evidence.reads_now.sentence) in reads(sender, order)
    staff.post(_url(order), _decision(decision, reference=known))
    promised = {"adopt": evidence.reads_if_adopted, "not_booked": evidence.reads_if_not_booked}[decision]
    assert html.unescape(promised.sentence) in reads(sender, order)
    assert promised.chip in reads(sender, order)


def test_the_text_for_the_carriers_support_has_every_detail_but_no_names(unclear: Unclear) -> None:
    body = b'{"metadata": {"portal_order_key": "the-key"}, "receiver": {"contact": {"name": "Noor Tamsin"}}}'
    error = "reset by peer, ask noor.tamsin@example.net"
    order = unclear(body=body, error=error, http_status=502, seen_reference="STOLD00001")
    text = reconcile.gather_evidence(order).support_text
    attempt = order.attempts.get()
    for wanted in (
        "HTTP 502",
        "reset by peer",
        "STOLD00001",
        str(attempt.key),
        f"{attempt.sent_at:%-d %b %Y, %H:%M:%S} UTC",
    ):
        assert wanted in text, wanted
    receiver = (order.receiver_name, order.receiver_email, order.receiver_line1, order.receiver_phone)
    assert not [personal for personal in (*receiver, *order.pickup.values()) if personal and personal in text]


def test_a_decision_about_an_earlier_attempt_changes_nothing(staff: Client, unclear: Unclear) -> None:
    """While the page was open, another operator resolved the order and the sender booked it again, with no clear reply."""
    order = unclear(state="not_created")
    shown = staff.get(_url(order)).context["evidence"].last_attempt
    first = order.attempts.get()
    order.attempts.create(
        generation=2,
        state="unknown",
        **{name: getattr(first, name) for name in ("body", "body_sha256", "lease_until", "sent_at")},
    )
    answer = staff.post(_url(order), {**_decision("not_booked"), "attempt": shown})
    assert answer.status_code == 409
    assert "newer attempt than the one you saw" in answer.content.decode()
    order.refresh_from_db()
    assert order.status == "unconfirmed"
    assert not Audit.objects.exists()


def test_the_list_links_straight_to_the_decision(staff: Client, unclear: Unclear, operator: Any) -> None:
    order = unclear()
    url = reverse("admin:orders_order_changelist") + "?needs=unconfirmed"
    assert _url(order) in staff.get(url).content.decode()
    assert _url(order) not in operator("Read-only").get(url).content.decode()


def test_an_adopted_order_without_the_carriers_order_id_needs_one(
    staff: Client, unclear: Unclear, known: str, settings: Any
) -> None:
    order = unclear()
    act = reverse("admin:orders_order_act", args=[order.pk, "add-order-id"])
    page = reverse("admin:orders_order_change", args=[order.pk])
    assert act not in staff.get(page).content.decode()
    staff.post(_url(order), _decision("adopt", reference=known))
    assert act in staff.get(page).content.decode()
    settings.CARRIER_CONTRACT = ""  # the contract file now says how orders are viewed
    answer = staff.post(act, {"carrier_order_id": "no-such-id", "reason": REASON})
    assert "doesn&#x27;t confirm this order ID" in answer.content.decode()


@pytest.mark.parametrize(
    ("toml", "words", "but"),
    [
        ("", "must show our order key", "Compare the places and the price yourself"),
        ('view = ""', "Compare the places and the price yourself", "check your typing"),
        ('view = ""\ntrack = ""', "so check your typing", "must show our order key"),
    ],
)
def test_the_page_says_what_is_checked_and_what_cannot_be_compared(
    staff: Client, unclear: Unclear, contract: Callable[[str], None], toml: str, words: str, but: str
) -> None:
    contract(toml)
    text = html.unescape(staff.get(_url(unclear())).content.decode())
    assert (words in text, but in text) == (True, False)


@pytest.mark.parametrize("why", ["another account's", "of another time"])
def test_a_customer_reference_of_an_impossible_order_decides_nothing(
    unclear: Unclear, quill: Sender, alice: User, settings: Any, why: str
) -> None:
    order = unclear()
    fields: dict[str, Any] = {"account": older.named(settings)} if why == "another account's" else {}
    if why == "of another time":
        fields["created_at"] = timezone.now() - dt.timedelta(days=9)
    factories.order(quill, alice, status="booked", customer_reference="SPRING-1", **fields)
    scanned("SPLAIN0001", raw=b'{"customer_reference": "SPRING-1"}')
    [candidate] = reconcile.gather_evidence(order).candidates
    assert (candidate.reference, candidate.is_its_own) == ("SPLAIN0001", "")


def test_a_customer_reference_belongs_to_the_order_of_the_same_days(
    unclear: Unclear, quill: Sender, alice: User
) -> None:
    order = unclear()
    factories.order(quill, alice, status="booked", customer_reference="Spring-1")
    scanned("SOTHERS001", raw=b'{"customer_reference": "SPRING-1"}')
    assert reconcile.gather_evidence(order).candidates == []


@pytest.mark.parametrize(("minutes", "offered"), [(-31, False), (-29, True), (10, True)])
def test_the_carriers_clock_may_be_half_an_hour_behind(unclear: Unclear, minutes: int, offered: bool) -> None:
    sent = timezone.now()
    order = unclear(sent_at=sent)
    scanned("SCLOCK0001", scan_time=sent + dt.timedelta(minutes=minutes), received_at=timezone.now())
    assert bool(reconcile.gather_evidence(order).candidates) == offered


def test_for_a_conflict_not_even_a_single_reference_is_filled_in(unclear: Unclear) -> None:
    found = reconcile.gather_evidence(unclear(status="conflict", seen_reference="STOLD00001"))
    assert [candidate.is_strong for candidate in found.candidates] == [True]
    assert found.likeliest == ""


def test_a_reference_counts_as_taken_only_within_the_same_account(
    unclear: Unclear, quill: Sender, alice: User, settings: Any
) -> None:
    order = unclear(seen_reference="STOLD00001")
    elsewhere = older.named(settings)
    factories.order(quill, alice, status="booked", account=elsewhere, carrier_reference="STOLD00001")
    [candidate] = reconcile.gather_evidence(order).candidates
    assert (candidate.taken_by, candidate.is_strong) == (None, True)
    here = factories.order(quill, alice, status="booked", carrier_reference="stold00001")
    [candidate] = reconcile.gather_evidence(order).candidates
    assert (candidate.taken_by, candidate.is_strong) == (here, False)


@pytest.mark.parametrize(("days", "offered"), [(4, True), (6, False)])
def test_a_reference_first_seen_over_five_days_later_is_not_offered(unclear: Unclear, days: int, offered: bool) -> None:
    order = unclear(sent_at=timezone.now() - dt.timedelta(days=days))
    scanned("SLATER0001")
    assert bool(reconcile.gather_evidence(order).candidates) == offered


# -- A booking that was wrongly resolved as not booked -------------------------------------------


def take_back(staff: Client, order: Order) -> Any:
    return staff.post(reverse("admin:orders_order_act", args=[order.pk, "booked-after-all"]), {"reason": REASON})


def resolved(unclear: Unclear, sam: User, **choices: Any) -> Order:
    """An order that Sam resolved as not booked."""
    order = unclear(**choices)
    deciding.not_booked(order, by=sam, reason=REASON, now=timezone.now())
    return order


def test_a_wrong_not_booked_is_taken_back_once_a_scan_shows_the_parcel(
    staff: Client, unclear: Unclear, known: str, sam: User, alice: User
) -> None:
    """Its sender reads that nothing was charged and that they can book it now, while the parcel is on its way."""
    order = resolved(unclear, sam)
    price = order.price
    assert Sender.objects.get().unbilled == 0
    Notification.objects.all().delete()
    page = staff.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    assert "It is booked after all" in page
    assert take_back(staff, order).status_code == 302
    order.refresh_from_db()
    assert (order.status, order.due_at, Sender.objects.get().unbilled) == ("conflict", None, price)
    assert "may be booked after all" in Notification.objects.get(user=alice).line
    assert Audit.objects.latest("pk").action == "opened again"
    assert take_back(staff, order).status_code == 409
    deciding.adopt_reference(order, known, by=sam, reason=REASON, now=timezone.now())
    order.refresh_from_db()
    assert (order.status, order.carrier_reference) == ("booked", known)
    assert order.attempts.get().state == "accepted"


def test_only_a_booking_that_an_operator_resolved_can_be_taken_back(
    staff: Client, unclear: Unclear, quill: Sender, alice: User, sam: User
) -> None:
    """An order that was never sent, or refused by the carrier, isn't booked."""
    refused = factories.order(quill, alice, status="rejected")
    cases.attempt(refused, state="rejected")
    erased = resolved(unclear, sam)
    Order.objects.filter(pk=erased.pk).update(erased_at=timezone.now())
    for order in (factories.order(quill, alice), refused, unclear(), erased):
        assert take_back(staff, order).status_code == 409


def test_a_refused_later_attempt_stays_refused_when_the_first_one_is_adopted(
    staff: Client, unclear: Unclear, known: str, sam: User, alice: User
) -> None:
    order = resolved(unclear, sam)
    move_to(order, "draft", by=alice, reason="to be booked again", at=timezone.now(), generation=2)
    move_to(order, "booking", by=alice, reason="confirmed", at=timezone.now())
    cases.attempt(order, state="rejected", generation=2)
    move_to(order, "rejected", reason="refused", at=timezone.now())
    take_back(staff, order)
    order.refresh_from_db()
    deciding.adopt_reference(order, known, by=sam, reason=REASON, now=timezone.now())
    assert [*order.attempts.order_by("generation").values_list("state", flat=True)] == ["accepted", "rejected"]
