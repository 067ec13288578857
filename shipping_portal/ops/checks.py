"""Check settings, demo accounts, the restore mark, and each carrier account with its contract."""

import re
import ssl
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import combinations
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from orders.calling import carrier_settings
from orders.calling.carrier_settings import CarrierSettings
from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.hosts import base_origin
from shipping_portal.ops.deploy_checks import (
    SHORTEST_KEY,
    Rule,
    broken_rules,
    is_demo_or_test,
    is_weak,
)

NAME = re.compile(r"[A-Z0-9_]+")
LONGEST_TITLE = 60  # as long as accounts.Sender.default_carrier


def _check_address(configured: CarrierSettings) -> Iterator[CheckMessage]:
    setting = f"{configured.prefix}_BASE_URL"
    if not configured.base_url:
        if not settings.TESTING:
            yield Error(f"{setting} is empty.", hint="Set the carrier's address.", id="portal.E001")
        return
    try:
        origin = base_origin(configured.base_url)
    except ValueError as problem:
        yield Error(f"{setting} cannot be used: {problem}", hint="Use https.", id="portal.E002")
        return
    if origin.loopback and not is_demo_or_test():
        yield Error(
            f"{setting} points to this machine.",
            hint="Only the demo (DEMO=1) and tests may use a carrier on a loopback address.",
            id="portal.E003",
        )


@register("carrier")
def check_accounts_apart(**options: Any) -> Iterable[CheckMessage]:
    """Refuse two accounts with the same secret: a secret in a path comes without a user name."""
    for one, other in combinations(carrier_settings.all_settings(), 2):
        if one.fingerprint == other.fingerprint:
            yield Error(
                f"{other.prefix}_BASE_URL and {other.prefix}_ACCOUNT name the same account as"
                f" {one.prefix}_….",
                hint=(
                    "List each account once. An account that takes new orders can't also be an"
                    " older one."
                ),
                id="portal.E013",
            )
        if _secrets_of(one) & _secrets_of(other):
            yield Error(
                f"{other.secrets_setting} and {one.secrets_setting} share a secret, so a webhook"
                " could belong to either account.",
                hint=f"Create a new one for {one.prefix}_…: `openssl rand -hex 24`.",
                id="portal.E014",
            )


def _secrets_of(configured: CarrierSettings) -> set[str]:
    return {pair.partition(":")[2] for pair in configured.webhook_secrets} - {""}


@register("carrier")
def check_second_account(**options: Any) -> Iterable[CheckMessage]:
    """Refuse a second account without a key, several of them, or two with the same title."""
    if len(settings.SECOND_CARRIER) > 1:
        yield Error(
            f"SECOND_CARRIER names {len(settings.SECOND_CARRIER)} accounts.",
            hint="Name one: at most two accounts take new orders.",
            id="portal.E066",
        )
    for configured in carrier_settings.settings_for_new_orders()[1:]:
        if not (configured.key and configured.account):
            yield Error(
                f"{configured.prefix}_KEY or {configured.prefix}_ACCOUNT is empty, so the carrier"
                " will refuse every request.",
                hint="Set both, or leave SECOND_CARRIER empty.",
                id="portal.E067",
            )
    titles = [configured.title for configured in carrier_settings.settings_for_new_orders()]
    if len(titles) > 1 and (
        len(set(titles)) < len(titles) or max(map(len, titles)) > LONGEST_TITLE
    ):
        yield Error(
            f"The carriers are called {' and '.join(titles)}. Senders need two different names of"
            f" at most {LONGEST_TITLE} characters.",
            hint="Set CARRIER_TITLE, and the TITLE of the account in SECOND_CARRIER.",
            id="portal.E068",
        )


@register("carrier")
def check_names_of_further_accounts(**options: Any) -> Iterable[CheckMessage]:
    """Refuse an account named LINK: CARRIER_LINK_KEY would also be its API key."""
    every = carrier_settings.all_settings()
    for name, configured in zip(carrier_settings.further_names(), every[1:], strict=True):
        others = {
            setting for other in every if other is not configured for setting in other.setting_names
        }
        if not NAME.fullmatch(name) or others & set(configured.setting_names):
            yield Error(
                f"{_list_with(name)} has {name!r}, which can't be used in setting names.",
                hint=(
                    "Use only capitals, digits and _, and no name that turns CARRIER_…_KEY into"
                    " another setting."
                ),
                id="portal.E015",
            )


