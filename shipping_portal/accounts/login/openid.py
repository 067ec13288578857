"""Speak OpenID Connect to the one issuer in the settings, over the guarded connection.

allauth handles state, PKCE and the code exchange. This module adds a nonce, the ID token's
signature check, and limits on time and size. All that is kept from the issuer is a digest of the
person's identity; no token is stored or logged.
"""

import base64
import hashlib
import secrets
import time
from typing import Any, Self
from urllib.parse import urlencode

import jwt
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.provider import OAuth2Provider
from allauth.socialaccount.providers.oauth2.views import OAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from shipping_portal.accounts.models import User
from shipping_portal.carrier.connection import Request, send_once
from shipping_portal.carrier.deadline import Limits
from shipping_portal.carrier.errors import NotSent, OutcomeUnknown
from shipping_portal.carrier.headers import identity_headers
from shipping_portal.carrier.hosts import (
    Origin,
    in_public_or_our_network,
    is_loopback,
    may_connect_anywhere,
)
from shipping_portal.carrier.values import load_json

Document = dict[str, Any]  # the JSON of an issuer's answer, or claims

PROVIDER = "sso"
WELL_KNOWN = "/.well-known/openid-configuration"
SECONDS = 8.0  # for each of a login's requests, up to four
LARGEST_REPLY = 256 * 1024
NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
USED = (*NEEDED[1:], "userinfo_endpoint", "end_session_endpoint")
# Never a symmetric one: everybody who reads the public keys could sign with them.
ALGORITHMS = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]
UNREADABLE = (
    jwt.PyJWTError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
)
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
LEEWAY = 60  # seconds between the issuer's clock and ours
# how long a discovery document, or its absence, is cached
KEPT_SECONDS, FAILED_SECONDS = 300.0, 5.0
LONGEST_NEXT = 500  # limited, because a visitor's session is a cookie
MOST_STATES = 3  # the most logins begun in one browser, in separate tabs


class IssuerAway(OAuth2Error):
    """Raised when the issuer gives no usable answer. The text is for operators."""


class NotProven(OAuth2Error):
    """Raised when an answer doesn't prove the person's identity."""


# -- What the issuer says about itself -----------------------------------------------------------


def is_on() -> bool:
    return bool(settings.SSO_ISSUER)


def issuer() -> str:
    """Return the issuer's address; the setting may hold it or its discovery document's."""
    return settings.SSO_ISSUER.removesuffix(WELL_KNOWN).rstrip("/")


def issuer_name() -> str:
    """Return the issuer's name for people."""
    return settings.SSO_NAME or "your company"


_known: dict[str, tuple[float, Document | None]] = {}


def discover() -> Document:
    """Return the issuer's discovery document, at most five minutes old. Raises IssuerAway."""
    good_until, found = _known.get(issuer(), (0.0, None))
    if time.monotonic() >= good_until:
        try:
            found = _check_document(_fetch_json(issuer() + WELL_KNOWN))
        except IssuerAway:
            _known[issuer()] = (time.monotonic() + FAILED_SECONDS, None)
            raise
        _known[issuer()] = (time.monotonic() + KEPT_SECONDS, found)
    if found is None:
        raise IssuerAway("it didn't answer a moment ago")
    return found


def forget_discovery() -> None:
    _known.clear()


def _check_document(found: Document) -> Document:
    """Return the document if it is this issuer's and its addresses hide what we send."""
    if any(not isinstance(found.get(name), str) for name in NEEDED):
        raise IssuerAway("its discovery document lacks an address")
    if found["issuer"].rstrip("/") != issuer():
        raise IssuerAway("its discovery document names another issuer")
    for name in USED:
        if found.get(name) is not None and not is_usable_address(found[name]):
            raise IssuerAway(f"its {name} is not an https address")
    return found


def is_usable_address(url: object) -> bool:
    """Return whether we may use an address: https, or on this machine in the demo and tests."""
    origin = Origin.of(url)
    if origin is None:
        return False
    may_be_here = settings.DEMO or settings.TESTING
    return (origin.scheme == "https" and not origin.loopback) or (origin.loopback and may_be_here)


