"""Rows past their period are deleted, unless somebody changes one at that moment."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from orders import retention
from orders.models import Draft
from shipping_portal.accounts.models import Sender, User
from tests import factories


@pytest.mark.django_db
def test_a_draft_changed_at_the_moment_of_deletion_is_kept(quill: Sender, alice: User) -> None:
    for _ in range(2):
        factories.prices_of(factories.quote(quill, alice))
    old, now = timezone.now() - dt.timedelta(days=31), timezone.now()
    Draft.objects.update(updated_at=old)
    edited = Draft.objects.order_by("pk")[0]
    edits = [edited]

    def edit_after_the_search(execute: Any, *query: Any) -> Any:
        found = execute(*query)
        if edits:
            Draft.objects.filter(pk=edits.pop().pk).update(updated_at=now)
        return found

    with connection.execute_wrapper(edit_after_the_search):
        assert retention.purge_drafts(now) == 1
    assert list(Draft.objects.all()) == [edited]
