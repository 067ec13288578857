"""Values typed into the account forms."""

import time
from typing import Any

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client


def code(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


ADDRESS = {
    "name": "Ira Quill",
    "company": "Quill & Co",
    "line1": "12 Example Lane",
    "line2": "",
    "suburb": "fitzroy",
    "state": "VIC",
    "postcode": "3065",
    "phone": "0491570006",
    "instructions": "Behind the counter",
    "email": "alice@quill.example",
}


MIA = {
    "name": "Mia Marlow",
    "business": "Marlow Candles",
    "email": "mia@marlow.example",
    "password1": "candle-harbour-violin",
    "country": "AU",
    "no_dangerous_goods": "on",
}


def sign_up(browser: Client | None = None, **changes: Any) -> Any:
    return (browser or Client()).post("/accounts/signup/", MIA | changes)
