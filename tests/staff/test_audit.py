"""The audit log: one row for every operator action and for each label or link shown; read, searched, exported."""

import csv
import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from orders.models import CarrierAccount, Label, Order, Restore
from shipping_portal import sheets
from shipping_portal.accounts.adminkit.actions import ActionsAdmin, AdminAction
from shipping_portal.accounts.login.security_events import hash_of
from shipping_portal.accounts.models import Audit, LocalityAlias, LocalityList, Sender, User
from shipping_portal.accounts.models.audit import subject_of
from shipping_portal.accounts.teams import team
from shipping_portal.billing.models import BillingReport, Charge, ChargeWord, Dispute
from shipping_portal.billing.reports.fields import profile_of
from shipping_portal.importing.models import Import  # fmt: skip
from shipping_portal.jobs.models import DeadLetter
from shipping_portal.staff.resolution.verifying import Confirmed
from tests import factories, older
from tests.staff import cases
from tests.staff.conftest import REASON
from tracking.models import EventWord

LIST, EXPORT = "/admin/accounts/audit/", "/admin/accounts/audit/export/"
SUSPENSION = {"category": "terms", "text": REASON, "note": ""}
PAUSE = {"text": "The depot is flooded.", "ends": "120"}
LIMITS = {"bookings_a_day": 5, "quotes_a_minute": 5, "pickup_days_ahead": 3}
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl"


def account(**fields: Any) -> CarrierAccount:
    made: CarrierAccount = factories.account()
    CarrierAccount.objects.filter(pk=made.pk).update(**fields)
    return made


def unnamed_and_stopped() -> CarrierAccount:
    made = older.unnamed()
    CarrierAccount.objects.filter(pk=made.pk).update(stopped_at=timezone.now())
    return made


def person(**fields: Any) -> User:
    return factories.user("paul@portal.example", **fields)


def beside_a_business() -> User:
    factories.sender(pk=4711)
    return person()


def enrolled() -> User:
    made = person()
    factories.second_factor(made)
    return made


def suspended() -> Sender:
    fields = {"suspended_at": timezone.now(), "suspension": "terms"}
    return factories.sender(**fields)


def failed_label() -> Label:
    sender = factories.sender()
    owner = person()
    factories.member(sender, owner)
    factories.pickup_address(sender, email=owner.email)
    return Label.objects.create(order=factories.order(sender, owner, status="booked"), size="full", state="failed")


def made_by_somebody(**fields: Any) -> Order:
    sender, owner = factories.sender(), person()
    factories.member(sender, owner)
    factories.pickup_address(sender, email=owner.email)
    return factories.order(sender, owner, **fields)


def adopted() -> Order:
    """An order adopted by its reference alone."""
    return made_by_somebody(status="booked", carrier_order_id="")


def adopted_by_somebody() -> Order:
    order = adopted()
    order.changes.create(
        old="unconfirmed", new="booked", by=order.made_by, at=timezone.now(), reason="adopted STEST00000"
    )
    return order


def adopted_and_printed() -> Order:
    order = adopted_by_somebody()
    Order.objects.filter(pk=order.pk).update(printed_at=timezone.now())
    return order


def said_not_booked() -> Order:
    order = made_by_somebody(status="not_booked")
    cases.attempt(order, state="not_created")
    return order


def made_twice() -> Order:
    order = made_by_somebody(status="booked")
    attempt = cases.attempt(order, state="accepted", seen_reference="SSECOND001")
    order.attempts.filter(pk=attempt.pk).update(duplicate_booking_at=timezone.now())
    return order


def unclear_cancel() -> Order:
    order = made_by_somebody(status="cancel_unconfirmed")
    order.cancels.create(by=order.made_by, why="not sending it", state="unknown", asked_at=timezone.now())
    return order


