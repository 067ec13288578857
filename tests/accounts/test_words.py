"""Words, money and dates in the style of the sender's country."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone

from orders.models import Order
from shipping_portal.accounts.templatetags import words
from shipping_portal.carrier.messages import Money

MELBOURNE = SimpleNamespace(country="AU", tzinfo=ZoneInfo("Australia/Melbourne"))
PORTLAND = SimpleNamespace(country="US", tzinfo=ZoneInfo("America/Los_Angeles"))
AT = dt.datetime(2025, 11, 25, 3, 35, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def in_november_2025(monkeypatch: Any) -> None:
    monkeypatch.setattr(timezone, "now", lambda: AT)


def render(template: str, **context: Any) -> str:
    return Template(template).render(Context(context))


@pytest.mark.parametrize(
    ("country", "said"),
    [
        ("AU", "suburb Postcode state parcel"),
        ("US", "city ZIP code state package"),
        ("CA", "city Postal code province parcel"),
        ("GB", "town or city Postcode county parcel"),
        ("FR", "city Postcode state or province parcel"),
    ],
)
def test_words_follow_the_country(country: str, said: str) -> None:
    template = '{% word "suburb" %} {% word "Postcode" %} {% word "state" %} {% word "parcel" %}'
    assert render(template, sender=SimpleNamespace(country=country)) == said


def test_a_page_without_a_sender_uses_australian_words_unless_a_country_is_given() -> None:
    assert render('{% word "postcode" %} {% word "postcode" "US" %}') == "postcode ZIP code"


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        (Decimal("8.95"), "AUD", "$8.95"),
        ("1234.5", "USD", "$1,234.50"),
        (Decimal("-4.13"), "CAD", "−$4.13"),
        (3, "EUR", "EUR 3.00"),
        (Money(Decimal(9), "AUD"), "", "$9.00"),
        (None, "AUD", ""),
    ],
)
def test_money_is_written_as_expected(amount: Any, currency: str, shown: str) -> None:
    assert words.money(amount, currency) == shown


def test_a_total_names_its_currency_once() -> None:
    assert words.money_in(Decimal("8.95"), "AUD") == "$8.95 AUD"
    assert words.money_in(Decimal("8.95"), "EUR") == "EUR 8.95"


def test_numbers_lose_trailing_zeros_only_after_the_dot() -> None:
    assert [words.plain(Decimal(one)) for one in ("2.400", "100", "0.0", "1E+2")] == ["2.4", "100", "0", "100"]


def test_dates_and_times_are_in_the_senders_zone() -> None:
    assert words.local_date(AT, MELBOURNE) == "Tue 25 Nov"
    assert words.local_date(AT, PORTLAND) == "Mon, Nov 24"
    assert words.local_moment(AT, MELBOURNE) == "Tue 25 Nov, 2:35 pm"
    assert words.local_time(AT, PORTLAND) == "7:35 pm"
    assert words.local_date(None, MELBOURNE) == words.local_moment(None, MELBOURNE) == ""


def test_a_date_is_not_shifted_by_a_zone_and_another_year_is_named() -> None:
    assert words.local_date(dt.date(2025, 11, 25), PORTLAND) == "Tue, Nov 25"
    assert words.local_date(dt.date(2026, 1, 5), MELBOURNE) == "Mon 5 Jan 2026"
    assert words.local_date(dt.date(2026, 1, 5), PORTLAND) == "Mon, Jan 5, 2026"


def test_a_time_has_its_exact_instant_in_the_html() -> None:
    shown = render("{% when at %}", at=AT, sender=MELBOURNE)
    assert shown == '<time datetime="2025-11-25T03:35:00+00:00">Tue 25 Nov, 2:35 pm</time>'


def test_a_badge_has_an_icon_and_words_and_escapes_them() -> None:
    badge = words.chip("lost", "<b>Lost</b>")
    assert badge.startswith('<span class="badge bad"><svg class="i s" aria-hidden="true">')
    assert badge.endswith("</svg>&lt;b&gt;Lost&lt;/b&gt;</span>")
    assert 'class="badge "' in words.chip("a word nobody knows", "New")


def test_a_booked_parcel_shows_where_it_is_and_any_other_order_its_money() -> None:
    order = SimpleNamespace(status="booked", progress="delivered")
    order.get_progress_display, order.get_status_display = lambda: "Delivered", lambda: "Booked"
    assert "Delivered" in words.status_chip(order)
    order.status, order.get_status_display = "cancelled", lambda: "Cancelled"
    assert "Cancelled" in words.status_chip(order)


def test_every_status_and_progress_has_its_own_badge() -> None:
    states = {*Order.Status.values, *Order.Progress.values, "used_after_cancel", "cancel_refused"} - {""}
    assert states == set(words.BADGES)
