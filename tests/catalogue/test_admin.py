"""The admin: records are read-only, lookups can't reach passwords, and only operators get in."""

import logging
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from orders.models import BookingAttempt, Label, Order
from shipping_portal.accounts.models import Audit, PickupAddress, Sender, User
from tests import factories
from tests.catalogue.browsing import Browser
from tests.catalogue.rows import rows
from tests.pages.typed import text
from tests.staff import cases
from tracking.models import TrackingEvent

pytestmark = pytest.mark.django_db

ORDERS = "/admin/orders/order/"


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked")


@pytest.fixture
def facts(order: Order, alice: User) -> dict[type[Model], Model]:
    """One of each kind of record that is never deleted."""
    factories.event(factories.parcel(order))
    factories.stored_label(order)
    cases.unclear(order.sender, alice)
    Audit.write("looked", order, by=alice, at=timezone.now(), sender=order.sender)
    kinds = (Order, TrackingEvent, BookingAttempt, Audit, Label, Sender, User, PickupAddress)
    return {kind: kind._default_manager.first() for kind in kinds}


def page(thing: Any, name: str) -> str:
    return reverse(f"admin:{thing._meta.app_label}_{thing._meta.model_name}_{name}", args=[thing.pk])


@rows(
    "forged",
    ("A1", "carrier's reference", {"carrier_reference": "SFORGED1"}),
    ("A1", "state", {"status": "cancelled", "state": "cancelled"}),
    ("A1", "price", {"price": "0.01", "charged_price": "0.01", "currency": "XXX"}),
    ("A1", "all of it, saved", {"sender": "1", "receiver_name": "Mallory", "_save": "Save"}),
)
def test_read_only_fields_in_a_post_change_nothing(sams: Browser, order: Order, forged: dict[str, str]) -> None:
    before = Order.objects.filter(pk=order.pk).values().get()
    assert sams.send(page(order, "change"), forged).status_code == 403
    assert Order.objects.filter(pk=order.pk).values().get() == before


@rows(
    "kind",
    ("A2", "order", Order),
    ("A2", "event", TrackingEvent),
    ("A2", "attempt", BookingAttempt),
    ("A2", "audit", Audit),
    ("A2", "label", Label),
    ("A2", "sender", Sender),
    ("A2", "person", User),
)
def test_nobody_can_delete_a_permanent_record(
    sams: Browser, facts: dict[type[Model], Model], kind: type[Model]
) -> None:
    """Not even Sam, who is a superuser."""
    fact = facts[kind]
    assert sams.get(page(fact, "delete")).status_code == 403
    assert sams.send(page(fact, "delete"), {"post": "yes"}, form_on="/admin/").status_code == 403
    assert type(fact)._default_manager.filter(pk=fact.pk).exists()


@rows("act", ("A3", "delete 101", "delete_selected"), ("A3", "cancel 101", "cancel_selected"))
def test_the_admin_has_no_bulk_action_on_orders(sams: Browser, order: Order, act: str) -> None:
    """Only a sender cancels, one parcel at a time. The list of orders in the admin has no actions."""
    Order.objects.bulk_create(factories.copy_of(order, number) for number in range(100))
    chosen = list(Order.objects.values_list("pk", flat=True))
    form = {"action": act, "_selected_action": chosen, "select_across": "1", "index": "0", "post": "yes"}
    assert sams.send(ORDERS, form, form_on="/admin/").status_code in {200, 302, 403}
    assert Order.objects.filter(status="booked").count() == len(chosen) == 101


@pytest.fixture
def reader(db: None) -> User:
    """An operator who may only view orders."""
    person = factories.user("reader@portal.example", is_staff=True)
    group = Group.objects.create(name="Of no table")
    group.permissions.add(Permission.objects.get(codename="view_order"))
    person.groups.add(group)
    factories.second_factor(person)
    return person


@rows(
    "address",
    ("A4", "resolve an unclear order", "/admin/orders/order/{}/resolve/"),
    ("A4", "its attempts", "/admin/orders/bookingattempt/"),
    ("A4", "the audit", "/admin/accounts/audit/"),
    ("A4", "suspend its sender", "/admin/accounts/sender/{sender}/acts/suspend/"),
)
def test_an_operator_without_the_permission_is_refused_and_it_is_logged(
    reader: User, quill: Sender, alice: User, address: str, caplog: Any
) -> None:
    caplog.set_level(logging.WARNING, "django.request")
    unclear = cases.unclear(quill, alice)
    address = address.format(unclear.pk, sender=quill.pk)
    answer = Browser(reader).get(address)
    assert answer.status_code == 403
    assert "Nothing was changed." in text(answer)
    assert f"Forbidden (Permission denied): {address}" in caplog.text


