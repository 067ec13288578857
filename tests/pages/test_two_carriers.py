"""What senders and operators see if two carriers take new orders."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from orders.calling import gateway
from orders.models import CarrierAccount, CarrierCall, Order, Quote
from orders.quoting import choosing, offers
from shipping_portal.accounts.models import Sender, User
from shipping_portal.billing.models import Charge
from shipping_portal.billing.pages import statements
from shipping_portal.exporting.models import Export
from shipping_portal.importing.models import ImportRow
from tests import factories
from tests import second as other
from tests.orders.test_importing import GOOD, HEADER, work_off
from tests.pages.parcel_form import form
from tests.pages.test_imports import check_page, match, upload
from tests.pages.typed import ABROAD, AT_HOME, beside, text
from tests.sandbox.client import Client as Sandbox
from tests.sandbox.test_easypost import EasyPostClient
from tests.sandbox_carrier import SandboxCarrier
from tests.second import second  # noqa: F401  (a fixture)
from tests.test_query_counts import queries
from tests.tracking.test_exports import everything_of, packed, proof_of, rows
from tracking.models import Parcel, Watch

pytestmark = pytest.mark.django_db

Visit = Callable[[User], Client]


@pytest.fixture
def page(alice: User, visit: Visit) -> Client:
    return visit(alice)


@pytest.fixture
def both(carrier: SandboxCarrier, second: Sandbox, localities: None) -> Sandbox:  # noqa: F811
    return second


def two_offers(quill: Sender, alice: User, settings: Any, **cheaper: Any) -> Quote:
    """A quote with a similar offer from each carrier; the second's is cheaper and arrives later."""
    account = other.named(settings)
    quote = factories.quote(quill, alice)
    more = {"account": account.pk, "amount": "9.00", "eta_to": "2026-12-09", **cheaper}
    quote.products += [{**factories.OFFER, **more}]
    quote.save()
    return quote


def shown(page: Client, quote: Quote) -> list[offers.Offer]:
    found: list[offers.Offer] = page.get(factories.prices_of(quote)).context["page"].offers
    return found


# -- Prices ------------------------------------------------------------------------------------------


def test_both_carriers_offers_are_on_one_page_with_names_sorted_by_price(page, both):
    answer = page.post("/parcels/new/", AT_HOME, follow=True)
    found = answer.context["page"].offers
    assert {offer.carrier for offer in found} == {other.FIRST, other.SECOND}
    assert [offer.total for offer in found] == sorted(offer.total for offer in found)
    assert [offer.is_cheapest for offer in found] == [True] + [False] * (len(found) - 1)
    for words in (text(answer), text(beside(page, AT_HOME))):
        assert other.FIRST in words
        assert other.SECOND in words


def test_cheapest_and_fastest_are_marked_across_both(page, quill, alice, settings):
    cheaper, dearer = shown(page, two_offers(quill, alice, settings))
    assert (cheaper.carrier, cheaper.is_cheapest, cheaper.is_fastest) == (other.SECOND, True, False)
    assert (dearer.carrier, dearer.is_cheapest, dearer.is_fastest) == (other.FIRST, False, True)


def test_with_two_currencies_nothing_is_marked_cheapest(page, quill, alice, settings):
    own, foreign = shown(page, two_offers(quill, alice, settings, currency="USD"))
    assert (own.currency, foreign.currency) == ("AUD", "USD")
    assert (own.is_cheapest, foreign.is_cheapest) == (False, False)


def test_a_carrier_without_prices_is_named_with_what_to_do(page, both):
    both.control("trouble", operation="quote", verb="503")
    words = text(page.post("/parcels/new/", AT_HOME, follow=True))
    assert f"{other.SECOND} gave no prices just now." in words
    assert "or book one of these." in words
    assert other.FIRST in words


def test_a_carrier_that_refuses_the_parcel_is_named_with_its_reason(page, quill, alice, settings):
    quote = two_offers(quill, alice, settings)
    quote.missing = [{"account": other.account().pk, "is_refused": True, "why": "Street: <b>too</b> long."}]
    quote.save()
    answer = page.get(factories.prices_of(quote))
    assert f"{other.SECOND} offers nothing for this parcel. Street: <b>too</b> long." in text(answer)
    assert "<b>too</b>" not in answer.content.decode()


def test_the_button_books_at_the_carrier_on_its_card(page, quill, alice, settings):
    quote = two_offers(quill, alice, settings)
    body = page.get(factories.prices_of(quote)).content.decode()
    key = other.key(factories.OFFER["code"])
    assert f'name="product" value="{key}"' in body
    page.post(f"{factories.prices_of(quote)}book/", form(quote, product=key))
    page.post(f"{factories.prices_of(quote)}book/", form(quote))  # another carrier's button on the same page
    order = Order.objects.get()
    assert (order.account, str(order.price)) == (other.account(), "9.00")


