"""A real OpenID provider, django-oauth-toolkit, in its own process: `python -m tests.sign_on.provider FOLDER PORT`.

FOLDER/provider.json lists the client and the people: their user names and their claims. It is read again for each
request, so a test can change it at any time.
"""

import json
import secrets
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings

FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])


def configured() -> dict[str, Any]:
    return json.loads((FOLDER / "provider.json").read_text())


def new_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


settings.configure(
    SECRET_KEY=secrets.token_hex(32),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=[
        *("django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider")
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "provider.sqlite3"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    LOGIN_URL="/log-in/",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # of the client's secret: half a second less
    SESSION_COOKIE_NAME="provider",  # ports share the cookies of a host
    USE_TZ=True,
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": new_key(),
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "OIDC_ISS_ENDPOINT": f"http://127.0.0.1:{PORT}/o",
        "PKCE_REQUIRED": True,
        "SCOPES": {"openid": "who", "profile": "name", "email": "address"},
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Validator",
    },
)
sys.modules["tests.sign_on.provider"] = sys.modules[__name__]
django.setup()

from django.contrib.auth import get_user_model, login  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.shortcuts import redirect  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import get_application_model  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402

FORM = """<!doctype html><html lang="en"><title>Partner</title><h1>Partner</h1><form method="post">
<label>User <input name="user"></label> <button>Log in</button></form>"""


class Validator(OAuth2Validator):
    oidc_claim_scope = None  # each claim goes to any client that asks for openid

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        return configured()["people"][request.user.username]


def log_in(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return HttpResponse(FORM)
    user, _ = get_user_model().objects.get_or_create(username=request.POST["user"])
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect(request.GET["next"])


def who(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.user.get_username())


urlpatterns = [path("log-in/", log_in), path("who/", who), path("o/", include("oauth2_provider.urls"))]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def main() -> None:
    call_command("migrate", verbosity=0)
    client = configured()["client"]
    get_application_model().objects.create(
        client_id=client["id"],
        client_secret=client["secret"],
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris=client["callback"],
        post_logout_redirect_uris=client["logged_out"],
        algorithm="RS256",
        skip_authorization=True,
        name="Portal",
    )
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415

    make_server("127.0.0.1", PORT, get_wsgi_application(), server_class=Server).serve_forever()


if __name__ == "__main__":
    main()