@rows(
    "address",
    ("A5", "of the one who booked", f"{ORDERS}?made_by__password__startswith=argon2"),
    ("A5", "by a pattern", f"{ORDERS}?made_by__password__regex=^argon2"),
    ("A5", "of an owner", "/admin/accounts/sender/?memberships__user__password__startswith=argon2"),
    ("A5", "of a person", "/admin/accounts/user/?password__startswith=argon2"),
    ("A5", "the second factor", "/admin/accounts/user/?authenticator__data__contains=secret"),
    ("A5", "a session of the audit's actor", "/admin/accounts/audit/?actor__password__contains=a"),
)
def test_a_lookup_through_the_password_is_refused(sams: Browser, order: Order, address: str) -> None:
    assert sams.get(address).status_code == 400


@rows(
    "query",
    ("B39", "staff, column 99", "o=99.-98"),
    ("B39", "staff, an unknown column", "o=password"),
    ("B39", "staff, page 1,000,000", "p=1000000"),
    ("B39", "staff, an invalid page", "p=x"),
    ("B39", "staff, an unknown field", "no_such_field=1"),
    ("B39", "staff, an unknown status", "status__exact=%27"),
    ("B39", "staff, NUL", "status__exact=%00"),
    ("B40", "staff, percent", "q=%25"),
    ("B40", "staff, NUL", "q=%00"),
    ("B40", "staff, 10 kB", "q=" + "x" * 10_000),
    ("B40", "staff, drop table", "q=%27%3B+DROP+TABLE+orders_order%3B--"),
    ("B40", "staff, a sender of 30 digits", "q=A-" + "9" * 30),
    ("B40", "staff, digits of another script", "q=A-%D9%A3"),
)
@pytest.mark.postgres
def test_an_odd_query_gives_a_list_of_orders_or_a_refusal(sams: Browser, order: Order, query: str) -> None:
    assert sams.get(f"{ORDERS}?{query}").status_code in {200, 302, 400}
    assert Order.objects.filter(pk=order.pk).exists()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "model", [str(model._meta).replace(".", "_") for model, page in admin.site._registry.items() if page.search_fields]
)
def test_a_list_is_not_searched_for_a_thousand_words(sams: Browser, model: str) -> None:
    answer = sams.get(f"{reverse(f'admin:{model}_changelist')}?q={'A1+' * 1000}")
    assert answer.status_code == 200
    assert "Nothing was searched" in text(answer)
    assert not answer.context["cl"].result_list


@rows(
    "key",
    ("B37", "staff, a word", "x"),
    ("B37", "staff, NUL", "%00"),
    ("B37", "staff, 30 digits", "9" * 30),
    ("B37", "staff, a superscript digit", "²"),
    ("B37", "staff, digits of another script", "٣"),
)
@pytest.mark.postgres
def test_an_order_with_an_odd_key_is_not_found(sams: Browser, order: Order, key: str) -> None:
    for end in ("change/", "resolve/", "history/"):
        assert sams.get(f"{ORDERS}{key}/{end}").status_code in {302, 404}


@rows("address", ("A14", "its front", "/admin/"), ("A14", "its login page", "/admin/login/"), ("A14", "a list", ORDERS))
def test_a_sender_cannot_find_the_admin(alices: Browser, address: str) -> None:
    answer = alices.client.get(address, follow=True)
    assert answer.status_code == 404
    assert "desk" not in text(answer).casefold()
    assert "admin" not in text(answer).casefold()


@rows("", ("A14", "logs in at its login page"))
def test_a_senders_login_at_the_admin_does_not_open_it(alice: User) -> None:
    alice.set_password(factories.PASSWORD)
    alice.save()
    browser = Browser()
    door = browser.client.get("/admin/", follow=True)
    log_in = f"{door.request['PATH_INFO']}?{door.request['QUERY_STRING']}"
    answer = browser.send(log_in, {"login": alice.email, "password": factories.PASSWORD})
    there = browser.client.get(answer["Location"], follow=True)
    assert there.status_code in {200, 404}
    assert "desk" not in text(there).casefold()
