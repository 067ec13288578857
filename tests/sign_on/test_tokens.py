"""ID tokens an attacker could forge, and discovery documents that aren't the issuer's own."""

import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from shipping_portal.accounts.login import claims, openid

ISSUER = "https://login.saltbush.example/o"
OURS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
THIEFS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize/",
    "token_endpoint": f"{ISSUER}/token/",
    "jwks_uri": f"{ISSUER}/keys",
}


def public(key: Any, **more: str) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "use": "sig", "alg": "RS256", **more}


@pytest.fixture
def answers(settings: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The issuer's replies by URL."""
    settings.SSO_ISSUER, settings.SSO_CLIENT_ID = ISSUER, "portal"
    found: dict[str, Any] = {
        ISSUER + openid.WELL_KNOWN: dict(DOCUMENT),
        DOCUMENT["jwks_uri"]: {"keys": [public(OURS, kid="one")]},
    }
    monkeypatch.setattr(openid, "_fetch_json", lambda url, headers=None: found[url])
    openid.forget_discovery()
    return found


def token(key: Any = OURS, *, algorithm: str = "RS256", kid: str | None = "one", **changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": "mia", "aud": "portal", "iat": now, "exp": now + 300, **changes}
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid} if kid else {})


def test_a_valid_token_is_read(answers: Any) -> None:
    assert openid.read_id_token(token())["sub"] == "mia"
    assert openid.read_id_token(token(kid=None))["sub"] == "mia"
    assert openid.read_id_token(token(aud=["portal", "other"], azp="portal"))["sub"] == "mia"


ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()


@pytest.mark.parametrize(
    ("algorithm", "key", "made"),
    [
        *((name, OURS, RSAAlgorithm) for name in ("RS256", "RS384", "RS512", "PS256", "PS512")),
        ("ES256", ELLIPTIC, ECAlgorithm),
        ("EdDSA", EDWARDS, OKPAlgorithm),
    ],
)
@pytest.mark.parametrize("has_algorithm", [True, False], ids=["alg", "no-alg"])
def test_each_algorithm_is_read_whether_or_not_the_key_names_it(
    answers: Any, algorithm: str, key: Any, made: Any, has_algorithm: bool
) -> None:
    """Entra ID's keys name none: the member is optional in a JWKS document."""
    public_key = {**made.to_jwk(key.public_key(), as_dict=True), "kid": "one"}
    more = [{"alg": algorithm}] if has_algorithm else [{}, {"alg": None, "use": None}]
    for members in more:
        answers[DOCUMENT["jwks_uri"]] = {"keys": [public_key | members]}
        assert openid.read_id_token(token(key, algorithm=algorithm))["sub"] == "mia"


def test_a_key_for_another_use_or_algorithm_proves_nothing(answers: Any) -> None:
    answers[DOCUMENT["jwks_uri"]] = {"keys": [public(OURS, kid="one", alg="RS512")]}
    with pytest.raises(openid.NotProven):
        openid.read_id_token(token())
    answers[DOCUMENT["jwks_uri"]] = {"keys": [public(OURS, kid="one", use="enc")]}
    with pytest.raises(openid.NotProven):
        openid.read_id_token(token())


def test_a_key_to_encrypt_with_hides_no_key_to_sign_with(answers: Any) -> None:
    """One kid may be used twice, and a token without a kid fits every key."""
    answers[DOCUMENT["jwks_uri"]] = {
        "keys": [
            public(THIEFS, kid="one", use="enc"),
            public(THIEFS, kid="one", alg="RSA-OAEP"),
            public(OURS, kid="one"),
        ]
    }
    assert openid.read_id_token(token())["sub"] == "mia"
    assert openid.read_id_token(token(kid=None))["sub"] == "mia"


def test_new_keys_count_at_the_next_login(answers: Any) -> None:
    new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    answers[DOCUMENT["jwks_uri"]] = {"keys": [public(OURS, kid="one"), public(new, kid="two")]}
    assert openid.read_id_token(token(new, kid="two"))["sub"] == "mia"
    answers[DOCUMENT["jwks_uri"]] = {"keys": [public(new, kid="two")]}
    with pytest.raises(openid.NotProven):
        openid.read_id_token(token())