def page_address(name: str, wanted: str | None) -> str:
    """Return our page that leads to the issuer and then on to the requested page."""
    return reverse(name) + (f"?{urlencode({'next': wanted})}" if wanted else "")


def logout_address() -> str:
    """Return the issuer's logout address, or "" if it has none. Raises IssuerAway."""
    end = discover().get("end_session_endpoint")
    if not end:
        return ""
    back = settings.SITE_URL + reverse("sign_on_ended")
    asked = urlencode({"client_id": settings.SSO_CLIENT_ID, "post_logout_redirect_uri": back})
    return f"{end}{'&' if '?' in end else '?'}{asked}"


# -- Requests ------------------------------------------------------------------------------------


class Answer:
    """A reply, with the parts of a `requests.Response` that allauth reads."""

    def __init__(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.status_code, self.content = status, content
        self.headers = {"content-type": headers.get("content-type", "")}

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Document:
        """Return the answer's JSON object. Raises IssuerAway if it is anything else."""
        try:
            found = load_json(self.content, strict=False)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise IssuerAway("its answer is not a JSON object")
        return found


class GuardedSession:
    """What allauth uses instead of a `requests.Session`: one attempt, no redirects followed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing, because no connection is kept."""

    def request(
        self,
        method: str,
        url: str,
        *,
        params: object = None,
        data: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        auth: Any = None,
    ) -> Answer:
        """Send a request. Raises IssuerAway unless the whole answer arrives."""
        sent = {**identity_headers("Shipping-Portal"), "Accept": "application/json"}
        if auth is not None:
            pair = f"{auth.username}:{auth.password}".encode()
            sent["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        body = urlencode(data).encode() if data is not None else None
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        here = is_loopback((Origin.of(issuer()) or Origin("https", "", 443)).host)
        limits = Limits(
            time.monotonic() + SECONDS,
            cap=LARGEST_REPLY,
            ca_bundle=settings.SSO_CA_BUNDLE or None,
            peer="the issuer",
            may_reach=may_connect_anywhere if here else in_public_or_our_network,
        )
        try:
            reply = send_once(Request(method, url, {**sent, **(headers or {})}, body), limits)
        except (NotSent, OutcomeUnknown) as problem:
            raise IssuerAway(problem.reason) from None
        if reply.fault or reply.status >= 500:
            raise IssuerAway(reply.fault or f"it answered {reply.status}")
        if method == "POST" and reply.status == 401:
            raise IssuerAway("it refused SSO_CLIENT_ID with this SSO_CLIENT_SECRET")
        low = {name.lower(): value for name, value in reply.headers.items()}
        return Answer(reply.status, low, reply.body)


def _fetch_json(url: str, headers: dict[str, str] | None = None) -> Document:
    answer = GuardedSession().request("GET", url, headers=headers)
    if answer.status_code != 200:
        raise IssuerAway(f"it answered {answer.status_code}")
    return answer.json()


# -- Tokens --------------------------------------------------------------------------------------


def read_id_token(token: object) -> Document:
    """Return a token's claims after checking its signature, issuer, audience and times."""
    keys = _fetch_json(discover()["jwks_uri"])
    try:
        claims: Document = jwt.decode(
            str(token),
            key=_key_for(jwt.get_unverified_header(str(token)), keys),
            algorithms=ALGORITHMS,
            audience=settings.SSO_CLIENT_ID,
            issuer=discover()["issuer"],
            leeway=LEEWAY,
            options={"require": REQUIRED},
        )
    except UNREADABLE as error:
        raise NotProven(f"the ID token isn't right: {type(error).__name__}") from None
    is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if is_for_several and claims.get("azp") != settings.SSO_CLIENT_ID:
        raise NotProven("the ID token is for another party")
    # If an issuer leaves it blank, everybody would be one person.
    if not (claims["sub"].strip() and claims["sub"].isprintable()):
        raise NotProven("the ID token is about nobody")
    return claims


def _key_for(header: Document, keys: Document) -> jwt.PyJWK:
    """Return the issuer's key for a token. Keys needn't name an algorithm; some only encrypt."""
    algorithm = header["alg"]
    fitting = [
        key
        for key in keys["keys"]
        if header.get("kid") in (None, key.get("kid"))
        and key.get("use") in (None, "sig")
        and key.get("alg") in (None, algorithm)
    ]
    return jwt.PyJWK(fitting[0], algorithm=algorithm)


def _read_userinfo(token: str, subject: str) -> Document:
    address = discover().get("userinfo_endpoint")
    if not address:
        return {}
    found = _fetch_json(address, {"Authorization": f"Bearer {token}"})
    if found.get("sub") != subject:
        raise NotProven("the user information is about somebody else")
    return found


def join_claims(signed: Document, fetched: Document) -> Document:
    """Merge the claims. Signed values win; a fetched email doesn't verify a different one."""
    is_other = "email" in signed and fetched.get("email", signed["email"]) != signed["email"]
    if is_other and fetched.get("email_verified") in (True, "true"):
        fetched = {**fetched, "email_verified": None}
    return {**fetched, **signed}


def account_id(claims: Document) -> str:
    """Return a digest of issuer and subject: the same subject elsewhere is another person."""
    return hashlib.sha256(f"{claims['iss']}\n{claims['sub']}".encode()).hexdigest()


class SignOn(SocialLogin):
    """A login at the issuer, with what it says about the person."""

    def __init__(self, claims: Document, provider: "OpenId") -> None:
        account = SocialAccount(provider=PROVIDER, uid=account_id(claims))
        super().__init__(user=User(), account=account, provider=provider)
        self.claims = claims

    def check_nonce(self) -> None:
        """Raise NotProven unless this browser started the login that the token is for."""
        expected = self.state.get("nonce")
        if not expected or self.claims.get("nonce") != expected:
            raise NotProven("the nonce is another one")


class OpenIdExchange(OAuth2Adapter):
    """Exchange the code for tokens, and the tokens for claims."""

    provider_id = PROVIDER

    @property
    def authorize_url(self) -> str:
        return str(discover()["authorization_endpoint"])

    @property
    def access_token_url(self) -> str:
        return str(discover()["token_endpoint"])

    @property
    def basic_auth(self) -> bool:
        """Return whether the secret is sent in a header, which is the standard's default."""
        ways = discover().get("token_endpoint_auth_methods_supported")
        return not (isinstance(ways, list) and "client_secret_post" in ways)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return the address at SITE_URL: the request's Host is the client's claim."""
        return settings.SITE_URL + reverse("sign_on_callback")

    def parse_token(self, data: Any) -> Any:
        if not (isinstance(data, dict) and isinstance(data.get("access_token"), str)):
            raise NotProven("there is no access token")
        return super().parse_token({"access_token": data["access_token"]})

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any
    ) -> SocialLogin:
        """Return the login with the claims of the token and the user information."""
        claims = read_id_token(kwargs["response"].get("id_token"))
        fetched = _read_userinfo(token.token, claims["sub"])
        return SignOn(join_claims(claims, fetched), self.get_provider())


class OpenId(OAuth2Provider):
    """The issuer in the settings. PKCE is always on."""

    id, name = PROVIDER, "OpenID Connect"
    oauth2_adapter_class = OpenIdExchange
    pkce_enabled_default = True

    def get_scope(self) -> list[str]:
        return ["openid", *(scope for scope in settings.SSO_SCOPES if scope != "openid")]

    def begin(
        self, request: HttpRequest, next_url: str | None, *, again: float | None = None
    ) -> HttpResponse:
        """Redirect to the issuer. With `again`, it asks even a person who is logged in."""
        states = request.session.get("socialaccount_states") or {}
        for old in sorted(states, key=lambda key: states[key][1])[: 1 - MOST_STATES]:
            del states[old]
        nonce = secrets.token_urlsafe(24)
        asked = {"nonce": nonce} | ({"prompt": "login", "max_age": "0"} if again else {})
        wanted = next_url if next_url and len(next_url) <= LONGEST_NEXT else None
        return self.redirect(request, "login", wanted, auth_params=asked, nonce=nonce, again=again)
