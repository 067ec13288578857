"""What templates ask about orders and the carrier."""

from typing import Any

from django import template

from orders import gateway

register = template.Library()


@register.simple_tag
def carrier_pause() -> dict[str, Any] | None:
    """Since when, and with which words, the operator paused bookings for everybody; None while they are on."""
    account = gateway.account()
    return {"since": account.paused_at, "text": account.pause_text} if account.paused_at else None
