"""The list: its whole state is in the URL, with fifty rows a page and the same few queries at any length."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from orders.models.statuses import Status
from orders.status.status_labels import GROUPS
from shipping_portal.accounts.models import Sender, User
from tests import factories
from tests.pages.typed import text

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def order(quill: Sender, alice: User) -> Callable[..., Order]:
    return lambda **fields: factories.order(quill, alice, **{"status": "booked", **fields})


def test_an_empty_list_leads_to_the_first_parcel(page: Client, vic: User, visit: Visit) -> None:
    assert "No parcels yet" in text(page.get("/parcels/"))
    assert 'href="/parcels/new/"' in page.get("/parcels/").content.decode()
    assert 'href="/parcels/new/"' not in visit(vic).get("/parcels/").content.decode()


def test_a_row_says_who_where_when_and_how_much(page: Client, order: Callable[..., Order]) -> None:
    made = order()
    words = text(page.get("/parcels/"))
    for part in (str(made), "PORTAL-100234", "Noor Tamsin", "HOBART TAS", "Booked", "$12.08", "1 parcel"):
        assert part in words


def test_a_bookkeeper_sees_initials(order: Callable[..., Order], bea: User, visit: Visit) -> None:
    order()
    words = text(visit(bea).get("/parcels/"))
    assert "N. Tamsin 7000" in words
    assert "Noor" not in words
    assert "HOBART" not in words


def test_only_your_own_parcels_are_listed(order: Callable[..., Order], bob: User, visit: Visit) -> None:
    order()
    assert "No parcels yet" in text(visit(bob).get("/parcels/"))


@pytest.mark.parametrize("q", ["noor", "TAMSIN cer", "example.net", "570 156", "hobart 7000", "portal-100234"])
def test_search_finds_words_in_any_case(page: Client, order: Callable[..., Order], q: str) -> None:
    order()
    assert "Noor Tamsin" in text(page.get("/parcels/", {"q": q}))


@pytest.mark.parametrize("q", ["%", "_", "'; DROP TABLE orders_order; --", "nobody", "\\"])
def test_search_treats_wildcards_literally(page: Client, order: Callable[..., Order], q: str) -> None:
    order()
    assert "No parcels match" in text(page.get("/parcels/", {"q": q}))


def test_a_very_long_search_or_one_with_control_characters_is_cut_and_harmless(
    page: Client, order: Callable[..., Order]
) -> None:
    order()
    answer = page.get("/parcels/", {"q": "x" * 10_000})
    assert f"“{'x' * 200}”" in text(answer)
    assert "Noor Tamsin" in text(page.get("/parcels/", {"q": "no\u200bor"}))


def test_your_own_reference_opens_its_parcel(
    page: Client, order: Callable[..., Order], bob: User, visit: Visit
) -> None:
    made = order()
    assert page.get("/parcels/", {"q": f" {str(made).lower()} "})["Location"] == f"/parcels/{made.uuid}/"
    assert visit(bob).get("/parcels/", {"q": str(made)}).status_code == 200


def test_a_reference_is_found_with_a_number_sign_and_an_order_number_keeps_its_own(
    page: Client, order: Callable[..., Order]
) -> None:
    made, other = order(customer_reference="#1360"), order(customer_reference="1360")
    for one in (made, other):
        Order.objects.filter(pk=one.pk).update(search=f"{one.search_text()} {str(one).lower()}")
    assert page.get("/parcels/", {"q": f"#{made}"})["Location"] == f"/parcels/{made.uuid}/"

    def found(q: str) -> list[str]:
        return [row["order"].customer_reference for row in page.get("/parcels/", {"q": q}).context["rows"]]

    assert found(f"noor #{str(other).lower()}") == ["1360"]
    assert found("#1360") == ["#1360"]


@pytest.mark.parametrize("typed", ["Sab12cD", "SAB12CD", "sab12cd"])
def test_a_mixed_case_reference_is_found_however_it_is_typed(
    page: Client, order: Callable[..., Order], typed: str
) -> None:
    made = order(carrier_reference="Sab12cD")
    assert page.get("/parcels/", {"q": typed})["Location"] == f"/parcels/{made.uuid}/"


@pytest.mark.parametrize(("who", "found"), [("bea", 0), ("vic", 0)])
def test_contact_details_are_not_found_by_those_who_may_not_see_them(
    order: Callable[..., Order], request: pytest.FixtureRequest, visit: Visit, who: str, found: int
) -> None:
    order()
    reader = visit(request.getfixturevalue(who))
    for q in ("noor.tamsin@example.net", "570"):
        assert f"{found} parcels" in text(reader.get("/parcels/", {"q": q}))
    assert "1 parcel" in text(reader.get("/parcels/", {"q": "portal-100"}))


@pytest.mark.parametrize(
    ("group", "fields"),
    [
        ("attention", {"status": "unconfirmed"}),
        ("attention", {"progress": "pickup_futile"}),
        ("attention", {"status": "cancelled", "used_after_cancel_at": timezone.now()}),
        ("waiting", {"progress": "pickup_missed"}),
        ("moving", {"progress": "in_transit"}),
        ("problem", {"progress": "damaged"}),
        ("delivered", {"progress": "delivered"}),
        ("cancelled", {"status": "cancelled"}),
        ("unbooked", {"status": "rejected"}),
    ],
)
def test_a_filter_shows_what_its_name_says(
    page: Client, order: Callable[..., Order], group: str, fields: dict[str, str]
) -> None:
    order(**fields)
    order(progress="collected") if group != "moving" else order(progress="delivered")
    assert "1 parcel" in text(page.get("/parcels/", {"status": group}))


@pytest.mark.parametrize("status", Status.values)
def test_every_parcel_is_in_some_filter(page: Client, order: Callable[..., Order], status: str) -> None:
    order(status=status)
    counts = [text(page.get("/parcels/", {"status": group})).count("Noor Tamsin") for group in GROUPS]
    assert sum(counts) > 0


@pytest.mark.parametrize("query", ["status=owner__password", "before=abc", "before=" + "9" * 30, "before=٣", "sort=x"])
def test_odd_queries_are_ignored(page: Client, order: Callable[..., Order], query: str) -> None:
    order()
    assert "Noor Tamsin" in text(page.get(f"/parcels/?{query}"))


def test_pages_have_fifty_rows_and_continue_by_key(page: Client, order: Callable[..., Order]) -> None:
    made = [order() for _ in range(53)]
    first = page.get("/parcels/?status=waiting")
    assert "53 parcels" in text(first)
    assert str(made[-1]) in text(first)
    assert str(made[2]) not in text(first)
    assert f"?status=waiting&amp;before={made[3].pk}" in first.content.decode()
    second = page.get(f"/parcels/?status=waiting&before={made[3].pk}")
    assert str(made[2]) in text(second)
    assert str(made[3]) not in text(second)
    assert "Older" not in text(second)


@pytest.mark.parametrize("rows", [1, 3, 60])
def test_queries_are_the_same_few_for_any_length(page: Client, order: Callable[..., Order], rows: int) -> None:
    for _ in range(rows):
        order(carrier_pickup_date=timezone.now().date())
    page.get("/parcels/")  # creates the carrier account's row
    with CaptureQueriesContext(connection) as queries:
        page.get("/parcels/?q=noor&status=waiting")
    assert len(queries) == 9, [query["sql"][:90] for query in queries]