PEM = OURS.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
WRONG: dict[str, Callable[[], object]] = {
    "signed by a thief": lambda: token(THIEFS),
    "unsigned": lambda: token(None, algorithm="none"),
    "signed with the public key": lambda: token("x" * 64, algorithm="HS256"),
    "a key that is not there": lambda: token(kid="two"),
    "for another client": lambda: token(aud="other"),
    "for two, and another's": lambda: token(aud=["portal", "other"], azp="other"),
    "for two": lambda: token(aud=["portal", "other"]),
    "of another issuer": lambda: token(iss="https://evil.example"),
    "too old": lambda: token(exp=int(time.time()) - 120),
    "of the future": lambda: token(iat=int(time.time()) + 3600, nbf=int(time.time()) + 3600),
    "without an end": lambda: token(exp=None),
    "about nobody": lambda: token(sub=None),
    "about a blank": lambda: token(sub=" "),
    "about half a letter": lambda: token(sub="mia\ud800"),
    "cut": lambda: token()[:-20],
    "no token": lambda: "mia",
    "nothing": lambda: None,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_any_other_token_is_refused(answers: Any, wrong: str) -> None:
    with pytest.raises(openid.NotProven):
        openid.read_id_token(WRONG[wrong]())


@pytest.mark.parametrize("keys", [{}, {"keys": []}, [], {"keys": [{"kty": "oct", "k": "eA", "kid": "one"}]}, None])
def test_without_a_key_nothing_is_proven(answers: Any, keys: Any) -> None:
    answers[DOCUMENT["jwks_uri"]] = keys
    with pytest.raises(openid.NotProven):
        openid.read_id_token(token())


@pytest.mark.parametrize("nonce", [None, "", "another", "\ud800", {"n": 1}, ["n"]], ids=ascii)
def test_a_token_with_another_nonce_is_refused(answers: Any, nonce: Any) -> None:
    sign_on = openid.SignOn(openid.read_id_token(token(nonce=nonce)), None)
    sign_on.state = {"nonce": "n"}
    with pytest.raises(openid.NotProven):
        sign_on.check_nonce()


BODIES = {
    **{text: text.encode() for text in ("", "5", "null", "[]", '"access_token"', "{")},
    "no text": b"\xff",
    "deep": b'{"a":' * 40_000,
}


@pytest.mark.parametrize("body", BODIES)
def test_a_reply_that_is_no_object_counts_as_none(body: str) -> None:
    """Allauth looks for the access token in whatever the reply holds."""
    with pytest.raises(openid.IssuerAway):
        openid.Answer(200, {}, BODIES[body]).json()


def test_user_information_about_somebody_else_is_refused(answers: Any) -> None:
    answers[ISSUER + openid.WELL_KNOWN]["userinfo_endpoint"] = f"{ISSUER}/me"
    answers[f"{ISSUER}/me"] = {"sub": "eve", "email": "mia@marlow.example", "email_verified": True}
    with pytest.raises(openid.NotProven):
        openid._read_userinfo("a-token", "mia")


@pytest.mark.parametrize(
    ("fetched", "is_verified"),
    [
        ({"email": "mia@marlow.example", "email_verified": True}, True),
        ({"email_verified": True}, True),
        ({"email": "eve@evil.example", "email_verified": True}, False),
        ({"email": None, "email_verified": True}, False),
    ],
)
def test_fetched_information_vouches_only_for_the_email_of_the_token(
    fetched: dict[str, Any], is_verified: bool
) -> None:
    joined = openid.join_claims({"sub": "mia", "email": "mia@marlow.example"}, {"sub": "mia", **fetched})
    found = claims.read_claims(joined)
    assert (found.email, found.is_verified) == ("mia@marlow.example", is_verified)


@pytest.mark.parametrize("stated", [False, "false"])
def test_what_an_issuer_says_is_unconfirmed_stays_so(stated: object, settings: Any) -> None:
    settings.SSO_TRUSTS_EMAILS = True
    fetched = {"sub": "mia", "email": "eve@evil.example", "email_verified": stated}
    joined = openid.join_claims({"sub": "mia", "email": "mia@marlow.example"}, fetched)
    assert not claims.read_claims(joined).is_verified


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example/o"},
        {"token_endpoint": "http://login.saltbush.example/token/"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"end_session_endpoint": "data:text/html,x"},
        {"token_endpoint": None},
    ],
)
def test_a_discovery_document_of_another_issuer_is_not_used(answers: Any, changes: Any) -> None:
    answers[ISSUER + openid.WELL_KNOWN] |= changes
    with pytest.raises(openid.IssuerAway):
        openid.discover()


@pytest.mark.parametrize("name", ["userinfo_endpoint", "end_session_endpoint"])
def test_an_issuer_may_write_null_for_what_it_does_not_have(answers: Any, name: str) -> None:
    answers[ISSUER + openid.WELL_KNOWN][name] = None
    assert openid.logout_address() == ""
    assert openid._read_userinfo("a-token", "mia") == {}


def test_the_discovery_document_is_fetched_once_in_five_minutes(answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(openid, "_fetch_json", lambda url, headers=None: asked.append(url) or answers[url])
    for _ in range(3):
        openid.discover()
    assert len(asked) == 1


def test_the_setting_may_be_the_url_of_the_document(answers: Any, settings: Any) -> None:
    settings.SSO_ISSUER = ISSUER + openid.WELL_KNOWN
    assert openid.discover()["issuer"] == ISSUER


def test_an_installation_never_uses_an_issuer_on_its_own_machine(settings: Any) -> None:
    assert openid.is_usable_address("http://127.0.0.1:9400/o")  # in tests
    settings.TESTING = settings.DEMO = False
    assert not openid.is_usable_address("http://127.0.0.1:9400/o")
    assert not openid.is_usable_address("https://localhost/o")
    assert openid.is_usable_address("https://login.saltbush.example/o")
