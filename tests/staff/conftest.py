"""Sam in the admin, and the orders that end up there."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from orders.models import CarrierCall, DailySpend, Label, Order
from shipping_portal.accounts.adminkit import permissions
from shipping_portal.accounts.models import Audit, LocalityAlias, Sender, User
from shipping_portal.billing.models import ChargeWord, Dispute
from shipping_portal.billing.reports.fields import profile_of
from shipping_portal.jobs.models import DeadLetter
from tests import factories
from tests.orders.conftest import booked, submitted
from tests.staff import cases
from tracking.models import EventWord, WebhookTally

__all__ = ["booked", "submitted"]  # pytest finds it here

REASON = "the carrier told us on the phone"


@pytest.fixture
def staff(visit: Callable[[User], Client], sam: User) -> Client:
    """Sam's browser."""
    return visit(sam)


@pytest.fixture
def unclear(quill: Sender, alice: User) -> Callable[..., Order]:
    """`unclear()` is an order whose only attempt was sent and got no usable reply."""

    def make(*, of: Sender = quill, **choices: Any) -> Order:
        return cases.unclear(of, alice, **choices)

    return make


@pytest.fixture
def operator(visit: Callable[[User], Client], db: None) -> Callable[[str], Client]:
    """`operator("Support")` is the browser of somebody in that group; `operator("")` is in no group."""

    def made(group: str) -> Client:
        permissions.update_groups()
        person = factories.user(f"op{User.objects.count()}@portal.example", is_staff=True)
        factories.second_factor(person)
        person.groups.set(Group.objects.filter(name=group))
        return visit(person)

    return made


@pytest.fixture
def row(unclear: Callable[..., Order], alice: User, quill: Sender, localities: None) -> Callable[[], None]:
    """`row()` adds one more of every object the admin lists."""

    def add() -> None:
        number = Order.objects.count()
        DailySpend.objects.create(day=timezone.now().date() - dt.timedelta(days=number))
        order = unclear()
        booked = factories.order(quill, alice, status="booked")
        booked.changes.create(old="booking", new="booked", at=timezone.now(), reason="booked", by=alice)
        Label.objects.create(order=booked, size="full", state="failed", problem="gone")
        CarrierCall.objects.create(
            at=timezone.now(),
            operation="book",
            method="POST",
            path="/orders",
            milliseconds=9,
            outcome="ok",
            order=order,
        )
        DeadLetter.objects.create(job="book", row=order.pk, failures=5, parked_at=timezone.now())
        factories.import_row(quill, alice)
        parcel = factories.parcel(booked)
        event = factories.event(parcel)
        factories.delivery(body=b"{}", state="stored", event=event)
        WebhookTally.objects.create(day=timezone.now().date(), reason=f"wrong {number}", count=1)
        EventWord.objects.create(word=f"word {number}", first_seen_at=timezone.now())
        charge = factories.charge(booked, line=number + 2)
        Dispute.objects.create(charge=charge, sender=quill, made_by=alice, made_at=timezone.now(), text="Why?")
        ChargeWord.objects.create(word=f"word {number}", first_seen_at=timezone.now())
        profile_of(charge.account)
        LocalityAlias.objects.create(word=f"MT{number}", stands_for="MOUNT")
        factories.api_token(alice)
        factories.webhook_endpoint(quill, alice)
        factories.restore(lifted_at=timezone.now())
        Audit.write("looked", order, by=alice, at=timezone.now(), sender=quill)
        factories.member(factories.sender(name=f"Business {number}"), factories.user(f"u{number}@example.org"))

    return add
