"""What the stories of tests/journeys found, each told once more in a few lines."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from orders import cancelling, resolving
from orders.models import Order
from shipping_portal.accounts.models import User
from tests.sandbox_carrier import SandboxCarrier

pytestmark = pytest.mark.django_db

Submit = Callable[..., Order]
REASON = "the carrier told us on the phone"


def test_a_case_settled_meanwhile_is_not_adopted_out_of_its_cancellation(
    booked: Submit, carrier: SandboxCarrier, alice: User, sam: User
) -> None:
    order = booked()
    cancelling.ask(order, by=alice, why="not sending it", now=timezone.now())
    with pytest.raises(resolving.CannotResolve, match="already resolved"):
        resolving.adopt(order, order.carrier_reference or "", by=sam, reason=REASON, now=timezone.now())
    cancelling.work(order.pk)
    assert Order.objects.get(pk=order.pk).status == "cancelled"
