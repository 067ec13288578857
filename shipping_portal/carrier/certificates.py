"""When a server's certificate ends: ours and the carrier's, looked at before anybody is refused because of it."""

from __future__ import annotations

import http.client
import ssl
from datetime import datetime
from urllib.parse import unquote, urlsplit

from cryptography import x509
from urllib3.util import make_headers

from shipping_portal.carrier.hosts import Origin

SECONDS = 5.0


def ends_at(origin: Origin, *, proxy: str = "") -> datetime:
    """Return when the certificate that this server shows ends. Raises OSError or ValueError where it shows none.

    It is read and not checked: nothing is sent, and one that has ended or whose authority is private has an end, too.
    """
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    via = urlsplit(proxy)
    host, port = (str(via.hostname), via.port or 80) if proxy else (origin.host, origin.port)
    connection = http.client.HTTPSConnection(host, port, timeout=SECONDS, context=context)
    if proxy:
        login = f"{unquote(via.username)}:{unquote(via.password or '')}" if via.username else None
        connection.set_tunnel(origin.host, origin.port, make_headers(proxy_basic_auth=login))
    try:
        connection.connect()
        shown = connection.sock.getpeercert(binary_form=True)
    finally:
        connection.close()
    return x509.load_der_x509_certificate(shown or b"").not_valid_after_utc
