"""Unusual but valid values are accepted: tidied up, warned about or kept exactly as typed."""

from typing import Any

import pytest

from orders.models import Order, Quote
from shipping_portal.accounts.models import Locality, Sender, User
from tests import factories
from tests.catalogue.browsing import Browser, ListeningCarrier
from tests.catalogue.rows import rows
from tests.pages.typed import ABROAD, AT_HOME, text

pytestmark = pytest.mark.django_db

NEW = "/parcels/new/"
LOOKS_LIKE_CODE = ["{{7*7}}", "${jndi:ldap://x.example/a}", "<img src=x onerror=alert(1)>", "'; DROP TABLE x; --"]
DARWIN = {"receiver_suburb": "Darwin City", "receiver_postcode": "0800"}
SYDNEY = {"receiver_suburb": "Sydney"}


@pytest.fixture
def send(alices: Browser) -> Any:
    """`send(form)` presses See prices and opens the page of prices."""
    Locality.objects.filter(postcode="0800").update(suburb="DARWIN CITY", normalised="darwin city")

    def press(form: dict[str, str]) -> Any:
        answer = alices.send(NEW, form)
        assert answer.status_code == 302, answer.content.decode()
        return alices.get(answer["Location"])

    return press


@rows(
    "changes, part, sent",
    ("B16", "0800", DARWIN, "postcode", "0800"),
    ("B17", "a blank at the end", {**SYDNEY, "receiver_postcode": "2000 "}, "postcode", "2000"),
    ("B17", "a blank inside", {**SYDNEY, "receiver_postcode": " 20 00"}, "postcode", "2000"),
    ("B19", "au", {"receiver_country": "au"}, "country", "AU"),
    ("B2", "a no-break space", {"receiver_name": "Priya\u00a0 Nair"}, "name", "Priya Nair"),
    ("B2", "an accent in two characters", {"receiver_name": "Ame\u0301lie"}, "name", "Amélie"),
    ("B6", "a street named like the suburb", {"receiver_line1": "4 Brunswick Street"}, "line1", "4 Brunswick Street"),
    ("B7", "another company", {"receiver_company": "Nair Ceramics"}, "company", "Nair Ceramics"),
    ("B23", "capitals in the domain", {"receiver_email": "priya@Example.NET"}, "email", "priya@Example.NET"),
    ("B24", "dots and a plus", {"receiver_phone": "+61.491.570.156"}, "phone", "0491 570 156"),
)
def test_the_carrier_is_sent_the_tidied_value(
    send: Any, listener: ListeningCarrier, changes: dict[str, str], part: str, sent: str
) -> None:
    send({**AT_HOME, **changes})
    (shipment,) = listener.asked
    assert getattr(shipment.receiver, part) == sent


@rows(
    "changes, warning",
    (
        "B5",
        "41 characters",
        {"receiver_line1": "x" * 41},
        "Address line 1 is 41 of 40 characters. The end may not fit on the label.",
    ),
    (
        "B41",
        "sender and receiver the same",
        {"receiver_line1": "12 Example Lane", "receiver_suburb": "fitzroy", "receiver_postcode": "3065"},
        "This parcel goes to the address it starts from. Book it only if you mean that.",
    ),
)
def test_a_warning_is_shown_with_the_prices_before_anything_is_booked(
    send: Any, changes: dict[str, str], warning: str
) -> None:
    page = send({**AT_HOME, **changes})
    assert warning in text(page)
    assert "Book parcel, $12.08" in text(page)
    assert not Order.objects.exists()


@rows("typed", *(("B25", f"as typed {word[:8]}", word) for word in LOOKS_LIKE_CODE))
def test_code_in_a_text_field_is_shown_as_text_on_every_page(
    send: Any, alices: Browser, sams: Browser, listener: ListeningCarrier, typed: str
) -> None:
    """It is sent to the carrier unchanged and escaped wherever it is shown."""
    texts = ("receiver_name", "receiver_company", "receiver_line2", "description", "customer_reference")
    company = {"receiver_company": f"{typed} Ltd"}
    place = {"delivery_choice": "signature", "delivery_place": typed}
    pages = [send({**AT_HOME, **dict.fromkeys(texts, typed), **company, **place})]
    (shipment,) = listener.asked
    assert shipment.receiver.name == typed
    assert shipment.receiver.instructions == f"Signature on Delivery: {typed}"

    quote = Quote.objects.get()
    alices.send(
        f"{factories.prices_of(quote)}book/",
        {"product": "STANDARD-PICKUP", "form_token": quote.uuid},
        form_on=factories.prices_of(quote),
    )
    order = Order.objects.get()
    assert order.receiver_name == typed
    ours = ("parcels/", "parcels/new/?again={0}", "parcels/{0}/", "parcels/{0}/booking/", "parcels/{0}/cancel/")
    pages += [alices.get(f"/{page.format(order.uuid)}", follow=True) for page in ours]
    pages += [sams.get(f"/admin/orders/order/{page}") for page in ("", f"{order.pk}/change/", "?q=img")]
    for page in pages:
        assert page.status_code == 200
        assert "<img src=x" not in page.content.decode()
    assert typed in text(pages[0])
    assert "49" not in text(pages[0]).replace(order.receiver_phone, "")


@rows("form", ("B42", "under the Book button", AT_HOME), ("B42", "abroad too", ABROAD))
def test_the_page_says_that_booking_confirms_there_are_no_dangerous_goods(
    send: Any, form: dict[str, str], quill: Sender, alice: User
) -> None:
    assert quill.dangerous_goods_acknowledged_at
    assert "By booking you confirm there are no dangerous goods inside." in text(send(form))
