"""Read every setting, top to bottom; docs/settings.md and .env.example explain each one."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import environ

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env", overwrite=False)

# -- What kind of installation this is ---------------------------------------------------------
DEMO = env.bool("DEMO", default=False)  # only here are demo users and a loopback carrier allowed
# buttons above each page that control the sandbox carrier
DEMO_BAR = DEMO and env.bool("DEMO_BAR", default=False)
TESTING = env.bool("TESTING", default=False)  # set by tests/conftest.py before Django starts
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env("SECRET_KEY", default="only-for-tests" if TESTING else environ.Env.NOTSET)
# former keys, newest first
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
# Encrypt second factors in the database, newest first. SECRET_KEY isn't used: it may change any
# time.
ENCRYPTION_KEYS = env.list(
    "ENCRYPTION_KEYS", default=["only-for-the-demo-and-tests"] if DEMO or TESTING else []
)
SITE_URL = env("SITE_URL", default="http://127.0.0.1:8000")  # the address that people use
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "testserver"] if DEMO or TESTING else []
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[SITE_URL])
# proxies in front that set X-Forwarded-For
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)
# -- The partner's brand: served as a style sheet; contrast is checked at start (brand.py) ------
BRAND_NAME = env("BRAND_NAME", default="Shipping Portal")
# colour of filled buttons, such as #0b5563; its hue tints every page
BRAND_COLOUR = env("BRAND_COLOUR", default="")
BRAND_INK = env("BRAND_INK", default="#ffffff")  # colour of their text
BRAND_LOGO = env("BRAND_LOGO", default="")  # an SVG or PNG file

# whether senders may share a parcel's page with its receiver
RECEIVER_PAGES = env.bool("RECEIVER_PAGES", default=True)

# -- Applications ------------------------------------------------------------------------------
INSTALLED_APPS = [
    "shipping_portal.apps.PortalConfig",
    "shipping_portal.jobs",
    "shipping_portal.accounts",
    "orders",
    "tracking",
    "shipping_portal.billing",
    "shipping_portal.importing",
    "shipping_portal.exporting",
    "shipping_portal.reports",
    "shipping_portal.staff.apps.StaffConfig",
    "shipping_portal.staff.apps.StaffAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
]
MIDDLEWARE = [
    "shipping_portal.http.middleware.attach_request_id",
    "shipping_portal.api.gate.serve_programs",
    "shipping_portal.http.middleware.drop_cookies",
    "shipping_portal.http.database_outage.answer_503_when_the_database_is_away",
    "django.middleware.security.SecurityMiddleware",
    "shipping_portal.http.middleware.set_security_headers",
    "shipping_portal.http.middleware.gzip_pages",
    # This precedes WhiteNoise, which serves static files by itself.
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "shipping_portal.http.probes.answer_probes",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "shipping_portal.accounts.login.sessions.end_old_sessions",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "shipping_portal.accounts.access.attach_member",
    "orders.calling.waiting.say_when_to_come_back",
    "shipping_portal.http.middleware.reject_unusual_requests",
]
ROOT_URLCONF = "shipping_portal.urls"
WSGI_APPLICATION = "shipping_portal.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "shipping_portal.accounts.access.page_context",
            ],
            "builtins": ["shipping_portal.accounts.templatetags.words"],
        },
    }
]

# -- Database: SQLite for one machine, PostgreSQL in production --------------------------------
DATABASE_LIMITS = "lock_timeout=5s statement_timeout=15s idle_in_transaction_session_timeout=30s"
# a migration may take its time, but one that waits for a lock mustn't block others
OWNER_LIMITS = "lock_timeout=5s"


def postgresql(given: dict[str, Any], limits: str) -> dict[str, Any]:
    """Add defaults to a database address.

    With `?pooled=1` (PgBouncer), limits come from the role and rows aren't streamed.
    """
    own = dict(given.get("OPTIONS", {}))
    pooled = bool(own.pop("pooled", False))
    options = {} if pooled else {"options": " ".join(f"-c {limit}" for limit in limits.split())}
    usual = {"CONN_HEALTH_CHECKS": True, "CONN_MAX_AGE": 60, "DISABLE_SERVER_SIDE_CURSORS": pooled}
    return usual | given | {"OPTIONS": {"connect_timeout": 3} | options | own}


# MIGRATE_DATABASE_URL is the owner's, for `migrate` and other table changes; the default is
# DATABASE_URL.
APP_DATABASE = env.db("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'db.sqlite3'}")
if APP_DATABASE["ENGINE"] == "django.db.backends.sqlite3":
    # The defaults lock under contention: WAL lets readers pass, IMMEDIATE takes the write lock at
    # BEGIN.
    APP_DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    APP_DATABASE = postgresql(APP_DATABASE, DATABASE_LIMITS)
IS_OWNER = bool(env("MIGRATE_DATABASE_URL", default=""))
DATABASES = {
    "default": (
        postgresql(env.db("MIGRATE_DATABASE_URL"), OWNER_LIMITS) if IS_OWNER else APP_DATABASE
    )
}
# outside the database; shows whether it was restored
RESTORE_MARK_FILE = env("RESTORE_MARK_FILE", default="")
# also outside it: keys of people to erase again after a restore
ERASED_FILE = env("ERASED_FILE", default="")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Rate limits are in the database, so that logging in doesn't need Redis. Nothing else is cached.
CACHES = {
    "default": {
        "BACKEND": "shipping_portal.accounts.json_cache.JsonCache",
        "LOCATION": "throttles",
        "VERSION": 2,  # the first name was used by Django's own cache, with pickled rows
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

# -- The carrier: everything about it comes from the environment -------------------------------
# https only, except loopback in the demo and tests
CARRIER_BASE_URL = env("CARRIER_BASE_URL", default="")
CARRIER_ACCOUNT = env("CARRIER_ACCOUNT", default="")  # the partner's account id
CARRIER_KEY = env("CARRIER_KEY", default="")  # the partner's API key
# supplied by the carrier's partner manager
CARRIER_PARTNER_ID = env("CARRIER_PARTNER_ID", default="")
# TOML with points that differ from our assumptions
CARRIER_CONTRACT = env("CARRIER_CONTRACT", default="")
# in the User-Agent, so that the carrier can contact you
CARRIER_CONTACT = env("CARRIER_CONTACT", default="")
# signs Authorised Tracking Page links, if the contract says so
CARRIER_LINK_KEY = env("CARRIER_LINK_KEY", default="")
# PEM, if no public authority signed its certificate
CARRIER_CA_BUNDLE = env("CARRIER_CA_BUNDLE", default="")
# http://host:port, if that is the only way out of our network
CARRIER_PROXY = env("CARRIER_PROXY", default="")
# a client class, for a carrier that contract files can't describe
CARRIER_CLIENT = env("CARRIER_CLIENT", default="")
# verifies the carrier's webhooks, if its class checks a signature
CARRIER_WEBHOOK_KEY = env("CARRIER_WEBHOOK_KEY", default="")
# the carrier's name for senders, if two accounts take new orders
CARRIER_TITLE = env("CARRIER_TITLE", default="")
# user:secret, newest first; two during a rotation
WEBHOOK_SECRETS = env.list("WEBHOOK_SECRETS", default=[])
# Settings of further accounts. Those above are for the account that takes new orders.
# SECOND_CARRIER=TWO names one more that takes them, by CARRIER_TWO_BASE_URL, … in the same way;
# OLDER_CARRIERS=OLD,EU names accounts whose orders are followed to their end.
OF_A_CARRIER = (
    "BASE_URL",
    "ACCOUNT",
    "KEY",
    "PARTNER_ID",
    "CONTRACT",
    "LINK_KEY",
    "CA_BUNDLE",
    "CLIENT",
    "WEBHOOK_KEY",
    "TITLE",
)


def carriers(names: list[str]) -> dict[str, dict[str, Any]]:
    """Read the settings of these further accounts, by name."""
    return {
        name: (
            {part: env(f"CARRIER_{name}_{part}", default="") for part in OF_A_CARRIER}
            | {"WEBHOOK_SECRETS": env.list(f"CARRIER_{name}_WEBHOOK_SECRETS", default=[])}
        )
        for name in map(str.strip, names)
    }


SECOND_CARRIER = carriers(env.list("SECOND_CARRIER", default=[]))  # at most one name
OLDER_CARRIERS = carriers(env.list("OLDER_CARRIERS", default=[]))
# open, first_limit, approve or invited
SIGN_UP = env("SIGN_UP", default="open" if DEMO else "approve")
IMPORTS_AN_HOUR = env.int("IMPORTS_AN_HOUR", default=20)  # limit of one person
# limit of all senders together
DAILY_MONEY_LIMIT = env("DAILY_MONEY_LIMIT", cast=Decimal, default=Decimal(50_000))

# files in it become billing reports; empty is off
REPORTS_FOLDER = env("REPORTS_FOLDER", default="")

# -- Label files: in the database, or in a bucket of an S3-compatible store ----------------------
LABEL_BUCKET = env("LABEL_BUCKET", default="")  # the bucket's name; empty means the database
LABEL_BUCKET_URL = env("LABEL_BUCKET_URL", default="")  # address of a store other than AWS
LABEL_BUCKET_REGION = env("LABEL_BUCKET_REGION", default="")
# both empty: uses the machine's own role
LABEL_BUCKET_KEY = env("LABEL_BUCKET_KEY", default="")
LABEL_BUCKET_SECRET = env("LABEL_BUCKET_SECRET", default="")
# comes before each file's sha256
LABEL_BUCKET_PREFIX = env("LABEL_BUCKET_PREFIX", default="labels")

# -- Times, in seconds. TIME_SCALE shortens leases and back-offs, for campaigns ------------------
TIME_SCALE = env.float("TIME_SCALE", default=1.0)
CARRIER_DEADLINE = env.float("CARRIER_DEADLINE", default=20.0) * TIME_SCALE
LEASE_SECONDS = CARRIER_DEADLINE + 10 * TIME_SCALE
# interface §8: a few minutes at most
QUOTE_SECONDS = min(env.int("QUOTE_SECONDS", default=180), 300)
# threads in each of a web server's two processes; a quarter of them may wait for the carrier
WEB_THREADS = env.int("WEB_THREADS", default=16)
# seconds to go on serving while stopping
DRAIN_SECONDS = env.float("DRAIN_SECONDS", default=0 if DEMO or TESTING else 5)
SWEEP_SECONDS = env.float("SWEEP_SECONDS", default=5.0)
# for a moving parcel; other stages are multiples of it
POLL_SECONDS = env.float("POLL_SECONDS", default=3600.0)
# -- Retention periods for personal data, in days: docs/security/data.md ------------------------
# of an order, since it was last due at the carrier
RECEIVER_DAYS = env.int("RECEIVER_DAYS", default=400)
ADDRESS_BOOK_DAYS = env.int("ADDRESS_BOOK_DAYS", default=400)  # since an entry was last used
# bodies of webhooks and scans; parsed values are kept
WEBHOOK_DAYS = env.int("WEBHOOK_DAYS", default=90)
LABEL_RETENTION_DAYS = env.int("LABEL_RETENTION_DAYS", default=90)
IMPORT_DAYS = env.int("IMPORT_DAYS", default=90)
NOTIFICATION_DAYS = env.int("NOTIFICATION_DAYS", default=90)
CALL_LOG_DAYS = env.int("CALL_LOG_DAYS", default=30)
INVITATION_DAYS = env.int("INVITATION_DAYS", default=30)  # after it has ended
CLOSED_ACCOUNT_DAYS = env.int("CLOSED_ACCOUNT_DAYS", default=30)  # time to export the data
QUOTE_DAYS = env.int("QUOTE_DAYS", default=7)
WEBHOOK_EVENT_DAYS = env.int("WEBHOOK_EVENT_DAYS", default=30)  # events sent to senders' programs

# -- Webhooks out ------------------------------------------------------------------------------
# how long an endpoint may fail before it is switched off
WEBHOOK_OUT_DAYS = env.float("WEBHOOK_OUT_DAYS", default=4.0)
WEBHOOK_OUT_PORTS = env.list("WEBHOOK_OUT_PORTS", cast=int, default=[443])
# allows receivers on 127.0.0.1, on any port and also over http
WEBHOOK_OUT_LOOPBACK = DEMO and env.bool("WEBHOOK_OUT_LOOPBACK", default=False)

# -- Metrics and alerts ------------------------------------------------------------------------
# bearer token for /metrics; without it there is no such page
METRICS_TOKEN = env("METRICS_TOKEN", default="")
METRICS_HOST = env("METRICS_HOST", default="127.0.0.1")
# port of each process: its calls, and whether it is alive; 0 is off
METRICS_PORT = env.int("METRICS_PORT", default=0)
ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])
ALERT_WEBHOOK_URL = env("ALERT_WEBHOOK_URL", default="")
ALERT_WEBHOOK_SECRET = env("ALERT_WEBHOOK_SECRET", default="")  # signs messages sent there
# our receivers on a private network
ALERT_PRIVATE_HOSTS = env.list("ALERT_PRIVATE_HOSTS", default=[])
ALERT_CA_BUNDLE = env("ALERT_CA_BUNDLE", default="")  # PEM, authorities to trust for those
ALERT_REPEAT_HOURS = env.float("ALERT_REPEAT_HOURS", default=4.0)
# requested each minute; a monitor alerts on silence
HEARTBEAT_URL = env("HEARTBEAT_URL", default="")
LABEL_STORE_GB = env.float("LABEL_STORE_GB", default=50.0)  # an alert is sent above this number
BACKUP_HOURS = env.float("BACKUP_HOURS", default=26.0)  # a backup older than this raises an alert

# -- Celery: messages only say where to look -----------------------------------------------------
REDIS_URL = env("REDIS_URL", default="redis://127.0.0.1:6379/0")
CELERY_BROKER_URL = REDIS_URL
# Workers take a row of a file only if no other message is waiting: in Redis, 0 comes first.
CELERY_TASK_ROUTES = {"jobs.*-row": {"priority": 9}}
CELERY_TASK_ACKS_LATE = True  # a process takes only as many messages as it has threads
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 30.0
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # messages aren't kept until their task is done: the sweep finds work lost with a worker
    "ack_emulation": False,
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "health_check_interval": 10,
}

# -- People ------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["shipping_portal.accounts.login.backend.MemberBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "shipping_portal.accounts.login.passwords.DressedUpWordValidator"},
    {"NAME": "shipping_portal.accounts.login.passwords.StaffLengthValidator"},
    {"NAME": "shipping_portal.accounts.login.passwords.StolenPasswordValidator"},
]
# sorted SHA-1, as Have I Been Pwned publishes it
STOLEN_PASSWORDS_FILE = env("STOLEN_PASSWORDS_FILE", default="")
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "parcels"
ACCOUNT_ADAPTER = "shipping_portal.accounts.login.adapter.PortalAccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_FORMS = {
    "signup": "shipping_portal.accounts.login.forms.SignUpForm",
    "login": "shipping_portal.accounts.login.forms.LogInForm",
    "add_email": "shipping_portal.accounts.login.forms.AddEmailForm",
    "change_password": "shipping_portal.accounts.login.forms.ChangePasswordForm",
    "set_password": "shipping_portal.accounts.login.forms.SetPasswordForm",
    "reset_password": "shipping_portal.accounts.login.forms.ResetPasswordForm",
    "reset_password_from_key": "shipping_portal.accounts.login.forms.ResetPasswordKeyForm",
    "reauthenticate": "shipping_portal.accounts.login.forms.ReauthenticateForm",
}
ACCOUNT_DEFAULT_HTTP_PROTOCOL = SITE_URL.partition(":")[0]  # for the links in our emails
ACCOUNT_EMAIL_NOTIFICATIONS = True  # a changed password or second factor is reported to its owner
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_CONFIRM_EMAIL_ON_GET = False  # mail scanners follow links, so a person presses a button
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 1
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_SESSION_REMEMBER = None
ACCOUNT_SESSION_COOKIE_AGE = 60 * 60 * 24 * 30  # when "keep me logged in" is ticked
MFA_FORMS = {
    "authenticate": "shipping_portal.accounts.login.forms.CodeForm",
    "reauthenticate": "shipping_portal.accounts.login.forms.CodeAgainForm",
    "activate_totp": "shipping_portal.accounts.login.forms.ActivateCodeForm",
}
# ask for the password before an address or second factor changes
ACCOUNT_REAUTHENTICATION_REQUIRED = True
PASSWORD_RESET_TIMEOUT = 3600
# Wrong passwords are counted in accounts/login/guesses.py; these rates count right ones, and
# emails.
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "login_failed": None,
    "reset_password": "20/m/ip,5/h/key",
}
MFA_ADAPTER = "shipping_portal.accounts.login.adapter.PortalMFAAdapter"
MFA_TOTP_TOLERANCE = 1  # one step of 30 s either way, for clock drift and slow typing
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = BRAND_NAME
# how senders reach the operator, shown on the help pages
CONTACT_EMAIL = env("CONTACT_EMAIL", default=CARRIER_CONTACT)
# addresses refused for senders
PARTNER_EMAIL_DOMAINS = env.list("PARTNER_EMAIL_DOMAINS", default=[])
# exceptions on the partner's own domain
ALLOWED_SENDER_EMAILS = env.list("ALLOWED_SENDER_EMAILS", default=[])

# -- Sign-on at the partner, by OpenID Connect: docs/sign-on.md ---------------------------------
SSO_ISSUER = env("SSO_ISSUER", default="")  # https; empty is off
SSO_CLIENT_ID = env("SSO_CLIENT_ID", default="")
SSO_CLIENT_SECRET = env("SSO_CLIENT_SECRET", default="")
SSO_NAME = env("SSO_NAME", default="")  # on the button: "Log in with …"
SSO_SCOPES = env.list("SSO_SCOPES", default=["openid", "profile", "email"])
# PEM, if its certificate isn't from a public authority
SSO_CA_BUNDLE = env("SSO_CA_BUNDLE", default="")
# counts an email without `email_verified` as verified
SSO_TRUSTS_EMAILS = env.bool("SSO_TRUSTS_EMAILS", default=False)
SSO_BUSINESS_CLAIM = env("SSO_BUSINESS_CLAIM", default="")  # compared with Sender.external_id
# opens a business account at its first owner's sign-on
SSO_OPENS_BUSINESSES = env.bool("SSO_OPENS_BUSINESSES", default=False)
SSO_BUSINESS_NAME_CLAIM = env("SSO_BUSINESS_NAME_CLAIM", default="")
SSO_COUNTRY = env("SSO_COUNTRY", default="")  # country of a new business: AU, CA or US
SSO_COUNTRY_CLAIM = env("SSO_COUNTRY_CLAIM", default="")
SSO_ROLE_CLAIM = env("SSO_ROLE_CLAIM", default="")
SSO_ROLES = env.dict("SSO_ROLES", default={})  # their word=our role
SSO_DEFAULT_ROLE = env("SSO_DEFAULT_ROLE", default="")  # the role of a person without such a word
SSO_STAFF_CLAIM = env("SSO_STAFF_CLAIM", default="")
SSO_STAFF_GROUPS = env.dict("SSO_STAFF_GROUPS", default={})  # their word=our group of operators
# values of acr or amr that count as a second factor
SSO_SECOND_FACTORS = env.list("SSO_SECOND_FACTORS", default=[])
# off means that nobody can sign up, log in or reset a password here
LOCAL_PASSWORDS = env.bool("LOCAL_PASSWORDS", default=True)
SOCIALACCOUNT_ADAPTER = "shipping_portal.accounts.login.issuer_adapter.OneIssuerAdapter"

# -- Sessions and browsers ---------------------------------------------------------------------
SECURE = not (DEMO or TESTING or DEBUG)
SESSION_ENGINE = "shipping_portal.accounts.login.session_store"
# 30 days when "keep me logged in" is ticked; staff: 8 h, 60 min idle
SESSION_COOKIE_AGE = 60 * 60 * 12
SESSION_EXPIRE_AT_BROWSER_CLOSE = False
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_NAME = "__Host-session" if SECURE else "session"
KNOWN_BROWSER_COOKIE = "__Host-known" if SECURE else "known"
CSRF_USE_SESSIONS = True
CSRF_FAILURE_VIEW = "shipping_portal.http.error_pages.expired"
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000) if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE and env.bool("HSTS_SUBDOMAINS", default=True)
# hard to undo, because browsers ship the list
SECURE_HSTS_PRELOAD = SECURE and env.bool("HSTS_PRELOAD", default=False)
SECURE_SSL_REDIRECT = SECURE
# a redirected webhook would be a lost scan
SECURE_REDIRECT_EXEMPT = [r"^webhooks/", r"^(livez|readyz)$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXY_COUNT else None
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"  # except the label PDF, which our own pages frame (orders/views/labels.py)
SILENCED_SYSTEM_CHECKS = ["security.W021"]  # it asks for HSTS_PRELOAD
# ids of the few checks that can be accepted (ops/deploy_checks.py)
ACCEPTED_RISKS = env.list("ACCEPTED_RISKS", default=[])
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "frame-src": ["'self'"],
        "object-src": ["'none'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "report-uri": "/csp-reports/",
    }
}
# fields; five hundred chosen parcels, and the rest of their form
DATA_UPLOAD_MAX_NUMBER_FIELDS = 600

# -- Language, time, files, mail, logs ----------------------------------------------------------
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "shipping_portal.formats"
TIME_ZONE = env("OPERATORS_ZONE", default="UTC")  # zone of the admin; senders have their own
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = DEMO or DEBUG or TESTING  # collectstatic isn't needed on a laptop
STATIC_ROOT = None if WHITENOISE_USE_FINDERS else BASE_DIR / "static-root"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if WHITENOISE_USE_FINDERS
            else "whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}
EMAIL_CONFIG = env.email("EMAIL_URL", default="dummymail://" if TESTING else "consolemail://")
vars().update(EMAIL_CONFIG)
EMAIL_TIMEOUT = 10  # seconds; a silent server mustn't block a page or the sweep
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", default=f"{BRAND_NAME} <portal@localhost>")
LOGGING_CONFIG = "shipping_portal.ops.logs.configure"
LOGGING = {"level": env("LOG_LEVEL", default="INFO")}
