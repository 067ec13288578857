"""Anybody with the link can download a return's label once. Opening the page alone uses nothing up; no log or row has the
token.
"""

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orders import retention
from orders.labels import return_links
from orders.models import Order, ReturnLink
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.jobs import erasing
from shipping_portal.refused import Refused
from tests import factories
from tests.log_lines import lines as lines
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def made(quill: Sender, alice: User) -> Order:
    """A booked return with its label."""
    sent = factories.order(quill, alice, status="booked", progress="delivered", progress_at=timezone.now())
    order = factories.order(quill, alice, status="booked", returns=sent, pickup=vars(factories.receiver()))
    factories.stored_label(order)
    return order


@pytest.fixture
def link(made: Order, alice: User) -> str:
    address = return_links.make_return_link(made, by=alice, now=timezone.now())
    return "/" + address.split("/", 3)[3]


def test_the_sender_makes_the_link_and_sees_it_once(made: Order, alice: User, visit: Visit) -> None:
    page, path = visit(alice), f"/parcels/{made.uuid}/return/label/"
    assert "Give them the label" in text(page.get(f"/parcels/{made.uuid}/"))
    answer = page.post(path, {"need": "make"}, follow=True)
    assert answer.redirect_chain == [(path, 302)]  # a reload makes no other link, which would end this one
    token = re.search(r"/follow/([\w-]{43})/label/", answer.content.decode())
    assert token
    assert answer["Cache-Control"] == "private, no-store, no-transform"
    again = page.get(path)
    assert token[1] not in again.content.decode()
    assert "The label isn't taken yet." in text(again)
    assert token[1] not in str(ReturnLink.objects.values())
    assert Client().get(f"/follow/{token[1]}/label/").status_code == 200


def test_opening_the_page_uses_nothing_and_one_click_downloads_the_label_once(link: str, made: Order) -> None:
    stranger = Client(enforce_csrf_checks=True)
    for method in (stranger.head, stranger.get, stranger.get):
        assert method(link).status_code == 200
    taken = stranger.post(link)
    assert taken["Content-Type"] == "application/pdf"
    assert taken.content == bytes(made.labels.get().file.content)
    assert "attachment" in taken["Content-Disposition"]
    assert (stranger.get(link).status_code, stranger.post(link).status_code) == (404, 404)
    assert Audit.objects.filter(action="return label taken").count() == 1


def test_the_page_is_not_cached_indexed_or_sent_as_a_referrer_and_sets_no_cookie(
    link: str, alice: User, visit: Visit
) -> None:
    for browser in (Client(), visit(alice)):
        for answer in (browser.get(link), browser.get("/follow/no-such-token/label/")):
            assert answer["Cache-Control"] == "private, no-store"
            assert answer["Referrer-Policy"] == "no-referrer"
            assert answer["X-Robots-Tag"].startswith("noindex")
            assert not answer.cookies
    taken = Client().post(link)
    assert (taken["Cache-Control"], taken["Referrer-Policy"]) == ("private, no-store", "no-referrer")


def test_the_page_names_the_business_and_no_person(link: str) -> None:
    words = text(Client().get(link))
    assert "Quill & Co gives you this label" in words.replace("&amp;", "&")
    assert not re.search("Noor|Tamsin|Sample Street|Ira|Example Lane|@", words)


def gone(link: str) -> bool:
    return Client().get(link).status_code == 404 and Client().post(link).status_code == 404


def test_the_link_expires(link: str) -> None:
    ReturnLink.objects.update(expires_at=timezone.now())
    assert gone(link)


def test_the_link_can_be_withdrawn_and_made_again(link: str, made: Order, alice: User, visit: Visit) -> None:
    path = f"/parcels/{made.uuid}/return/label/"
    assert "Withdrawn." in text(visit(alice).post(path, {"need": "withdraw"}, follow=True))
    assert gone(link)
    first = return_links.make_return_link(made, by=alice, now=timezone.now()).split("/", 3)[3]
    return_links.make_return_link(made, by=alice, now=timezone.now())
    assert gone(f"/{first}")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "cancelling"},
        {"progress": "in_transit"},
        {"progress": "expired"},
        {"status": "cancelled", "cancelled_at": timezone.now()},
    ],
)
def test_a_label_that_must_not_be_used_is_not_given_out(link: str, made: Order, changes: dict[str, Any]) -> None:
    Order.objects.filter(pk=made.pk).update(**changes)
    assert gone(link)


def test_while_dispatch_is_stopped_no_label_is_given(link: str, quill: Sender, sam: User) -> None:
    quill.suspend(by=sam, category="terms", text="See us.", note="", now=timezone.now(), stop_dispatch=True)
    assert gone(link)


def test_a_label_that_cannot_be_read_does_not_use_up_the_link(link: str, made: Order) -> None:
    made.labels.update(sha256="0" * 64)
    assert Client().post(link).status_code == 503
    assert ReturnLink.objects.get().taken_at is None


def test_a_label_checked_after_a_restore_does_not_use_up_the_link(
    link: str, made: Order, alice: User, visit: Visit
) -> None:
    made.labels.update(state="withheld")
    answer = Client().post(link)
    assert (answer.status_code, "Your link stays good" in text(answer)) == (503, True)
    assert ReturnLink.objects.get().taken_at is None
    told = text(visit(alice).post(f"/parcels/{made.uuid}/return/label/", {"need": "make"}, follow=True))
    assert "We are asking the carrier whether it is still booked. Its label comes back after that." in told
    made.labels.update(state="stored")
    assert Client().post(link).status_code == 200


def test_only_a_returns_label_is_given(quill: Sender, alice: User, visit: Visit) -> None:
    order = factories.order(quill, alice, status="booked")
    factories.stored_label(order)
    answer = visit(alice).post(f"/parcels/{order.uuid}/return/label/", {"need": "make"}, follow=True)
    assert "Only a return's label can be given away." in text(answer).replace("&#x27;", "'")
    with pytest.raises(Refused):
        return_links.make_return_link(order, by=alice, now=timezone.now())


def test_wrong_links_are_limited_to_sixty_a_minute() -> None:
    found = [Client().get(f"/follow/guess-{number}/label/").status_code for number in range(62)]
    assert found == [404] * 60 + [429] * 2


def test_no_log_has_the_token(link: str, lines: Callable[[], list[str]]) -> None:
    token = link.split("/")[2]
    Client().post(link)
    Client().post(link)
    Client().get(f"{link}more/")
    written = "\n".join(lines())
    assert "/follow/[cut]/label/" in written
    assert token not in written


def test_erasing_the_receiver_ends_the_link(link: str, made: Order) -> None:
    erasing.erase({"order": {made.pk}})
    assert not ReturnLink.objects.exists()
    made.refresh_from_db()
    assert "Noor" not in str(made.pickup)


def test_an_old_link_is_deleted(link: str) -> None:
    ReturnLink.objects.update(expires_at=timezone.now() - dt.timedelta(days=15))
    retention.purge_return_links(timezone.now())
    assert not ReturnLink.objects.exists()
