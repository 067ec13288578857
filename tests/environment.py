"""The environment variables for tests, loaded by `-p tests.environment` before Django reads its settings."""

import os

os.environ |= {
    "TESTING": "1",
    "SECRET_KEY": "tests-only-not-a-secret-0123456789abcdefghij",
    "REDIS_URL": os.environ.get("TEST_BROKER_URL", "memory://"),  # messages go nowhere; tests do the work themselves
    "CARRIER_BASE_URL": "http://127.0.0.1:9",  # the discard port: nothing answers until a sandbox is asked for
    "CARRIER_ACCOUNT": "demo-account",
    "CARRIER_KEY": "canary-carrier-key",
    "CARRIER_PARTNER_ID": "PRT-0001",
    "CARRIER_CONTACT": "ops@portal.example",
    "CARRIER_LINK_KEY": "canary-link-key-0123456789abcdef",
    "SECOND_CARRIER": "",
    "OLDER_CARRIERS": "",
    "WEBHOOK_SECRETS": "carrier:canary-webhook-secret-0123456789abcdef,carrier:older-webhook-secret-0123456789abcdef",
    "ALERT_WEBHOOK_SECRET": "canary-alert-secret-0123456789abcdef",
    "METRICS_TOKEN": "canary-metrics-token-0123456789abcdef",
    "SIGN_UP": "open",
    "PARTNER_EMAIL_DOMAINS": "portal.example",
    "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
}
os.environ.setdefault("DATABASE_URL", "sqlite:///:memory:")
os.environ.setdefault("MIGRATE_DATABASE_URL", "")  # not the one of an .env file
