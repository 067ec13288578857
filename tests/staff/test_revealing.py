"""Personal data in requests and replies: shown once, for a reason, with an audit row."""

from collections.abc import Callable

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse

from orders.models import Order
from shipping_portal.accounts.models import Audit, User
from shipping_portal.accounts.models.audit import subject_of
from tests.staff.conftest import REASON

Unclear = Callable[..., Order]
BODY = b'{ "receiver":{"contact":{"name":"Noor Tamsin"}},  "description":"4 Sample mugs" }'
SIGNED = "https://carrier.example/t/?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl"


def _url(order: Order) -> str:
    return reverse("admin:orders_order_reveal", args=[order.pk])


def test_with_a_reason_the_exact_bytes_are_shown_once_and_never_cached(
    staff: Client, sam: User, unclear: Unclear
) -> None:
    order = unclear(body=BODY, response=b'{"error": "no street named Sample"}')
    answer = staff.post(_url(order), {"reveal-reason": REASON})
    assert answer.context["attempts"][0]["request"] == BODY.decode()
    assert f"{order.receiver_name}, " in answer.context["people"]["Receiver"]
    assert order.receiver_line1 in answer.content.decode()
    assert "no street named Sample" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    row = Audit.objects.get()
    assert (row.action, row.actor, row.subject) == ("personal data revealed", sam, subject_of(order))
    assert (row.reason, row.sender) == (REASON, order.sender)
    for url in (_url(order), reverse("admin:orders_order_resolve", args=[order.pk])):
        assert "Noor Tamsin" not in staff.get(url).content.decode()
    assert Audit.objects.count() == 1


@pytest.mark.parametrize("reason", ["", "because", f"see {SIGNED}"])
def test_without_a_reason_nothing_is_shown(staff: Client, unclear: Unclear, reason: str) -> None:
    order = unclear(body=BODY)
    answer = staff.post(_url(order), {"reveal-reason": reason})
    assert answer.context["form"].errors["reason"]
    assert "Noor Tamsin" not in answer.content.decode()
    assert not Audit.objects.exists()


@pytest.mark.parametrize(
    "secret", [SIGNED, configured.CARRIER_KEY, configured.SECRET_KEY], ids=["signed link", "our key", "Django's key"]
)
def test_signed_links_and_secrets_stay_redacted(staff: Client, unclear: Unclear, secret: str) -> None:
    order = unclear(body=BODY.replace(b"4 Sample", secret.encode()), response=f"<a href='{secret}'>".encode())
    text = staff.post(_url(order), {"reveal-reason": REASON}).content.decode()
    assert "Noor Tamsin" in text
    assert secret not in text
    assert "token=" not in text


def test_it_is_offered_where_the_case_is_resolved(staff: Client, unclear: Unclear) -> None:
    order = unclear()
    page = staff.get(reverse("admin:orders_order_resolve", args=[order.pk])).content.decode()
    assert f'action="{_url(order)}"' in page
