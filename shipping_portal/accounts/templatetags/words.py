"""Words, units, money and dates as a country says them, mostly the sender's. Loaded in every template."""

import datetime as dt
from decimal import Decimal
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from shipping_portal import brand
from shipping_portal.accounts import demo
from shipping_portal.db.keyset import MOST_COUNTED

register = template.Library()

ELSEWHERE = ""  # any country without a word of its own
WORDS = {
    "suburb": {"AU": "suburb", "GB": "town or city", ELSEWHERE: "city"},
    "state": {"AU": "state", "CA": "province", "GB": "county", "US": "state", ELSEWHERE: "state or province"},
    "postcode": {"CA": "postal code", "US": "ZIP code", ELSEWHERE: "postcode"},
    "parcel": {"US": "package", ELSEWHERE: "parcel"},
    "parcels": {"US": "packages", ELSEWHERE: "parcels"},
    "mass": {"US": "lb", ELSEWHERE: "kg"},
    "length": {"US": "in", ELSEWHERE: "cm"},
    "paper": {"CA": "Letter", "US": "Letter", ELSEWHERE: "A4"},
    "suburbs": {"AU": "suburbs", ELSEWHERE: "cities"},
}
PLACE = ("suburb", "state", "postcode")
DEFAULT_COUNTRY = "AU"
DOLLARS = {"AUD", "CAD", "USD", ""}
# Tone and icon of a status: colour is never the only difference, and the words always stand beside the icon.
BADGES = {
    "draft": ("", "edit"),
    "booking": ("on", "clock"),
    "booked": ("ok", "check"),
    "rejected": ("bad", "x"),
    "unconfirmed": ("warn", "clock"),
    "not_booked": ("bad", "x"),
    "conflict": ("warn", "alert"),
    "cancelling": ("on", "clock"),
    "cancel_unconfirmed": ("warn", "clock"),
    "cancelled": ("", "x"),
    "used_after_cancel": ("bad", "alert"),
    "cancel_refused": ("warn", "alert"),
    "collected": ("on", "truck"),
    "dropped_off": ("on", "pin"),
    "pickup_missed": ("warn", "alert"),
    "pickup_futile": ("warn", "alert"),
    "in_transit": ("on", "truck"),
    "out_for_delivery": ("on", "truck"),
    "delivery_attempted": ("warn", "alert"),
    "held": ("warn", "alert"),
    "delivered": ("ok", "check"),
    "cannot_deliver": ("bad", "x"),
    "damaged": ("bad", "alert"),
    "lost": ("bad", "alert"),
    "returning": ("warn", "truck"),
    "expired": ("", "clock"),
}


def say(word: str, country: str) -> str:
    """Return a word as that country says it: `say("postcode", "US")` is `ZIP code`. A capital is kept."""
    term = WORDS[word.lower()].get(country, WORDS[word.lower()][ELSEWHERE])
    return term[0].upper() + term[1:] if word[0].isupper() else term


@register.simple_tag(takes_context=True)
def word(context: dict[str, Any], word: str, country: str = "") -> str:
    """Return `{% word "Suburb" %}` in the words of the sender on the page, or of the country given."""
    return say(word, country or getattr(context.get("sender"), "country", DEFAULT_COUNTRY))


@register.filter
def money(amount: Any, currency: str = "") -> str:
    """Write `8.95` as $8.95. Dollars of the three countries share the sign; another currency shows its code."""
    amount, currency = getattr(amount, "amount", amount), getattr(amount, "currency", currency)
    if amount is None or amount == "":
        return ""
    value = Decimal(str(amount))
    minus = "−" if value < 0 else ""
    sign = "$" if currency.upper() in DOLLARS else f"{currency.upper()} "
    return f"{minus}{sign}{abs(value):,.2f}"


@register.filter
def money_in(amount: Any, currency: str = "") -> str:
    """Write `8.95` as $8.95 AUD, for a total."""
    currency = getattr(amount, "currency", currency)
    shown = money(amount, currency)
    return f"{shown} {currency}" if shown.lstrip("−").startswith("$") and currency else shown


@register.filter
def plain(number: Any) -> str:
    """Return a number without trailing zeros: `2.400` is 2.4."""
    shown = f"{number:f}" if isinstance(number, Decimal) else str(number)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


@register.filter
def up_to_thousand(count: int) -> str:
    """Write `1,000+` for any more than a thousand, as nobody counted further."""
    return f"{count:,}" if count <= MOST_COUNTED else f"{MOST_COUNTED:,}+"


@register.filter
def local_date(value: dt.datetime | dt.date | None, sender: Any) -> str:
    """Write `Tue 25 Nov` in the sender's zone, `Tue, Nov 25` in the United States; the year when it is not this one."""
    if value is None:
        return ""
    day = value.astimezone(_zone(sender)) if isinstance(value, dt.datetime) else value
    month = f"{day:%a}, {day:%b} {day.day}" if _country(sender) == "US" else f"{day:%a} {day.day} {day:%b}"
    is_this_year = day.year == timezone.now().astimezone(_zone(sender)).year
    return month if is_this_year else f"{month}{',' if _country(sender) == 'US' else ''} {day.year}"


