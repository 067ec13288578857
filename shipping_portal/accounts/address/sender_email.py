"""Check that a sender's email address is real, works and is read by a person (interface §2.1).

Generic support, per-order and relay addresses are rejected. Shared mailboxes are allowed once
somebody has confirmed, on record, that a person reads them.
"""

import re
from dataclasses import dataclass
from typing import Literal

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import Case, Q, When

from shipping_portal.accounts.address.text import word_set
from shipping_portal.accounts.models import Role, Sender

Kind = Literal["no_reply", "relay", "per_order", "support", "partner", "shared"]

NO_REPLY = re.compile(r"(do[-_.]?)?(no|not)[-_.]?reply|bounces?|mailer-daemon|postmaster")
SUPPORT = {"help", "service", "care"}
CUSTOMER_SERVICE = "cs"  # c.s@ may be somebody's initials
# even as part of the name
SUPPORT_WITHIN = re.compile(r"support|helpdesk|servicedesk|customer(service|care)")
SHARED = word_set(
    "accounts admin billing bookings contact dispatch enquiries hello hi info inquiries logistics "
    "mail office orders reception returns sales shipping shop store team warehouse webmaster"
)
RELAYS = word_set(
    "privaterelay.appleid.com duck.com mozmail.com relay.firefox.com simplelogin.com "
    "simplelogin.io simplelogin.co slmail.me aleeas.com anonaddy.com anonaddy.me addy.io "
    "users.noreply.github.com passmail.net passmail.com passinbox.com passfwd.com 33mail.com "
    "burnermail.io opayq.com spamgourmet.com dralias.com 8alias.com 8shield.net relay.walmart.com "
    "reply.craigslist.org zendesk.com freshdesk.com helpscout.net mailinator.com "
    "guerrillamail.com sharklasers.com yopmail.com temp-mail.org 10minutemail.com trashmail.com "
    "maildrop.cc dispostable.com getnada.com throwawaymail.com"
)
# Domains in every country: marketplace.amazon.co.uk,
# members.ebay.com.au.
MARKETPLACES = re.compile(
    r"(?:^|(?<=\.))(?:marketplace\.(?:amazon|ebay)|members\.ebay)(?:\.[a-z]{2,3}){1,2}\Z"
)
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
ORDER_NUMBER = re.compile(
    r"(order|parcel|shipment|booking|ref|job|po|ticket|case|issue)[-_.#]?([0-9]{3,}|(?<=[-_.#])[0-9]+)"
    r"|(order|parcel|shipment|booking|ticket)[0-9]{2}"
)

SENTENCES: dict[Kind, str] = {
    "no_reply": (
        "No one reads a no-reply address. The carrier and drivers write here: use an inbox a person"
        " reads."
    ),
    "relay": (
        "This address hides the real one behind a relay. The carrier needs your own, working"
        " address."
    ),
    "per_order": (
        "This looks like an address made for one order. Use the one your business always reads."
    ),
    "support": (
        "The carrier doesn't take a general support address. Use the address of the person who"
        " ships."
    ),
    "partner": "This address belongs to the portal itself. Use the address of your own business.",
    "shared": (
        "This looks like a shared mailbox. Drivers and the carrier write here. Use an inbox a"
        " person reads."
    ),
}


@dataclass(frozen=True)
class Verdict:
    """What kind of address it is, and the message to show. A person's own has neither."""

    kind: Kind | None = None

    @property
    def is_refused(self) -> bool:
        return self.kind is not None and not self.needs_confirmation

    @property
    def needs_confirmation(self) -> bool:
        """Return whether it is a shared mailbox, allowed once a reader is confirmed."""
        return self.kind == "shared"

    @property
    def is_unusable(self) -> bool:
        """Return whether an address can't be used even to log in.

        Our mail would be lost or read by strangers.
        """
        return self.kind in {"no_reply", "relay", "per_order"}

    @property
    def sentence(self) -> str:
        return SENTENCES[self.kind] if self.kind else ""


def judge_email(email: str) -> Verdict:
    """Return the verdict on an address from its text alone. Verification is checked elsewhere."""
    local, _, domain = email.strip().lower().rpartition("@")
    name, _, tag = local.partition("+")
    plain = re.sub(r"[-_.]", "", name)
    if NO_REPLY.fullmatch(name) or "noreply" in plain or "donotreply" in plain:
        return Verdict("no_reply")
    if any(
        domain == relay or domain.endswith(f".{relay}") for relay in RELAYS
    ) or MARKETPLACES.search(domain):
        return Verdict("relay")
    if "noreply" in domain or (name == "reply" and tag):
        return Verdict("relay")
    if any(c.isdigit() for c in tag) or UUID.fullmatch(name) or ORDER_NUMBER.fullmatch(name):
        return Verdict("per_order")
    if name == CUSTOMER_SERVICE or plain in SUPPORT or SUPPORT_WITHIN.search(plain):
        return Verdict("support")
    if _is_partners(email, domain):
        return Verdict("partner")
    return Verdict("shared" if plain in SHARED else None)


def usable_emails(sender: Sender) -> list[str]:
    """Return the verified addresses that may be on this sender's orders, the owners' first."""
    verified = EmailAddress.objects.filter(
        verified=True, user__membership__sender=sender, user__is_active=True
    )
    is_owner = Q(user__membership__role=Role.OWNER)
    owners_first = verified.order_by(Case(When(is_owner, then=0), default=1), "-primary", "pk")
    addresses = owners_first.values_list("email", flat=True)
    return [email for email in addresses if not judge_email(email).is_refused]


def _is_partners(email: str, domain: str) -> bool:
    allowed = {one.lower() for one in settings.ALLOWED_SENDER_EMAILS}
    own = [one.lower() for one in settings.PARTNER_EMAIL_DOMAINS]
    return email.strip().lower() not in allowed and any(
        domain == d or domain.endswith(f".{d}") for d in own
    )
