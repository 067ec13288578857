"""Booking, paused by an operator."""

import datetime as dt
from typing import Any

from django.utils import timezone

from orders.models import CarrierAccount
from tests import factories

HOUR = dt.timedelta(hours=1)


def pause(what: str, *, ends_in: dt.timedelta | None = None, words: str = "The depot is flooded.") -> None:
    """Write the pause straight into the row, as the admin does."""
    factories.account()
    now, prefix = timezone.now(), {"bookings": "", "quotes": "quotes_"}[what]
    fields: dict[str, Any] = {
        f"{prefix}paused_at": now - HOUR,
        f"{prefix}pause_text": words,
        f"{prefix}pause_ends_at": None if ends_in is None else now + ends_in,
    }
    CarrierAccount.objects.update(**fields)