def test_the_prices_take_the_same_number_of_queries_with_one_offer_or_many(page, quill, alice, settings):
    quote, counts = two_offers(quill, alice, settings), []
    for more in (0, 1, 20):
        quote.products += [{**quote.products[1], "code": f"OTHER-{more}-{number}"} for number in range(more)]
        quote.save()
        counts.append(queries(page, factories.prices_of(quote)))
    assert len(set(counts)) == 1


def test_a_country_that_only_one_carrier_serves_is_on_the_form(page, both, contract):
    contract('destinations = ["NZ"]\n')
    answer = page.post("/parcels/new/", ABROAD, follow=True)
    assert {offer.carrier for offer in answer.context["page"].offers} == {other.SECOND}
    assert answer.context["page"].missing == []


def test_with_one_account_no_carrier_is_named(page, carrier, localities, settings):
    settings.CARRIER_TITLE = other.FIRST
    assert other.FIRST not in text(page.post("/parcels/new/", AT_HOME, follow=True))


def test_the_pause_banner_shows_only_if_both_carriers_are_paused(page, quill, alice, settings):
    two_offers(quill, alice, settings)
    now = timezone.now()
    rows = type(other.account()).objects
    rows.filter(pk=other.account().pk).update(paused_at=now, pause_text="Closed.")
    assert "The carrier isn't taking bookings" not in text(page.get("/parcels/"))
    rows.update(paused_at=now, pause_text="Closed.")
    assert "The carrier isn't taking bookings" in text(page.get("/parcels/"))


# -- Imports -----------------------------------------------------------------------------------------


@pytest.fixture
def file(page: Client, both: Sandbox) -> Any:
    upload(page, "\n".join([HEADER, GOOD, GOOD.replace("1001", "1002")]))
    found = ImportRow.objects.first().file
    match(page, found)
    work_off(found)
    return found


def press(page: Client, file: Any, carrier: str) -> list[Order]:
    body = page.get(f"{check_page(file)}?carrier={carrier}").content.decode()
    hidden = dict(re.findall(r'name="(rows|newest|last|doubts|services|carrier)" value="([^"]*)"', body))
    page.post(reverse("book_import", args=[file.uuid]), {"rule": "cheapest", "pickup_date": "", **hidden})
    work_off(file)
    return list(Order.objects.all())


@pytest.mark.parametrize("which", ["first", "second", "any"])
def test_a_file_is_booked_with_the_carrier_that_was_chosen(page, file, which):
    default, two = gateway.current_account(), other.account()
    carrier = {"first": default.pk, "second": two.pk, "any": ""}[which]
    orders = press(page, file, str(carrier))
    quote = file.rows.first().quote
    cheapest = min(quote.products, key=lambda offer: float(offer["amount"]))
    wanted = {"first": default.pk, "second": two.pk, "any": quote.account_of(cheapest)}[which]
    assert [order.account_id for order in orders] == [wanted, wanted]


def test_a_senders_preferred_carrier_is_preselected_and_can_be_dropped(page, file, quill):
    names = ["", other.FIRST, other.SECOND]
    assert names[1:] == [title for _, title in choosing.carrier_choices()]
    form = page.get("/settings/booking/").context["form"]
    assert [value for value, _ in form.fields["default_carrier"].choices] == names
    page.post("/settings/booking/", {"service_rule": "cheapest", "default_carrier": other.SECOND, "default_size": ""})
    assert other.SECOND in text(page.get("/settings/"))
    assert page.get(check_page(file)).context["carrier"] == other.account().pk
    assert page.get(f"{check_page(file)}?carrier=").context["carrier"] is None
    assert f'value="{other.key()}"' in re.findall(r"<input[^>]* checked>", beside(page, AT_HOME).content.decode())[0]


def test_with_one_account_no_carrier_is_preferred(page, quill):
    assert "default_carrier" not in page.get("/settings/booking/").context["form"].fields


def test_rows_the_chosen_carrier_does_not_offer_stay_unbooked(page, file):
    row = file.rows.first()
    row.quote.products = [offer for offer in row.quote.products if "account" not in offer]
    row.quote.save()
    assert len(press(page, file, str(other.account().pk))) == 1
    row.refresh_from_db()
    assert row.state == "ready"


