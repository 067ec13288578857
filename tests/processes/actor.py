"""What a sender does in the portal under test: a process on that portal's database, told by lines of JSON."""

import json
import os
import sys
import uuid
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shipping_portal.settings"
django.setup()

from django.utils import timezone  # noqa: E402

from orders import booking  # noqa: E402
from orders.models import Order  # noqa: E402
from shipping_portal.accounts.models import Membership, Sender, User  # noqa: E402
from tests import factories  # noqa: E402


def cast() -> tuple[Sender, User]:
    membership = Membership.objects.select_related("sender", "user").first()
    if membership is None:
        sender = factories.sender(name="Campaign")
        user = factories.user("campaign@quill.example", name="Campaign")
        factories.pickup_address(sender, email=user.email)
        membership = factories.member(sender, user)
    return membership.sender, membership.user


def submit(count: int) -> list[str]:
    sender, user = cast()
    now = timezone.now()
    quote = factories.quote(sender, user, amount="999.00")  # never dearer than accepted
    orders = [
        booking.submit(
            quote=quote, code="STANDARD-PICKUP", by=user, form_token=uuid.uuid4(), pickup_date=None, now=now
        )
        for _ in range(count)
    ]
    return [str(order.uuid) for order in orders]


def states() -> dict[str, str]:
    return {str(key): status for key, status in Order.objects.values_list("uuid", "status")}


COMMANDS: dict[str, Any] = {"submit": submit, "orders": states}

if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        sys.stdout.write(json.dumps(COMMANDS[name](*arguments)) + "\n")
        sys.stdout.flush()
