"""Find when our certificates and the carrier's expire, before that blocks anyone."""

import http.client
import ssl
from datetime import datetime
from urllib.parse import unquote, urlsplit

from cryptography import x509
from urllib3.util import make_headers

from shipping_portal.carrier.hosts import Origin

SECONDS = 5.0


def ends_at(origin: Origin, *, proxy: str = "") -> datetime:
    """Return when a server's certificate expires. Raises OSError or ValueError if it has none.

    The certificate is read but not verified: nothing is sent, and an expired or private one has an
    end date too.
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