def _list_with(name: str) -> str:
    return "SECOND_CARRIER" if name in settings.SECOND_CARRIER else "OLDER_CARRIERS"


def is_bundle(path: str) -> bool:
    """Return whether a file has certificates to trust: an authority's, or a server's own."""
    try:
        return ssl.create_default_context(cafile=path).cert_store_stats()["x509"] > 0
    except OSError:  # ssl.SSLError is one
        return False


def _check_bundle(configured: CarrierSettings) -> Iterator[CheckMessage]:
    if configured.ca_bundle and not is_bundle(configured.ca_bundle):
        yield Error(
            f"{configured.prefix}_CA_BUNDLE is not a certificate file.",
            hint=(
                "Set the path of a PEM file with the authority that signed the carrier's"
                " certificate."
            ),
            id="portal.E050",
        )


def _check_partner(configured: CarrierSettings) -> Iterator[CheckMessage]:
    """Refuse a missing partner_id, which every call needs (§4)."""
    if not (configured.partner_id or is_demo_or_test()):
        yield Error(
            f"{configured.prefix}_PARTNER_ID is empty.",
            hint="The carrier's partner manager supplies it.",
            id="portal.E004",
        )


def _check_client(configured: CarrierSettings) -> Iterator[CheckMessage]:
    try:
        configured.client_class  # noqa: B018  (raises)
    except (ImportError, TypeError) as problem:
        yield Error(
            f"{configured.prefix}_CLIENT cannot be used: {problem}.",
            hint="Name a subclass of shipping_portal.carrier.client.Carrier, or leave it empty.",
            id="portal.E018",
        )


def _check_contract(configured: CarrierSettings) -> Iterator[CheckMessage]:
    setting = f"{configured.prefix}_CONTRACT"
    try:
        contract = configured.contract
    except ContractError as problem:
        yield Error(str(problem), hint=f"Fix the {setting} file.", id="portal.E005")
        return
    if contract.link == "none" and not is_demo_or_test():
        yield Warning(
            'The contract says link = "none", so senders can\'t choose another pickup day'
            " (interface §5). They are asked to contact you, and futile pickups wait in the admin"
            " for you to arrange a day.",
            hint=(
                "Ask the carrier how its tracking page links work, and set link to “response” or"
                f" “signed” in the {setting} file."
            ),
            id="portal.W002",
        )


def _check_reference(configured: CarrierSettings) -> Iterator[CheckMessage]:
    """Refuse interface §2.2's placeholder for the reference.

    With it, the outcome of every paid booking would be unclear.
    """
    # reported by _check_contract and _check_client
    with suppress(ContractError, ImportError, TypeError):
        configured.contract  # noqa: B018  (raises what _check_contract tells)
        named = {**configured.client_class.points, **Contract.overrides(configured.contract_file)}
        missing = [name for name in ("reference", "event_reference") if name not in named]
        if missing and not is_demo_or_test():
            yield Error(
                f"The contract file doesn't name {' and '.join(missing)}, a placeholder in the"
                " interface document. Without the real name, no booking reply or scan can be read.",
                hint=(
                    "Ask the carrier for the field's name, and add it to the"
                    f" {configured.prefix}_CONTRACT file."
                ),
                id="portal.E012",
            )


def _check_webhook_secrets(configured: CarrierSettings) -> Iterator[CheckMessage]:
    if not (configured.webhook_secrets or configured.is_closed or settings.TESTING):
        yield Error(
            f"{configured.secrets_setting} is empty, so no scans can be received.",
            hint="Set user:secret. `openssl rand -hex 24` makes a good secret.",
            id="portal.E006",
        )
    with suppress(ImportError, TypeError):  # reported by _check_client
        yield from _webhook_key(configured)
    for number, pair in enumerate(configured.webhook_secrets, start=1):
        user, _, secret = pair.partition(":")
        if not user or is_weak(secret):
            yield Error(
                f"Entry {number} of {configured.secrets_setting} is not user:secret with at least "
                f"{SHORTEST_KEY} random characters.",
                hint="`openssl rand -hex 24` makes a good secret.",
                id="portal.E007",
            )