@pytest.fixture(autouse=True)
def _the_carrier_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the carrier confirm every reference. tests/orders/test_adopting.py tests what it does confirm."""
    monkeypatch.setattr(
        "shipping_portal.staff.resolution.verifying._check_order",
        lambda order, reference, order_id: Confirmed(reference, order_id),
    )


def parked() -> DeadLetter:
    parcel = factories.parcel(parked_at=timezone.now())
    return DeadLetter.objects.create(job="fold", row=parcel.pk, failures=5, parked_at=timezone.now())


def imported(**fields: Any) -> Import:
    """A file with one row that failed before it had an order."""
    sender, owner = factories.sender(), person()
    factories.member(sender, owner)
    file = factories.import_file(sender, owner, **fields)
    factories.import_row(sender, owner, file=file, state="failed")
    return file


def held_import() -> Restore:
    """A restore that holds an import with one queued row."""
    restore: Restore = factories.restore()
    file = imported(restore=restore, hold="We compare it first.", paused_at=timezone.now())
    file.rows.update(state="owed")
    return restore


def old_list() -> LocalityList:
    return LocalityList.objects.create(
        country="AU", source="old.csv", sha256="0" * 64, rows=0, loaded_at=timezone.now()
    )


def charge(of: Sender | None = None, **fields: Any) -> Charge:
    """A line that is unassigned or belongs to a sender."""
    made: Charge = factories.charge(None, sender=of, **fields)
    return made


def assignable() -> Charge:
    factories.sender(pk=1)  # its number is typed below, and PostgreSQL counts on from test to test
    return charge()


def repeating() -> BillingReport:
    report: BillingReport = factories.billing_report(state="checked")
    charge(report=report, posted_at=None, is_repeat=True)
    return report


def held() -> Charge:
    return charge(held="twice", posted_at=None)


def dispute() -> Dispute:
    line = charge(factories.sender())
    return Dispute.objects.create(
        charge=line, sender=line.sender, made_by=person(), made_at=timezone.now(), text="It was 12.08."
    )


# For every action in the admin: its object, and what else its form asks.
SCENES: dict[tuple[str, str], tuple[Callable[[], Any], dict[str, Any]]] = {
    ("accounts.user", "turn-off"): (person, {}),
    ("accounts.user", "turn-on"): (lambda: person(is_active=False), {}),
    ("accounts.user", "log-out"): (person, {}),
    ("accounts.user", "reset-second-factor"): (enrolled, {}),
    ("accounts.user", "groups"): (person, {}),
    ("accounts.user", "move"): (beside_a_business, {"number": "A-5711", "role": "viewer"}),
    ("accounts.sender", "approve"): (lambda: factories.sender(approved_at=None), {}),
    ("accounts.sender", "decline"): (lambda: factories.sender(approved_at=None), SUSPENSION),
    ("accounts.sender", "suspend"): (factories.sender, SUSPENSION),
    ("accounts.sender", "reinstate"): (suspended, {}),
    ("accounts.sender", "limits"): (factories.sender, LIMITS),
    ("accounts.sender", "external-id"): (factories.sender, {"external_id": "marlow"}),
    ("accounts.sender", "close"): (factories.sender, {}),
    ("accounts.localitylist", "use-again"): (old_list, {}),
    ("accounts.localityalias", "remove"): (lambda: LocalityAlias.objects.create(word="XY", stands_for="X"), {}),
    ("accounts.sender", "credit"): (factories.sender, {"amount": "5.00", "currency": "AUD"}),
    ("billing.billingreport", "post"): (lambda: factories.billing_report(state="checked"), {}),
    ("billing.billingreport", "void"): (lambda: factories.billing_report(state="checked"), {}),
    ("billing.billingreport", "read-again"): (lambda: factories.billing_report(state="damaged"), {}),
    ("billing.billingreport", "state-total"): (
        lambda: factories.billing_report(state="checked"),
        {"total": "12.08", "currency": "AUD"},
    ),
    ("billing.billingreport", "count-repeats"): (repeating, {}),
    ("billing.billingreport", "reverse"): (factories.billing_report, {}),
    ("billing.billingreport", "count-held"): (lambda: held().report, {}),
    ("billing.billingreport", "leave-held"): (lambda: held().report, {}),
    ("billing.charge", "count"): (held, {}),
    ("billing.charge", "leave-out"): (held, {}),
    ("billing.charge", "assign"): (assignable, {"owner": "A-1001"}),
    ("billing.charge", "accept"): (lambda: charge(factories.sender(), is_unexpected=True), {}),
    ("billing.charge", "reverse"): (lambda: charge(factories.sender()), {}),
    ("billing.chargeword", "decide"): (
        lambda: ChargeWord.objects.create(word="fuel levy", first_seen_at=timezone.now()),
        {"meaning": "order"},
    ),
    ("billing.dispute", "answer"): (dispute, {"verdict": "decline", "text": REASON}),
    ("orders.carrieraccount", "pause-bookings"): (account, PAUSE),
    ("orders.carrieraccount", "change-bookings-pause"): (lambda: account(paused_at=timezone.now()), PAUSE),
    ("orders.carrieraccount", "resume-bookings"): (lambda: account(paused_at=timezone.now()), {}),
    ("orders.carrieraccount", "pause-quotes"): (account, PAUSE),
    ("orders.carrieraccount", "change-quotes-pause"): (lambda: account(quotes_paused_at=timezone.now()), PAUSE),
    ("orders.carrieraccount", "resume-quotes"): (lambda: account(quotes_paused_at=timezone.now()), {}),
    ("orders.carrieraccount", "try-now"): (lambda: account(stopped_at=timezone.now()), {}),
    ("orders.carrieraccount", "end-stop"): (unnamed_and_stopped, {}),
    ("orders.carrieraccount", "end-fault"): (lambda: account(fault_at=timezone.now()), {}),
    ("orders.carrieraccount", "allow-repeats"): (lambda: account(replays_off_at=timezone.now()), {}),
    ("accounts.apitoken", "revoke"): (factories.api_token, {}),
    ("accounts.webhookendpoint", "pause"): (lambda: factories.webhook_endpoint(factories.sender(), person()), {}),
    ("importing.import", "hold"): (imported, {"text": "We look into your file first."}),
    ("importing.import", "let-go"): (lambda: imported(hold="We look into it.", paused_at=timezone.now()), {}),
    ("importing.import", "try-again"): (imported, {}),
    ("importing.import", "leave-out"): (lambda: held_import().imports.get(), {}),
    ("orders.restore", "release"): (held_import, {"count": 1}),
    ("orders.restore", "leave-out"): (held_import, {"count": 1}),
    ("orders.restore", "lift"): (factories.restore, {}),
    ("orders.label", "fetch-again"): (failed_label, {}),
    ("jobs.deadletter", "try-again"): (parked, {}),
    ("orders.order", "add-order-id"): (adopted, {"carrier_order_id": "id-1"}),
    ("orders.order", "undo-adoption"): (adopted_by_somebody, {}),
    ("orders.order", "contest-adoption"): (adopted_and_printed, {}),
    ("orders.order", "booked-after-all"): (said_not_booked, {}),
    ("orders.order", "second-order-resolved"): (made_twice, {}),
    ("orders.order", "cancel"): (lambda: made_by_somebody(status="booked"), {}),
    ("orders.order", "carrier-cancelled-it"): (unclear_cancel, {}),
    ("orders.order", "still-booked"): (unclear_cancel, {}),
}


def registered() -> list[tuple[type[Model], AdminAction]]:
    pages = admin.site._registry.items()
    return [(model, act) for model, page in pages if isinstance(page, ActionsAdmin) for act in page.admin_actions]


@pytest.mark.parametrize(
    ("model", "act"), registered(), ids=[f"{m._meta.model_name} {act.name}" for m, act in registered()]
)
def test_every_action_writes_exactly_one_row(staff: Client, sam: User, model: type[Model], act: AdminAction) -> None:
    """An action without a case fails here, so its author has to add one."""
    prepare, form = SCENES[model._meta.label_lower, act.name]
    thing, began_at = prepare(), timezone.now()
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_act", args=[thing.pk, act.name])
    assert staff.post(url, {**form, "reason": REASON}).status_code == 302
    row = Audit.objects.get()
    assert (row.actor, row.subject) == (sam, subject_of(thing))
    assert row.action
    assert REASON in row.reason
    assert began_at <= row.at <= timezone.now()
    assert row.sender in {None, thing if isinstance(thing, Sender) else (getattr(thing, "order", None) or row).sender}


@pytest.mark.parametrize(
    ("model", "act"), registered(), ids=[f"{m._meta.model_name} {act.name}" for m, act in registered()]
)
def test_every_action_changes_nothing_without_a_reason(staff: Client, model: type[Model], act: AdminAction) -> None:
    prepare, form = SCENES[model._meta.label_lower, act.name]
    thing = prepare()
    before = model._default_manager.filter(pk=thing.pk).values().get()
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_act", args=[thing.pk, act.name])
    answer = staff.post(url, {**form, "reason": "", "text": ""})
    assert answer.context["form"].errors
    assert model._default_manager.filter(pk=thing.pk).values().get() == before
    assert not Audit.objects.exists()


def test_a_reason_that_contains_a_link_is_refused(staff: Client, quill: Sender) -> None:
    url = reverse("admin:accounts_sender_act", args=[quill.pk, "limits"])
    page = staff.post(url, {**LIMITS, "reason": f"see https://carrier.example/t/?token={JWT}"})
    assert "Remove the link" in page.content.decode()
    assert not Audit.objects.exists()


def test_a_reason_that_contains_an_email_is_refused(staff: Client, quill: Sender) -> None:
    url = reverse("admin:accounts_sender_act", args=[quill.pk, "limits"])
    page = staff.post(url, {**LIMITS, "reason": "alice@quill.example asked for it"})
    assert "Remove the email address" in page.content.decode()
    assert not Audit.objects.exists()


def test_a_teams_changes_name_nobody_in_the_audit_log(quill: Sender, alice: User, ana: User) -> None:
    now, member = timezone.now(), ana.membership
    made = team.invite_person(quill, "zoe@example.org", "viewer", by=alice, now=now)
    team.revoke_invitation(made, by=alice, now=now)
    team.set_role(member, "viewer", by=alice, now=now)
    team.remove_member(member, by=alice, now=now)
    found = [(row.action, row.subject, row.reason) for row in Audit.objects.order_by("pk")]
    assert found == [
        ("invited", f"invitation {made.pk}", "viewer"),
        ("invitation revoked", f"invitation {made.pk}", ""),
        ("role changed", f"user {ana.pk}", "shipper → viewer"),
        ("removed from the team", f"user {ana.pk}", ""),
    ]


def test_a_search_for_an_address_is_audited_by_its_keyed_hash(staff: Client, history: Order) -> None:
    exported(staff, {"q": "alice@quill.example"})
    assert Audit.objects.latest("pk").reason == f"q={hash_of('alice@quill.example')}"


@pytest.mark.parametrize("where", ["text", "note"])
def test_a_suspension_keeps_no_signed_link(staff: Client, quill: Sender, where: str) -> None:
    url = reverse("admin:accounts_sender_act", args=[quill.pk, "suspend"])
    page = staff.post(url, {**SUSPENSION, where: f"https://carrier.example/t/?token={JWT}"})
    assert "Leave this link out" in page.content.decode()
    assert not Audit.objects.exists()


def test_the_note_of_a_suspension_stays_in_the_audit_log(quill: Sender, sam: User) -> None:
    now = timezone.now()
    quill.suspend(by=sam, category="terms", text="Unpaid bill.", note="the bank said so", now=now)
    quill.reinstate(by=sam, reason="the bill is paid", now=now)
    assert Audit.objects.earliest("pk").reason == "terms: Unpaid bill. Note: the bank said so"


# -- Changes and disclosures outside actions ------------------------------------------


def test_a_test_of_the_listener_writes_a_row(staff: Client, sam: User, monkeypatch: Any) -> None:
    monkeypatch.setattr("shipping_portal.staff.carrier.listener.send_test_event", lambda found: "200 stored")
    staff.post("/admin/listener/")
    row = Audit.objects.get()
    assert (row.action, row.actor) == ("listener tested", sam)
    assert row.subject == f"carrier account {CarrierAccount.objects.get().pk}"


def test_an_imported_list_writes_a_row_for_each_country_with_the_reason(
    staff: Client, sam: User, localities: None
) -> None:
    content = "country,suburb,state,postcode\nAU,HOBART,TAS,7000\nUS,PORTLAND,OR,97206\n"
    staff.post("/admin/accounts/localitylist/import/", {"content": content, "source": "a.csv", "reason": REASON})
    rows = Audit.objects.filter(action="locality list imported", actor=sam)
    assert [REASON in row.reason for row in rows] == [True, True]


def test_an_uploaded_billing_report_writes_a_row(staff: Client, sam: User) -> None:
    file = SimpleUploadedFile("billing-2026-11-23.csv", b"Type,Reference,Price,Currency\n")
    staff.post("/admin/billing/billingreport/upload/", {"file": file, "account": factories.account().pk})
    row = Audit.objects.get()
    assert (row.action, row.actor, row.reason) == (
        "billing report taken", sam, "billing-2026-11-23.csv, 2026-11-16",
    )  # fmt: skip


def test_setting_columns_writes_a_row_and_trying_them_does_not(staff: Client, sam: User) -> None:
    profile = profile_of(factories.account())
    url = reverse("admin:billing_billingprofile_columns", args=[profile.pk])
    form = {"column_type": "Art", "column_reference": "Ref", "column_price": "P", "column_currency": "C"}
    form |= {"delimiter": ";", "date_form": "%Y-%m-%d", "total_word": ""}
    staff.post(url, {**form, "try": "yes"})
    assert not Audit.objects.exists()
    staff.post(url, {**form, "reason": REASON})
    row = Audit.objects.get()
    assert (row.action, row.actor, row.subject) == ("report columns set", sam, subject_of(profile))
    assert REASON in row.reason


def test_a_changed_alias_writes_a_row(staff: Client, sam: User) -> None:
    alias = LocalityAlias.objects.first()
    form = {"word": "XY", "stands_for": "Mount", "reason": REASON}
    staff.post(reverse("admin:accounts_localityalias_change", args=[alias.pk]), form)
    row = Audit.objects.get()
    assert (row.action, row.actor, row.reason) == ("alias saved", sam, f"XY for MOUNT: {REASON}")


def test_a_decided_word_writes_a_row(staff: Client, sam: User) -> None:
    word = EventWord.objects.create(word="with sorter", first_seen_at=timezone.now())
    staff.post(reverse("admin:tracking_eventword_decide", args=[word.pk]), {"progress": "", "reason": REASON})
    row = Audit.objects.get()
    assert (row.action, row.actor, row.subject) == ("word decided", sam, subject_of(word))


@pytest.mark.parametrize("decision", ["not_booked", "keep_waiting"])
def test_a_resolved_order_writes_a_row(staff: Client, sam: User, unclear: Callable[..., Order], decision: str) -> None:
    order = unclear()
    url = reverse("admin:orders_order_resolve", args=[order.pk])
    staff.post(url, {"decision": decision, f"{decision}-reason": REASON})
    row = Audit.objects.get()
    assert (row.actor, row.subject, row.sender, row.reason) == (sam, subject_of(order), order.sender, REASON)


@pytest.mark.parametrize(("query", "action"), [("", "label opened"), ("?download=1", "label downloaded")])
def test_each_label_opened_or_downloaded_writes_a_row(
    visit: Callable[[User], Client], alice: User, quill: Sender, query: str, action: str
) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked"))
    browser, url = visit(alice), f"/parcels/{label.order.uuid}/label/full.pdf"
    browser.get(url + query)
    browser.get(url + query)
    rows = Audit.objects.filter(action=action, actor=alice, sender=quill, subject=subject_of(label.order))
    assert [row.reason for row in rows] == ["full", "full"]


def test_a_label_that_was_not_served_writes_no_row(
    visit: Callable[[User], Client], alice: User, bob: User, quill: Sender
) -> None:
    label = factories.stored_label(factories.order(quill, alice, status="booked"))
    visit(bob).get(f"/parcels/{label.order.uuid}/label/full.pdf")
    label.file.delete()
    visit(alice).get(f"/parcels/{label.order.uuid}/label/full.pdf")
    assert not Audit.objects.exists()


# -- Reading it ---------------------------------------------------------------------------------


@pytest.fixture
def history(sam: User, alice: User, quill: Sender) -> Order:
    """Year-old rows by the portal, a sender and an operator. Returns the order they are about."""
    order, now = factories.order(quill, alice, status="booked"), timezone.now()
    Audit.write("second reference", order, by=None, at=now - dt.timedelta(days=370), sender=quill)
    Audit.write("label opened", order, by=alice, at=now, sender=quill, reason="full")
    Audit.write("sender suspended", quill, by=sam, at=now, sender=quill, reason="terms: Unpaid.")
    return order


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("query", "actions"),
    [
        ({}, ["sender suspended", "label opened", "second reference"]),
        ({"by": "portal"}, ["second reference"]),
        ({"by": "operators"}, ["sender suspended"]),
        ({"by": "senders"}, ["label opened"]),
        ({"action": "label opened"}, ["label opened"]),
        ({"at__gte": "2100-01-01 00:00:00+00:00"}, []),
        ({"at__lt": "2100-01-01 00:00:00+00:00", "action": "second reference"}, ["second reference"]),
        ({"q": "ORDER 1"}, ["label opened", "second reference"]),
        ({"q": "stest00000"}, ["label opened", "second reference"]),
        ({"q": "alice@quill.example"}, ["label opened"]),
        ({"q": "sender suspended"}, ["sender suspended"]),
        ({"q": "order"}, []),
    ],
)
def test_the_log_is_filtered_by_actor_action_and_day_and_searched_by_object(
    staff: Client, history: Order, query: dict[str, str], actions: list[str]
) -> None:
    Order.objects.filter(pk=history.pk).update(carrier_reference="STEST00000")
    query = {key: value.replace("ORDER 1", f"ORDER {history.pk}") for key, value in query.items()}
    shown = staff.get(LIST, query).context["cl"].result_list
    assert [row.action for row in shown] == actions
    assert [line[4] for line in exported(staff, query)[1:] if line[4] != "audit exported"] == actions


def test_the_log_can_be_filtered_by_one_operator(staff: Client, history: Order, sam: User) -> None:
    shown = staff.get(LIST, {"by": str(sam.pk)}).context["cl"].result_list
    assert [row.action for row in shown] == ["sender suspended"]


# -- Exporting it -----------------------------------------------------------------------------


def exported(browser: Client, query: dict[str, str] | None = None) -> list[list[str]]:
    answer = browser.get(EXPORT, query or {})
    assert answer.streaming
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize(
    "typed", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠SUM(A1)"]
)
def test_no_cell_of_the_file_is_a_formula(staff: Client, history: Order, quill: Sender, typed: str) -> None:
    Sender.objects.filter(pk=quill.pk).update(name=typed)
    Audit.write("looked", history, by=None, at=timezone.now(), sender=quill, reason=typed)
    [line] = [line for line in exported(staff) if line[4] == "looked"]
    assert (line[3], line[6]) == (f"'{typed}", f"'{typed}")


def test_other_cells_are_left_alone() -> None:
    assert [sheets.safe_cell(value) for value in (17, "a=b", "Quill & Co", "'quoted", None)] == [
        "17", "a=b", "Quill & Co", "'quoted", "",
    ]  # fmt: skip


def test_the_file_is_a_download_that_is_never_cached(staff: Client, history: Order) -> None:
    answer = staff.get(EXPORT)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="audit-')
    assert "no-store" in answer["Cache-Control"]


def test_the_file_contains_no_signed_link(staff: Client, history: Order) -> None:
    pasted = f"he sent https://carrier.example/t/?token={JWT}"
    Audit.write("looked", history, by=None, at=timezone.now(), reason=pasted)
    assert JWT not in str(exported(staff))
    assert JWT not in str(exported(staff, {"q": pasted}) + exported(staff))


def test_exporting_the_audit_log_is_audited_too(staff: Client, history: Order, sam: User) -> None:
    exported(staff, {"by": "operators"})
    row = Audit.objects.latest("pk")
    assert (row.action, row.actor, row.reason) == ("audit exported", sam, "by=operators")


@pytest.mark.postgres
def test_the_file_takes_the_same_number_of_queries_at_any_length(staff: Client, history: Order) -> None:
    exported(staff)
    with CaptureQueriesContext(connection) as short:
        exported(staff)
    for _ in range(30):
        Audit.write("looked", history, by=history.made_by, at=timezone.now(), sender=history.sender)
    with CaptureQueriesContext(connection) as long:
        exported(staff)
    assert len(long) == len(short)


@pytest.mark.parametrize("query", [{"actor__password__startswith": "argon2"}, {"no_such": "1"}])
def test_a_lookup_through_the_export_is_refused_like_one_in_the_list(
    staff: Client, history: Order, query: dict[str, str]
) -> None:
    assert staff.get(EXPORT, query).status_code in {302, 400}
    assert not Audit.objects.filter(action="audit exported").exists()


@pytest.mark.parametrize(
    "typed", ["at__year=99999999999", "at__gte=99999-01-01", "p=99999999999999999999", "by=" + "9" * 40]
)
def test_a_url_typed_by_hand_does_not_cause_a_server_error(staff: Client, typed: str) -> None:
    answer = staff.get(f"{reverse('admin:accounts_audit_changelist')}?{typed}")
    assert answer.status_code in {200, 302, 400}
    assert staff.get(f"{reverse('admin:accounts_audit_export')}?{typed}").status_code in {200, 302, 400}