def test_one_row_may_use_the_other_carriers_service(page, file):
    row, key = file.rows.first(), other.key()
    page.post(reverse("choose_services", args=[file.uuid]), {f"service-{row.pk}": key})
    orders = {order.import_row.pk: order for order in press(page, file, str(gateway.current_account().pk))}
    assert (orders[row.pk].account, orders[row.pk].product_code) == (other.account(), other.CODE)
    assert {order.account for pk, order in orders.items() if pk != row.pk} == {gateway.current_account()}


def test_rows_without_a_carriers_prices_are_counted_and_retried(page, file):
    for row in file.rows.all():
        row.quote.missing = [{"account": other.account().pk, "is_refused": False, "why": ""}]
        row.quote.save()
    assert f"{other.SECOND} gave no prices for 2 rows." in text(page.get(check_page(file)))
    page.post(reverse("price_import_again", args=[file.uuid]))
    work_off(file)
    assert [row.quote.missing for row in file.rows.all()] == [[], []]


# -- Lists, statements and reports -------------------------------------------------------------------


@pytest.fixture
def orders(quill: Sender, alice: User, settings: Any) -> dict[str, Order]:
    account = other.named(settings)
    first, two = (
        factories.order(quill, alice, status="booked", account=one) for one in (gateway.current_account(), account)
    )
    factories.charge(first, amount="12.08")
    factories.charge(two, amount="9.00", account=account)
    factories.charge(two, "other-refund", amount="-1.00", account=account)
    return {"first": first, "second": two}


def test_the_list_is_filtered_by_carrier(page, orders):
    account = other.account().pk
    answer = page.get(f"/parcels/?carrier={account}")
    assert [row["order"] for row in answer.context["rows"]] == [orders["second"]]
    assert f"Carrier: {other.SECOND}" in text(answer)


def test_the_parcels_page_names_its_carrier(page, orders, settings):
    path = reverse("parcel", args=[orders["second"].uuid])
    assert f"Carrier {other.SECOND}" in text(page.get(path))
    settings.SECOND_CARRIER = {}
    assert other.SECOND not in text(page.get(path))


