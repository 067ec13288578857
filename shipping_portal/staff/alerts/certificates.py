"""Check hourly when our own and the carriers' certificates expire."""

import datetime as dt
import logging
from http.client import HTTPException

from django.conf import settings

from orders.calling import carrier_settings
from shipping_portal.carrier import certificates
from shipping_portal.carrier.hosts import Origin
from shipping_portal.jobs.registry import chore
from shipping_portal.staff.models import Certificate

logger = logging.getLogger(__name__)
SOON, NOW = dt.timedelta(days=14), dt.timedelta(days=2)
# servers not seen for this long are forgotten, such as a former carrier's
FORGOTTEN_AFTER = dt.timedelta(days=3)


@chore("certificates", every=3600)
def look_at_certificates(now: dt.datetime) -> None:
    """Store when each certificate expires. An unreachable server keeps the last value."""
    for origin, proxy in _servers_to_look_at().items():
        try:
            ends_at = certificates.ends_at(origin, proxy=proxy)
        except (OSError, HTTPException, ValueError) as problem:
            logger.warning(
                "certificate_not_seen",
                extra={"server": _server_name(origin), "error": type(problem).__name__},
            )
            continue
        Certificate.objects.update_or_create(
            server=_server_name(origin), defaults={"ends_at": ends_at, "seen_at": now}
        )


def ending_certificates(now: dt.datetime) -> list[Certificate]:
    """Return those that expire within two weeks or have expired, the earliest first."""
    found = Certificate.objects.filter(ends_at__lte=now + SOON, seen_at__gt=now - FORGOTTEN_AFTER)
    return list(found.order_by("ends_at"))


def _servers_to_look_at() -> dict[Origin, str]:
    """Return our own server and those of the carriers, each with the proxy to it."""
    ours = {settings.SITE_URL: ""}
    theirs = {
        one.base_url: settings.CARRIER_PROXY
        for one in carrier_settings.all_settings()
        if not one.is_closed
    }
    found = {Origin.of(url): proxy for url, proxy in (theirs | ours).items()}
    return {origin: proxy for origin, proxy in found.items() if origin and origin.scheme == "https"}


def _server_name(origin: Origin) -> str:
    return f"{origin.host}:{origin.port}"
