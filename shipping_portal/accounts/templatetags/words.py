"""Template tags and filters for words, units, money, dates and icons. Loaded in every template."""

import datetime as dt
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from shipping_portal import brand
from shipping_portal.accounts import demo
from shipping_portal.accounts.formatting import (
    DEFAULT_COUNTRY,
    local_date,
    local_moment,
    local_time,
    local_word,
    money,
    money_in,
    plain,
    up_to_thousand,
)
from shipping_portal.accounts.login import openid

Context = dict[str, Any]

register = template.Library()
for write in (money, money_in, plain, up_to_thousand, local_date, local_time, local_moment):
    register.filter(write)
register.simple_tag(openid.issuer_name)

# Tone and icon of a status. Colour is never the only difference, and the icon always has words
# beside it.
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
    "cancel_asked": ("on", "clock"),
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


@register.simple_tag(takes_context=True)
def word(context: Context, word: str, country: str = "", *, count: int = 1) -> str:
    """Return `{% word "Suburb" %}` in the words of the page's sender, or of the country given.

    `{% word "parcel" count=3 %}` is "parcels".
    """
    word = word if count == 1 else f"{word}s"
    return local_word(word, country or getattr(context.get("sender"), "country", DEFAULT_COUNTRY))


@register.filter
def breakable(zone: str) -> SafeString:
    """Let a zone's name break after each slash, never inside a word."""
    return format_html_join(SafeString("/<wbr>"), "{}", ([part] for part in zone.split("/")))


@register.simple_tag(takes_context=True)
def when(context: Context, value: dt.datetime | None) -> SafeString | str:
    """Return the time in the sender's zone, with the exact instant in machine-readable form."""
    if value is None:
        return ""
    shown = local_moment(value, context.get("sender"))
    return format_html('<time datetime="{}">{}</time>', value.astimezone(dt.UTC).isoformat(), shown)


@register.filter
def status_chip(order: Any) -> SafeString:
    """Return an order's status: its booking until that is resolved, then where the parcel is."""
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
    """Return a symbol from `icons.svg`; `s` is small.

    Use it next to a word or inside a labelled control.
    """
    sign = static("icons.svg")
    return format_html(
        '<svg class="i {}" aria-hidden="true"><use href="{}#{}"/></svg>', size, sign, name
    )


@register.filter
def tone(level: str) -> str:
    """Return the style for a message's level."""
    return {"success": "ok", "warning": "warn", "error": "bad"}.get(level, "")


@register.filter
def fixes(form: Any) -> list[tuple[str, str]]:
    """Return each message once, with the id of the first control that has it."""
    found: dict[str, str] = {}
    for field in form:
        group = "_0" if field.use_fieldset else ""
        for error in field.errors:
            found.setdefault(
                error, f"{field.id_for_label or field.auto_id}{'' if field.id_for_label else group}"
            )
    return [(place, error) for error, place in found.items()]


@register.simple_tag
def sign_on_only() -> bool:
    """Return whether nobody logs in with a password."""
    return not settings.LOCAL_PASSWORDS


@register.simple_tag(takes_context=True)
def sign_on_link(context: Context) -> str:
    """Return the address that starts a sign-on and then opens the page the person wanted, or ""."""
    if not openid.is_on():
        return ""
    return openid.page_address("sign_on", context["request"].GET.get("next", ""))


@register.simple_tag
def brand_name() -> str:
    """Return what the partner calls the portal."""
    return settings.BRAND_NAME


@register.simple_tag
def brand_logo() -> SafeString:
    """Return the partner's logo, or ours. The name is always beside it."""
    if settings.BRAND_LOGO:
        return format_html('<img src="{}" alt="">', brand.asset_address("brand_logo"))
    return format_html('<svg aria-hidden="true"><use href="{}#logo"/></svg>', static("icons.svg"))


@register.simple_tag
def style_sheet(name: str) -> SafeString:
    """Return the link to a style sheet in the partner's colours."""
    return format_html('<link rel="stylesheet" href="{}">', brand.asset_address(name))


@register.simple_tag
def brand_colours() -> SafeString | str:
    """Return the link to just the partner's colours, if any, for the admin."""
    return style_sheet("brand_colours") if settings.BRAND_COLOUR else ""


DEMO_ACTS = (
    ("driver-comes", "Driver comes"),
    ("driver-misses", "Driver misses"),
    ("drop-off", "Drop off"),
    ("lose-the-reply", "Lose the reply"),
    ("bill-the-week", "Bill the week"),
)


@register.inclusion_tag("_demo_bar.html", takes_context=True)
def demo_bar(context: Context) -> Context:
    """Return what the demo's bar needs, or nothing outside the demo."""
    request = context.get("request")
    if not settings.DEMO_BAR or request is None:
        return {}
    back = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
    dashboard = f"{settings.CARRIER_BASE_URL}/dashboard"
    return {
        "shown": True,
        "acts": DEMO_ACTS,
        "back": back,
        "csrf_token": context.get("csrf_token"),
        "dashboard": dashboard,
    }


@register.inclusion_tag("_demo_log_ins.html", takes_context=True)
def demo_log_ins(context: Context) -> Context:
    """Return the demo's accounts with a login button each, or nothing outside the demo."""
    request = context.get("request")
    if request is None or not demo.is_here(request):
        return {}
    people = (
        ("Log in as Mia, a sender", demo.SENDER_EMAIL, demo.SENDER_PASSWORD),
        ("Log in as Omar, an operator", demo.OPERATOR_EMAIL, demo.OPERATOR_PASSWORD),
    )
    return {"people": people, "csrf_token": context.get("csrf_token")}


@register.simple_tag(takes_context=True)
def demo_code(context: Context) -> str:
    """Return the demo operator's current code after the right password; "" outside the demo."""
    request = context.get("request")
    return demo.operator_code() if request is not None and demo.is_here(request) else ""