def test_a_statement_and_its_file_name_the_carrier_of_each_line(page, orders, settings):
    week = statements.week_name(Charge.objects.first().week)
    assert other.SECOND in text(page.get(f"/billing/{week}/"))
    content = b"".join(page.get(f"/billing/{week}/statement.csv").streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert sorted((row["Carrier"], row["Amount"]) for row in rows) == [
        (other.FIRST, "12.08"),
        (other.SECOND, "-1.00"),
        (other.SECOND, "9.00"),
    ]
    settings.SECOND_CARRIER = {}
    assert (
        "Carrier" not in b"".join(page.get(f"/billing/{week}/statement.csv").streaming_content).decode().splitlines()[0]
    )


def test_spend_is_reported_by_carrier(page, orders, settings):
    content = b"".join(page.get("/reports/carriers.csv").streaming_content).decode("utf-8-sig")
    rows = {row["Carrier"]: row["Total"] for row in csv.DictReader(io.StringIO(content))}
    assert rows == {other.FIRST: "12.08", other.SECOND: "8.00"}
    assert "Spend by carrier" in text(page.get("/reports/"))
    settings.SECOND_CARRIER = {}
    assert "Spend by carrier" not in text(page.get("/reports/"))


def test_spend_with_two_carriers_that_are_gone_is_added_up(page, orders):
    for name, amount in (("old-one", "5.00"), ("old-two", "7.00")):
        gone = CarrierAccount.objects.create(name=name, fingerprint=name)
        factories.charge(orders["first"], amount=amount, account=gone)
    content = b"".join(page.get("/reports/carriers.csv").streaming_content).decode("utf-8-sig")
    rows = {row["Carrier"]: row["Total"] for row in csv.DictReader(io.StringIO(content))}
    assert rows == {other.FIRST: "12.08", other.SECOND: "8.00", "Another carrier": "12.00"}


def in_parcels_csv(page: Client) -> dict[str, str]:
    content = b"".join(page.get("/parcels/export.csv").streaming_content).decode("utf-8-sig")
    return {row["Reference"]: row.get("Carrier", "no such column") for row in csv.DictReader(io.StringIO(content))}


def test_the_parcels_csv_and_the_copy_of_the_account_name_each_parcels_carrier(page, orders, quill, alice, settings):
    named = {orders["first"].carrier_reference: other.FIRST, orders["second"].carrier_reference: other.SECOND}
    assert in_parcels_csv(page) == named
    archive = packed(everything_of(quill, alice))
    assert {row["Reference"]: row["Carrier"] for row in rows(archive, "parcels.csv")} == named
    assert {row["Reference"]: row["Carrier"] for row in rows(archive, "charges.csv")} == named
    settings.SECOND_CARRIER = {}
    Export.objects.all().delete()
    assert set(in_parcels_csv(page).values()) == {"no such column"}
    archive = packed(everything_of(quill, alice))
    assert not [row for name in ("parcels.csv", "charges.csv") for row in rows(archive, name) if "Carrier" in row]


def test_a_proof_pack_names_its_carrier_where_there_are_two(orders, settings):
    archive = packed(proof_of(orders["second"]))
    assert json.loads(archive.read("proof.json"))["quote"]["carrier"] == other.SECOND
    assert re.search(rf"^Carrier: +{other.SECOND}$", archive.read("summary.txt").decode(), re.MULTILINE)
    settings.SECOND_CARRIER = {}
    Export.objects.all().delete()
    archive = packed(proof_of(orders["second"]))
    assert "carrier" not in json.loads(archive.read("proof.json"))["quote"]
    assert not re.search(r"^Carrier:", archive.read("summary.txt").decode(), re.MULTILINE)


# -- References booked elsewhere ---------------------------------------------------------------------


@pytest.fixture
def elsewhere(both: Sandbox) -> str:
    """A reference that only the second carrier knows."""
    return str(EasyPostClient(both.url).bought()["tracking_code"])


def asked_for_scans() -> list[int | None]:
    return list(CarrierCall.objects.filter(operation="track").order_by("pk").values_list("account", flat=True))


def test_an_unknown_reference_is_looked_up_once_at_each_carrier_and_tracked_where_it_has_scans(page, both, elsewhere):
    first, two = gateway.current_account(), other.account()
    both.control("scan", reference=elsewhere, status="in_transit")
    answer = page.post("/watch/", {"reference": elsewhere}, follow=True)
    assert (Watch.objects.get().parcel.account, asked_for_scans()) == (two, [first.pk, two.pk])
    assert f"Carrier: {other.SECOND}" in text(answer)
    Parcel.objects.update(last_scan_at=timezone.now())
    page.post("/watch/", {"reference": elsewhere})
    assert len(asked_for_scans()) == 2, "now it is known"


def test_without_a_scan_it_is_tracked_at_the_default_carrier_until_it_is_typed_again(page, both, elsewhere):
    answer = page.post("/watch/", {"reference": elsewhere, "name": "Clay"}, follow=True)
    assert Watch.objects.get().parcel.account == gateway.current_account()
    assert f"Carrier: {other.FIRST}" in text(answer)
    assert "watch it again after its first scan" in text(answer)
    both.control("scan", reference=elsewhere, status="in_transit")
    page.post("/watch/", {"reference": elsewhere, "name": "Clay"})
    watch = Watch.objects.get()
    assert (watch.parcel.account, watch.name) == (other.account(), "Clay")


def test_a_carrier_that_does_not_reply_is_skipped(page, both, elsewhere):
    both.control("scan", reference=elsewhere, status="in_transit")
    both.control("trouble", operation="track", verb="503")
    page.post("/watch/", {"reference": elsewhere})
    assert Watch.objects.get().parcel.account == gateway.current_account()


def test_a_person_waiting_on_two_pages_cannot_ask_on_a_third(page, both, elsewhere, alice):
    later = timezone.now() + timedelta(minutes=1)
    User.objects.filter(pk=alice.pk).update(waits_until=later, waits_also_until=later)
    answer = page.post("/watch/", {"reference": elsewhere})
    assert answer.status_code == 429
    assert "Two of your pages are waiting for the carrier already" in text(answer)
    assert asked_for_scans() == []


def test_with_one_account_nobody_is_asked_while_the_page_waits(page, carrier, settings):
    settings.CARRIER_TITLE = other.FIRST
    assert other.FIRST not in text(page.post("/watch/", {"reference": "S7K2QX9"}, follow=True))
    assert asked_for_scans() == []


# -- Operators ---------------------------------------------------------------------------------------


def test_operators_see_both_as_taking_orders(orders, sam, visit):
    staff = visit(sam)
    accounts = staff.get(reverse("admin:orders_carrieraccount_changelist")).content.decode()
    assert accounts.count("Takes new orders") == 2
    for action in ("pause-bookings", "pause-quotes"):
        url = reverse("admin:orders_carrieraccount_act", args=[other.account().pk, action])
        assert staff.get(url).status_code == 200


def test_operators_filter_orders_by_account(orders, sam, visit):
    url = reverse("admin:orders_order_changelist")
    found = visit(sam).get(url, {"account": other.account().pk}).context["cl"].queryset
    assert list(found) == [orders["second"]]