def _webhook_key(configured: CarrierSettings) -> Iterator[CheckMessage]:
    is_needed = configured.signs_webhooks and not (configured.is_closed or is_demo_or_test())
    if is_needed and is_weak(configured.webhook_key):
        yield Error(
            f"{configured.prefix}_WEBHOOK_KEY is empty or too short, so each webhook is refused:"
            " its signature can't be checked.",
            hint="Set the secret it signs with, or its public keys: docs/carriers.md.",
            id="portal.E019",
        )


ACCOUNT_CHECKS = (
    _check_address,
    _check_bundle,
    _check_partner,
    _check_client,
    _check_contract,
    _check_reference,
    _check_webhook_secrets,
)


@register("carrier")
def check_accounts(**options: Any) -> Iterable[CheckMessage]:
    """Check the settings and the contract of each carrier account."""
    for configured in carrier_settings.all_settings():
        for check in ACCOUNT_CHECKS:
            yield from check(configured)


SIGN_UP_MODES = ("open", "first_limit", "approve", "invited")


RULES = (
    Rule(
        "portal.E016",
        lambda: not settings.ENCRYPTION_KEYS or any(map(is_weak, settings.ENCRYPTION_KEYS)),
        f"ENCRYPTION_KEYS is empty, or one of them has fewer than {SHORTEST_KEY} random"
        " characters.",
        "`openssl rand -hex 32` makes a good one. Keep a copy outside the database backups.",
    ),
    Rule(
        "portal.W001",
        lambda: not settings.CARRIER_CONTACT,
        "CARRIER_CONTACT is empty.",
        "Set a mailbox. It goes in the User-Agent, so the carrier can reach you.",
    ),
    Rule(
        "portal.W010",
        lambda: not settings.RESTORE_MARK_FILE,
        "RESTORE_MARK_FILE is empty, so a restored snapshot or SQLite file can't be recognised.",
        "Set a file outside the database, and run `manage.py backup_taken` after each backup.",
    ),
    Rule(
        "portal.W011",
        lambda: not settings.ERASED_FILE,
        "ERASED_FILE is empty, so restoring a backup brings back erased people.",
        "Set a file outside the database, next to RESTORE_MARK_FILE, and keep a copy of it.",
    ),
)
PROXY = re.compile(r"http://([^@/\s]+@)?[A-Za-z0-9.-]+:\d+")
RULES_OF_THE_DEMO_TOO = (
    Rule(
        "portal.E050",
        lambda: bool(settings.ALERT_CA_BUNDLE) and not is_bundle(settings.ALERT_CA_BUNDLE),
        "ALERT_CA_BUNDLE is not a certificate file.",
        "Set the path of a PEM file with the authority that signed your own receiver's"
        " certificate.",
    ),
    Rule(
        "portal.E051",
        lambda: bool(settings.CARRIER_PROXY) and not PROXY.fullmatch(settings.CARRIER_PROXY),
        "CARRIER_PROXY is not http://host:port, or http://user:password@host:port.",
        "Traffic through it is encrypted to the carrier: the proxy sees only host and port.",
    ),
    Rule(
        "portal.E009",
        lambda: settings.SIGN_UP not in SIGN_UP_MODES,
        "SIGN_UP is none of the ways to sign up.",
        f"Use one of {', '.join(SIGN_UP_MODES)}.",
    ),
)


@register(Tags.security)
def check_settings(**options: Any) -> Iterable[CheckMessage]:
    yield from broken_rules(RULES_OF_THE_DEMO_TOO)
    if not is_demo_or_test():
        yield from broken_rules(RULES)


@register(Tags.files)
def check_reports_folder(**options: Any) -> Iterable[CheckMessage]:
    """Only warn: an error would keep the sweeper, and so all bookings, from starting."""
    from shipping_portal.billing.reports import folder  # noqa: PLC0415  (models load after checks)

    if why := folder.why_unusable():
        yield Warning(
            why,
            hint=(
                "Set a folder on this machine where the portal can read and move files and create"
                " folders."
            ),
            id="portal.W012",
        )


@register(Tags.database)
def check_demo_people(**options: Any) -> Iterable[CheckMessage]:
    """Refuse the demo's passwords outside the demo: they are public."""
    # Models load after checks.
    from shipping_portal.accounts.demo import has_demo_credentials  # noqa: PLC0415

    if options.get("databases") and not settings.DEMO and has_demo_credentials():
        yield Error(
            "This database has demo users, whose passwords are public.",
            hint=(
                "Start with an empty database, or run manage.py changepassword for mia@ and"
                " operator@demo.example."
            ),
            id="portal.E008",
        )
