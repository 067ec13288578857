"""While an operator sees as a sender, a parcel's page holds no control that would answer 403."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from orders.models import Order
from shipping_portal.accounts import seeing_as
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.test_access import PUBLIC_NAMES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("parcel_tools")]
CONTROL = re.compile(
    r'<(?:a|form|button|iframe|div|section)\b[^>]*?\b(?:href|action|formaction|src|hx-get|hx-post)="(/[^"#]*)'
)


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    made = factories.order(quill, alice, status="booked", carrier_reference="S7K2QX")
    factories.stored_label(made)
    factories.parcel(made)
    factories.charge(made)
    return made


@pytest.fixture
def onlooker(order: Order, sam: User) -> Client:
    browser = Client()
    browser.force_login(sam, backend="allauth.account.auth_backends.AuthenticationBackend")
    browser.post(f"/admin/accounts/sender/{order.sender.pk}/see_as/", {"reason": "she can't find her parcel"})
    return browser


def closed(page: Any) -> set[str]:
    """Names of the pages that its controls lead to and that are closed."""
    main = page.content.decode().partition("<main")[2].partition("</main>")[0]
    names = set()
    for url in CONTROL.findall(main):
        try:
            names.add(str(resolve(url.partition("?")[0]).url_name))
        except Resolver404:
            continue
    return names - seeing_as.PAGES - PUBLIC_NAMES - {"help_article", "help", "contact", "accounts_sender_stop_seeing"}


def test_the_parcels_page_has_none(order: Order, onlooker: Client) -> None:
    page = onlooker.get(f"/parcels/{order.uuid}/")
    assert page.status_code == 200
    assert closed(page) == set()


@pytest.mark.parametrize("url", ["/billing/", "/watch/"])
def test_nor_have_these(order: Order, onlooker: Client, url: str) -> None:
    page = onlooker.get(url)
    assert page.status_code == 200
    assert closed(page) == set()


def test_its_owner_sees_them_all(order: Order, alice: User) -> None:
    client = Client()
    client.force_login(alice, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert {"label", "tracking_page", "printed", "pack_proof", "cancel"} <= closed(
        client.get(f"/parcels/{order.uuid}/")
    )
