"""The demo's people. Their passwords are public, so they are refused wherever DEMO is not set."""

from shipping_portal.accounts.models import User

DOMAIN = "demo.example"
SENDER_EMAIL = f"sender@{DOMAIN}"
OPERATOR_EMAIL = f"operator@{DOMAIN}"


def people_left_behind() -> bool:
    """Are there people of the demo in this database?"""
    return User.objects.filter(email__endswith=f"@{DOMAIN}").exists()