@register.filter
def local_time(value: dt.datetime | None, sender: Any) -> str:
    """Write `2:35 pm` in the sender's zone."""
    if value is None:
        return ""
    at = value.astimezone(_zone(sender))
    return f"{at.hour % 12 or 12}:{at:%M} {'am' if at.hour < 12 else 'pm'}"


@register.filter
def local_moment(value: dt.datetime | None, sender: Any) -> str:
    """Write `Tue 25 Nov, 2:35 pm` in the sender's zone."""
    return f"{local_date(value, sender)}, {local_time(value, sender)}" if value else ""


@register.simple_tag(takes_context=True)
def when(context: dict[str, Any], value: dt.datetime | None) -> SafeString | str:
    """Return the moment in the sender's zone, with the exact instant for machines."""
    if value is None:
        return ""
    shown = local_moment(value, context.get("sender"))
    return format_html('<time datetime="{}">{}</time>', value.astimezone(dt.UTC).isoformat(), shown)


@register.filter
def status_chip(order: Any) -> SafeString:
    """Return where an order stands: its money while that is unsettled, else where the parcel is."""
    if order.status == "booked" and order.progress:
        return chip(order.progress, order.get_progress_display())
    return chip(order.status, order.get_status_display())


@register.filter
def chip(state: str, words: str) -> SafeString:
    """Return a status in its colour with an icon: `{{ "delivered"|chip:"Delivered" }}`."""
    tone, symbol = BADGES.get(state, ("", "info"))
    return format_html('<span class="badge {}">{}{}</span>', tone, icon(symbol, "s"), words)


@register.simple_tag
def icon(name: str, size: str = "") -> SafeString:
    """Return a symbol of `icons.svg`; `s` is small. It always stands beside a word or in what has a label."""
    sign = static("icons.svg")
    return format_html('<svg class="i {}" aria-hidden="true"><use href="{}#{}"/></svg>', size, sign, name)


@register.filter
def tone(level: str) -> str:
    """Return the look's name for a message's level."""
    return {"success": "ok", "warning": "warn", "error": "bad"}.get(level, "")


@register.filter
def fixes(form: Any) -> list[tuple[str, str]]:
    """Return each sentence at a control once, with the id of the first control that it stands at."""
    found: dict[str, str] = {}
    for field in form:
        group = "_0" if field.use_fieldset else ""
        for error in field.errors:
            found.setdefault(error, f"{field.id_for_label or field.auto_id}{'' if field.id_for_label else group}")
    return [(place, error) for error, place in found.items()]


@register.simple_tag
def brand_name() -> str:
    """Return what the partner calls the portal."""
    return str(settings.BRAND_NAME)


@register.simple_tag
def brand_logo() -> SafeString:
    """Return the partner's logo, or ours; the name always stands beside it."""
    if settings.BRAND_LOGO:
        return format_html('<img src="{}" alt="">', brand.address("brand_logo"))
    return format_html('<svg aria-hidden="true"><use href="{}#logo"/></svg>', static("icons.svg"))


@register.simple_tag
def brand_style() -> SafeString:
    """Return the link to the look in the partner's colours."""
    return format_html('<link rel="stylesheet" href="{}">', brand.address("brand_style"))


@register.simple_tag
def brand_colours() -> SafeString | str:
    """Return the link to the partner's colours alone, if there are any: for the desk."""
    if not settings.BRAND_COLOUR:
        return ""
    return format_html('<link rel="stylesheet" href="{}">', brand.address("brand_colours"))


def _zone(sender: Any) -> dt.tzinfo:
    zone: dt.tzinfo = sender.tzinfo if sender else dt.UTC
    return zone


def _country(sender: Any) -> str:
    return str(getattr(sender, "country", DEFAULT_COUNTRY))


DEMO_ACTS = (
    ("driver-comes", "Driver comes"), ("driver-misses", "Driver misses"), ("drop-off", "Drop off"),
    ("lose-the-reply", "Lose the reply"), ("bill-the-week", "Bill the week"),
)  # fmt: skip


@register.inclusion_tag("_demo_bar.html", takes_context=True)
def demo_bar(context: dict[str, Any]) -> dict[str, Any]:
    """Return what the demo's bar needs; nothing outside the demo."""
    request = context.get("request")
    if not settings.DEMO_BAR or request is None:
        return {}
    back = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
    dashboard = f"{settings.CARRIER_BASE_URL}/dashboard"
    token = context.get("csrf_token")
    return {"shown": True, "acts": DEMO_ACTS, "back": back, "csrf_token": token, "dashboard": dashboard}


@register.inclusion_tag("_demo_log_ins.html", takes_context=True)
def demo_log_ins(context: dict[str, Any]) -> dict[str, Any]:
    """Return the demo's two accounts, each to be logged in by one press; nothing outside the demo."""
    request = context.get("request")
    if request is None or not demo.is_here(request):
        return {}
    people = (
        ("Log in as Mia, a sender", demo.SENDER_EMAIL, demo.SENDER_PASSWORD),
        ("Log in as Omar, an operator", demo.OPERATOR_EMAIL, demo.OPERATOR_PASSWORD),
    )
    return {"people": people, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def demo_code(context: dict[str, Any]) -> str:
    """Return the demo operator's code of this moment, once its password was right; "" outside the demo."""
    request = context.get("request")
    return demo.operator_code() if request is not None and demo.is_here(request) else ""
