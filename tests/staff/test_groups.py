"""Support, Billing, Ops lead, Read-only: each sees and does what the table says, and is refused the rest."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from orders.models import CarrierAccount, CarrierCall, Order
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.adminkit.actions import ActionsAdmin
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.accounts.teams import people
from shipping_portal.billing.models import BillingProfile, Dispute
from shipping_portal.refused import Refused
from tests import factories
from tests.staff.conftest import REASON
from tracking.models import EventWord

Operator = Callable[[str], Client]
Row = Callable[[], None]
MODELS: list[type[Model]] = sorted(admin.site._registry, key=lambda model: model._meta.label)
DJANGOS = {"changelist", "add", "history", "delete", "change"}  # the pages every model has
# Pages of the admin that aren't a model's action, and what each needs: (method, name, URL arguments).
PAGES: list[tuple[str, str, type[Model] | None, str]] = [
    ("GET", "orders_order_resolve", Order, "resolve"),
    ("GET", "orders_order_erase", None, "erase"),
    ("POST", "orders_order_reveal", Order, "reveal"),
    ("GET", "orders_order_mail", Order, "cases"),
    ("POST", "orders_order_note", Order, "cases"),
    ("POST", "orders_order_assign", Order, "cases"),
    ("POST", "accounts_sender_note", Sender, "cases"),
    ("POST", "accounts_sender_see_as", Sender, "see_as"),
    ("GET", "tracking_webhookdelivery_replay", None, "replay"),
    ("POST", "listener", None, "replay"),
    ("GET", "tracking_eventword_decide", EventWord, "reword"),
    ("GET", "accounts_localitylist_import", None, "localities"),
    ("GET", "billing_billingreport_upload", None, "billing"),
    ("GET", "billing_billingprofile_columns", BillingProfile, "billing"),
    ("POST", "billing_charge_assign", None, "billing"),
    ("GET", "billing_dispute_photo", Dispute, "billing"),
    ("GET", "accounts_apitoken_new", None, "api"),
    ("GET", "accounts_localityalias_add", None, "localities"),
]
READ_BY_ALL = {"accounts_audit_export", "listener", "accounts_sender_stop_seeing"}  # if their model may be read


def acts() -> Iterator[tuple[type[Model], str, str]]:
    """Every action in the admin: its model, its name and what it needs."""
    for model in MODELS:
        page = admin.site._registry[model]
        if isinstance(page, ActionsAdmin):
            yield from ((model, act.name, act.needs) for act in page.admin_actions)


def address(model: type[Model], page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def is_shown(group: str, model: type[Model]) -> bool:
    return model._meta.label_lower not in permissions.HIDDEN.get(group, frozenset())


@pytest.fixture(autouse=True)
def _no_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shipping_portal.staff.carrier.listener.send_test_event", lambda found: "200 stored")


@pytest.mark.parametrize("group", permissions.GROUPS)
def test_a_group_sees_its_own_pages_with_only_the_buttons_it_may_use(operator: Operator, row: Row, group: str) -> None:
    row()
    browser, answers, wanted = operator(group), {}, {}
    for model in MODELS:
        key = model._default_manager.first().pk
        urls = [address(model, "changelist"), address(model, "change", key)]
        pages = [browser.get(url) for url in urls]
        answers |= {url: page.status_code for url, page in zip(urls, pages, strict=True)}
        wanted |= dict.fromkeys(urls, 200 if is_shown(group, model) else 403)
        barred = [name for of, name, needs in acts() if of is model and group not in permissions.ACTS[needs]]
        shown = pages[1].content.decode()
        assert not [name for name in barred if address(model, "act", key, name) in shown], model
    assert answers == wanted


@pytest.mark.parametrize("group", permissions.GROUPS)
def test_a_group_can_use_its_own_actions_and_gets_403_for_the_others(operator: Operator, row: Row, group: str) -> None:
    row()
    browser, answers, wanted = operator(group), {}, {}
    for model, name, needs in acts():
        url = address(model, "act", model._default_manager.first().pk, name)
        answers[url] = all(ask(url).status_code == 403 for ask in (browser.get, browser.post))
        wanted[url] = group not in permissions.ACTS[needs]
    assert answers == wanted


def test_an_operator_whose_group_may_not_act_reads_whom_to_ask(operator: Operator, row: Row) -> None:
    """An operator has no business account with an owner."""
    row()
    for group, url in (
        (permissions.SUPPORT, address(CarrierAccount, "act", CarrierAccount.objects.get().pk, "pause-bookings")),
        (permissions.BILLING, address(CarrierCall, "changelist")),
    ):
        page = operator(group).get(url)
        assert (page.status_code, "Ask an Ops lead" in page.content.decode()) == (403, True)
        assert "your business account" not in page.content.decode()


@pytest.mark.parametrize("group", permissions.GROUPS)
def test_a_group_can_open_its_own_pages_and_gets_403_for_the_others(operator: Operator, row: Row, group: str) -> None:
    row()
    browser, answers, wanted = operator(group), {}, {}
    for method, name, model, needs in PAGES:
        url = reverse(f"admin:{name}", args=[model._default_manager.first().pk] if model else [])
        answers[url] = browser.generic(method, url).status_code == 403
        wanted[url] = group not in permissions.ACTS[needs]
    assert answers == wanted


@pytest.mark.parametrize(("group", "status"), [*((group, 200) for group in permissions.GROUPS), ("", 302)])
def test_those_who_may_not_read_the_audit_log_cannot_export_it(operator: Operator, group: str, status: int) -> None:
    assert operator(group).get(reverse("admin:accounts_audit_export")).status_code == status


def test_every_admin_page_is_in_these_tables() -> None:
    """A new page without a row fails here, as in the access matrix."""
    known = {name for _, name, _, _ in PAGES} | READ_BY_ALL
    own = set()
    for model in MODELS:
        stem = f"{model._meta.app_label}_{model._meta.model_name}_"
        patterns = [p for p in admin.site._registry[model].urls if isinstance(p, URLPattern)]
        own |= {p.name for p in patterns if p.name and p.name.removeprefix(stem) not in DJANGOS | {"act"}}
    assert own - known == set()


@pytest.mark.parametrize("act", permissions.ACTS)
def test_a_superuser_may_do_everything_and_an_operator_in_no_group_nothing(sam: User, act: str) -> None:
    alone = factories.user("alone@portal.example", is_staff=True)
    assert permissions.may(sam, act)
    assert not permissions.may(alone, act)


def test_each_group_may_do_what_was_agreed_for_it() -> None:
    """Repeated here so nobody widens the table by accident."""
    support = {"resolve", "reveal", "retry", "replay", "cancel_for_sender", "imports", "people", "suspend"}
    support |= {"cases", "see_as"}
    billing = {"suspend", "billing", "cases", "see_as"}
    lead = {"limits", "erase", "restore", "pause", "reword", "localities", "operators", "api"} | support | billing
    allowed = {"Support": support, "Billing": billing, "Ops lead": lead, "Read-only": set()}
    for group, acts in allowed.items():
        assert {act for act, may in permissions.ACTS.items() if group in may} == acts, group


def test_a_group_gives_nothing_to_somebody_who_is_not_an_operator(alice: User) -> None:
    permissions.update_groups()
    alice.groups.add(Group.objects.get(name=permissions.OPS_LEAD))
    assert not permissions.may(alice, "pause")


def test_an_action_missing_from_the_table_is_an_error(sam: User) -> None:
    with pytest.raises(KeyError):
        permissions.may(sam, "make coffee")


def test_a_refusal_is_logged_with_who_and_what(
    operator: Operator, quill: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    operator(permissions.READ_ONLY).post(address(type(quill), "act", quill.pk, "suspend"), {"reason": REASON})
    person = User.objects.get(is_staff=True)
    assert f"operator {person.pk} is not allowed to suspend" in caplog.text
    quill.refresh_from_db()
    assert not quill.is_suspended


def test_the_command_can_be_repeated_and_keeps_the_groups_members(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("operator_groups")
    group = Group.objects.get(name=permissions.SUPPORT)
    person = factories.user("new@portal.example", is_staff=True)
    person.groups.add(group)
    group.permissions.clear()
    call_command("operator_groups")
    assert Group.objects.count() == len(permissions.GROUPS)
    assert person.groups.get() == group
    assert group.permissions.filter(codename="view_order").exists()
    assert "Read-only: reads only" in capsys.readouterr().out


def test_no_group_is_given_a_permission_to_add_change_or_delete(db: None) -> None:
    permissions.update_groups()
    codenames = set(Group.objects.values_list("permissions__codename", flat=True))
    assert all(name.startswith("view_") for name in codenames)


def test_an_ops_lead_makes_somebody_an_operator_and_undoes_it(operator: Operator, db: None) -> None:
    lead, person = operator(permissions.OPS_LEAD), factories.user("new@portal.example")
    somebody_else = factories.user("else@portal.example")
    act = address(User, "act", person.pk, "groups")
    lead.post(act, {"groups": [permissions.SUPPORT, permissions.BILLING], "reason": REASON})
    person.refresh_from_db()
    assert person.is_staff
    assert set(person.groups.values_list("name", flat=True)) == {permissions.SUPPORT, permissions.BILLING}
    assert not User.objects.get(pk=somebody_else.pk).is_staff

    lead.post(act, {"reason": REASON})
    person.refresh_from_db()
    assert not person.is_staff
    assert not person.groups.exists()
    assert User.objects.get(groups__name=permissions.OPS_LEAD).is_staff
    found = Audit.objects.filter(action="operator groups set").order_by("pk").values_list("reason", flat=True)
    assert list(found) == [f"Support, Billing: {REASON}", f"no operator any more: {REASON}"]


def test_a_new_operator_must_set_a_password_and_an_existing_one_keeps_theirs(
    operator: Operator, mailoutbox: Any
) -> None:
    person, old = factories.user("new@portal.example"), factories.user("old@portal.example", is_staff=True)
    for one in (person, old):
        one.set_password("twelve-chars")
        one.save()
    browser = Client()
    browser.force_login(person)
    lead = operator(permissions.OPS_LEAD)
    for one in (person, old):
        lead.post(address(User, "act", one.pk, "groups"), {"groups": [permissions.SUPPORT], "reason": REASON})
        one.refresh_from_db()
    assert (person.check_password("twelve-chars"), old.check_password("twelve-chars")) == (False, True)
    assert browser.get("/accounts/email/").status_code == 302  # logged out
    Client().post("/accounts/password/reset/", {"email": person.email})
    assert "/accounts/password/reset/key/" in mailoutbox[-1].body


def test_nobody_sets_their_own_groups(operator: Operator) -> None:
    lead = operator(permissions.OPS_LEAD)
    me = User.objects.get(is_staff=True)
    page = lead.post(address(User, "act", me.pk, "groups"), {"groups": [permissions.SUPPORT], "reason": REASON})
    assert "your own groups" in page.content.decode()
    assert me.groups.get().name == permissions.OPS_LEAD


def test_a_senders_member_cannot_become_an_operator(staff: Client, alice: User) -> None:
    url = address(User, "act", alice.pk, "groups")
    assert staff.post(url, {"groups": [permissions.SUPPORT], "reason": REASON}).status_code == 409


@pytest.mark.parametrize("act", ["turn-off", "log-out", "reset-second-factor"])
@pytest.mark.parametrize(
    ("group", "whom", "refused"),
    [
        (permissions.SUPPORT, "another operator", "Only an Ops lead"),
        (permissions.SUPPORT, "a superuser", "Only a superuser"),
        (permissions.OPS_LEAD, "a superuser", "Only a superuser"),
    ],
)
def test_nobody_weakens_the_account_of_an_operator_who_may_do_more(
    operator: Operator, sam: User, group: str, whom: str, refused: str, act: str
) -> None:
    other = factories.user("other@portal.example", is_staff=True)
    factories.second_factor(other)
    person = sam if whom == "a superuser" else other
    page = operator(group).post(address(User, "act", person.pk, act), {"reason": REASON})
    assert refused in page.content.decode()
    person.refresh_from_db()
    assert person.is_active
    assert person.authenticator_set.exists()


@pytest.mark.parametrize(
    ("group", "whom", "refused"),
    [
        (permissions.SUPPORT, "somebody new", "Only an Ops lead"),
        (permissions.SUPPORT, "another operator", "Only an Ops lead"),
        (permissions.OPS_LEAD, "a superuser", "Only a superuser"),
        ("a superuser", "a superuser", "in no group"),
        (permissions.OPS_LEAD, "who ships for a sender", "ships for a sender"),
    ],
)
def test_nobody_sets_groups_beyond_their_own_on_any_page(
    operator: Operator, sam: User, alice: User, group: str, whom: str, refused: str
) -> None:
    operator(group)
    by = factories.user("root@portal.example", is_staff=True, is_superuser=True)
    person = {
        "somebody new": factories.user("new@portal.example"),
        "another operator": factories.user("other@portal.example", is_staff=True),
        "a superuser": sam,
        "who ships for a sender": alice,
    }[whom]
    if group in permissions.GROUPS:
        by = User.objects.get(groups__name=group)
    was = person.is_staff
    with pytest.raises(Refused, match=refused):
        people.set_groups(person, [permissions.READ_ONLY], by=by, reason=REASON, now=timezone.now())
    person.refresh_from_db()
    assert (person.is_staff, person.groups.exists()) == (was, False)
