"""Settings for the usual way to serve a label: Django's session, a login, one view (plain_view.py)."""

from shipping_portal.settings import *  # noqa: F403

MIDDLEWARE = [
    "django.middleware.common.CommonMiddleware",  # says how long an answer is
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",  # its app does not start without
]
ROOT_URLCONF = "tools.bench.plain_view"
