"""Made-up URLs: other people's objects, and odd ids, query keys and searches."""

import uuid

import pytest
from django.test import Client

from orders.models import Order
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.catalogue.browsing import Browser, ListeningCarrier, encoded
from tests.catalogue.rows import rows
from tests.pages.typed import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(quill: Sender, alice: User) -> Order:
    return factories.order(quill, alice, status="booked", receiver_name="Noor Tamsin")


@rows(
    "method, address",
    ("B26", "open", "get", "{}"),
    ("B26", "check again", "post", "{}"),
    ("B26", "book", "post", "{}book/"),
    ("B26", "open by an older address", "get", "/parcels/new/{quote}/"),
    ("B26", "book by an older address", "post", "/parcels/new/{quote}/book/"),
    ("B26", "edit", "get", "/parcels/new/?quote={quote}"),
)
def test_somebody_elses_quote_is_not_found(
    alices: Browser, bob: User, listener: ListeningCarrier, method: str, address: str
) -> None:
    theirs = factories.quote(bob.membership.sender, bob)
    address = address.format(factories.prices_of(theirs), quote=theirs.uuid)
    form = {"product": "STANDARD-PICKUP", "form_token": theirs.uuid}
    answer = alices.get(address) if method == "get" else alices.send(address, form, form_on="/help/")
    assert answer.status_code == 404
    assert not Order.objects.exists()
    assert listener.asked == []


@rows(
    "address",
    ("B37", "upper case", "/parcels/{upper}/"),
    ("B37", "braces", "/parcels/{{{id}}}/"),
    ("B37", "encoded braces", "/parcels/%7B{id}%7D/"),
    ("B37", "as a urn", "/parcels/urn:uuid:{id}/"),
    ("B37", "no dashes", "/parcels/{hex}/"),
    ("B37", "one folder up", "/parcels/../{id}/"),
    ("B37", "one folder up, encoded", "/parcels/%2e%2e/{id}/"),
    ("B37", "only dots", "/parcels/%2e%2e/"),
    ("B37", "NUL", "/parcels/%00/"),
    ("B37", "NUL at the end", "/parcels/{id}%00/"),
    ("B37", "NUL after a page", "/parcels/{id}/cancel/%00"),
    ("B37", "a line break at the end", "/parcels/{id}%0a/"),
    ("B37", "bytes that aren't UTF-8", "/parcels/%ff%fe/"),
    ("B37", "a blank", "/parcels/%20{id}/"),
    ("B37", "digits of another script", "/parcels/٣{id}/"),
    ("B37", "another label size", "/parcels/{id}/label/huge.pdf"),
    ("B37", "a label one folder up", "/parcels/{id}/label/..%2ffull.pdf"),
    ("B37", "an unknown quote", "/parcels/new/{id}/"),
    ("B37", "an unknown draft", "/parcels/drafts/{id}/"),
    ("B37", "prices of an unknown draft", "/parcels/drafts/{id}/prices/"),
    ("B37", "an invalid order to send again", "/parcels/new/?again={upper}x"),
    ("B37", "10 kB", "/parcels/" + "a" * 10_000 + "/"),
)
@pytest.mark.postgres
def test_an_odd_url_of_a_parcel_is_not_found(alices: Browser, order: Order, address: str) -> None:
    names = {"id": order.uuid, "upper": str(order.uuid).upper(), "hex": order.uuid.hex}
    answer = alices.get(address.format(**names))
    assert answer.status_code == 404
    assert "We can't find that page or parcel Check the address, or search for the parcel by its" in text(answer)


@rows("page", ("B38", "book", "book/"), ("B38", "confirm", "confirm/"), ("B38", "stop watching", "stop/"))
def test_a_get_changes_nothing(alices: Browser, order: Order, quill: Sender, alice: User, page: str) -> None:
    watch = factories.watch(quill, alice)
    of = {"book/": factories.prices_of(order.quote).strip("/"), "confirm/": f"parcels/{order.uuid}"}
    address = f"/{of.get(page, f'watch/{watch.uuid}')}/{page}"
    for method in ("get", "head"):
        answer = getattr(Client(), method)(address)
        assert answer.status_code == 302, method  # a stranger is asked to log in
    alices.client.handler.enforce_csrf_checks = False  # a forged token is another row
    for method in ("get", "head", "put", "delete", "patch"):
        assert getattr(alices.client, method)(address).status_code == 405
    order.refresh_from_db()
    assert order.status == "booked"


