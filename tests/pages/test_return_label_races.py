"""Two browsers ask for a return's label at the same moment, on PostgreSQL."""

import threading
import time

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from orders.labels import return_links
from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from tests import factories
from tests.racing import at_once

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgres,
    pytest.mark.skipif("sqlite" in settings.DATABASES["default"]["ENGINE"], reason="SQLite lets one writer in"),
]


def test_only_one_of_two_simultaneous_browsers_gets_the_label(quill: Sender, alice: User) -> None:
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    order: Order = factories.order(quill, alice, status="booked", returns=sent)
    now = timezone.now()
    factories.stored_label(order).serve(at=now)  # or its row would keep the second browser waiting
    token = return_links.make_return_link(order, by=alice, now=now).split("/")[-3]
    links = [return_links.find_return_link(token, now) for _ in range(2)]
    assert links[0]
    assert links[1]
    is_taken = threading.Event()

    def first() -> bool:
        with transaction.atomic():
            content = return_links.use_return_link(links[0], now)
            is_taken.set()
            time.sleep(0.3)  # while the second waits for it
        return content is not None

    def second() -> bool:
        is_taken.wait(10)
        return return_links.use_return_link(links[1], now) is not None

    assert at_once(first, second) == [True, False]
    assert Audit.objects.filter(action="return label taken").count() == 1
