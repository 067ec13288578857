"""Show a new secret once, after a redirect, so that a reload doesn't make another one.

Until then it is in the session, encrypted, so that a copy of the database is useless.
"""

from contextlib import suppress

from cryptography.fernet import InvalidToken
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url

from shipping_portal.accounts.login.encryption import decrypt, encrypt

WAITING = "shown_once"  # session key: the address of the page that shows the secret, and the secret


def show_once(request: HttpRequest, secret: str, page: str, *args: object) -> HttpResponse:
    """Redirect to the page that shows this secret."""
    address = resolve_url(page, *args)
    request.session[WAITING] = [address, encrypt(secret)]
    return redirect(address)


def take_secret(request: HttpRequest) -> str:
    """Return the secret that this page shows now, or "", and forget it."""
    address, secret = request.session.get(WAITING) or ("", "")
    if address != request.path:
        return ""
    del request.session[WAITING]
    # After the keys have changed nobody can read it any more; its owner makes another one.
    with suppress(InvalidToken):
        return decrypt(secret)
    return ""