@pytest.mark.parametrize("address", ["/parcels/cancel/", "/parcels/note/", "/settings/team/second-factor/"])
def test_the_address_of_a_button_says_that_nothing_was_done(alices: Browser, address: str) -> None:
    """A browser that restores its tabs opens these addresses, and its own page for a 405 has no way on."""
    answer = alices.client.get(address)
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "Nothing was done" in text(answer)
    assert 'href="/"' in answer.content.decode()


@rows("", ("B38", "cancel"))
def test_opening_the_cancel_page_cancels_nothing(alices: Browser, order: Order) -> None:
    answer = alices.get(f"/parcels/{order.uuid}/cancel/?need=not_sending")
    assert answer.status_code == 200
    order.refresh_from_db()
    assert order.status == "booked"


@rows(
    "query",
    ("B39", "sort by a password", "sort=owner__password"),
    ("B39", "order by a password", "order_by=made_by__password&o=-made_by__password"),
    ("B39", "filter by a pattern", "made_by__password__regex=^argon2&receiver_name__regex=x"),
    ("B39", "an unknown group", "status=owner__password"),
    ("B39", "page 1,000,000", "page=1000000&p=1000000"),
    ("B39", "before nothing", "before=-1"),
    ("B39", "before 30 digits", "before=" + "9" * 30),
    ("B39", "before a word", "before=pk__in"),
    ("B39", "before digits of another script", "before=٣"),
    ("B39", "2,000 keys", "&".join(f"k{n}=1" for n in range(2000))),
)
def test_unknown_query_keys_do_not_change_the_list(alices: Browser, order: Order, query: str) -> None:
    answer = alices.get(f"/parcels/?{query}")
    assert answer.status_code in {200, 400}
    if answer.status_code == 200:
        assert "Noor Tamsin" in text(answer)


@rows("page", ("B39", "before the only one", "before={}"), ("B39", "before the first", "before=0"))
def test_a_page_past_the_end_is_empty(alices: Browser, order: Order, page: str) -> None:
    answer = alices.get(f"/parcels/?{page.format(order.pk)}")
    assert answer.status_code == 200
    assert "Noor Tamsin" not in text(answer)


@pytest.fixture
def two_named(quill: Sender, alice: User) -> None:
    """A parcel with characters in its name that mean something to a database, and a plain one."""
    for name in ("Fifty % off_line 'n \\ more", "Plain Nair"):
        order = factories.order(quill, alice, receiver_name=name)
        order.search = order.search_text()
        order.save()


@rows(
    "typed, count",
    ("B40", "percent", "%", 1),
    ("B40", "underscore", "_", 1),
    ("B40", "backslash", "\\", 1),
    ("B40", "quote", "'", 1),
    ("B40", "drop table", "'; DROP TABLE orders_order; --", 0),
    ("B40", "a pattern", ".*", 0),
    ("B40", "10 kB", "x" * 10_000, 0),
    ("B40", "NUL", "\x00", None),
    ("B40", "only invisible", "\u200b", 2),
    ("B40", "a surrogate", "\ud800", 0),
    ("B40", "many words", "plain " * 30, 1),
)
@pytest.mark.postgres
def test_a_search_is_read_literally(alices: Browser, two_named: None, typed: str, count: int | None) -> None:
    answer = alices.get(f"/parcels/?{encoded({'q': typed}).decode()}")
    if count is None:
        assert answer.status_code == 400
        return
    assert answer.status_code == 200
    assert answer.context["count"] == count
    assert len(answer.context["q"]) <= 200


@rows("", ("B37", "an unknown one"))
def test_an_unknown_parcel_is_not_found(alices: Browser) -> None:
    assert alices.get(f"/parcels/{uuid.uuid4()}/").status_code == 404


@rows(
    "query",
    ("B40", "suggest, percent", "q=%25"),
    ("B40", "suggest, a digit and the last character there is", "q=3%F4%8F%BF%BF"),
    ("B40", "suggest, a digit and the last before the surrogates", "q=3%ED%9F%BF"),
    ("B40", "suggest, the last character alone", "q=%F4%8F%BF%BF"),
    ("B40", "suggest, 10 kB of words", "q=" + "mt+" * 3000),
    ("B40", "suggest, drop table", "q=%27%3B+DROP+TABLE+accounts_locality%3B--"),
    ("B40", "suggest, an unknown country", "q=fitz&country=%F0%9F%A6%98"),
)
@pytest.mark.postgres
def test_nothing_is_suggested_for_text_that_no_place_starts_with(alices: Browser, query: str) -> None:
    answer = alices.get(f"/suggest/localities/?{query}")
    assert (answer.status_code, answer.json()) == (200, [])
