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
from shipping_portal.ops.deploy_checks import SHORTEST_KEY, is_weak

NAME = re.compile(r"[A-Z0-9_]+")
LONGEST_TITLE = 60  # as long as accounts.Sender.default_carrier


@register("carrier")
def check_carrier_address(**options: Any) -> Iterable[CheckMessage]:
    for configured in carrier_settings.all_settings():
        yield from _check_address(configured)


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
    if origin.loopback and not (settings.DEMO or settings.TESTING):
        yield Error(
            f"{setting} points to this machine.",
            hint="Only the demo (DEMO=1) and tests may use a carrier on a loopback address.",
            id="portal.E003",
        )


@register("carrier")
def check_accounts_apart(**options: Any) -> Iterable[CheckMessage]:
    """Refuse two accounts with one secret: a secret in an address's path has no user name."""
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


@register("carrier")
def check_way_to_the_carrier(**options: Any) -> Iterable[CheckMessage]:
    for configured in carrier_settings.all_settings():
        if configured.ca_bundle and not is_bundle(configured.ca_bundle):
            yield Error(
                f"{configured.prefix}_CA_BUNDLE is not a certificate file.",
                hint=(
                    "Set the path of a PEM file with the authority that signed the carrier's"
                    " certificate."
                ),
                id="portal.E050",
            )
    if settings.ALERT_CA_BUNDLE and not is_bundle(settings.ALERT_CA_BUNDLE):
        yield Error(
            "ALERT_CA_BUNDLE is not a certificate file.",
            hint=(
                "Set the path of a PEM file with the authority that signed your own receiver's"
                " certificate."
            ),
            id="portal.E050",
        )
    proxy = settings.CARRIER_PROXY
    if proxy and not re.fullmatch(r"http://([^@/\s]+@)?[A-Za-z0-9.-]+:\d+", proxy):
        yield Error(
            "CARRIER_PROXY is not http://host:port, or http://user:password@host:port.",
            hint=(
                "Traffic through it is encrypted to the carrier: the proxy sees only host and port."
            ),
            id="portal.E051",
        )


def is_bundle(path: str) -> bool:
    """Return whether a file has trustworthy certificates: an authority's, or a server's own."""
    try:
        return ssl.create_default_context(cafile=path).cert_store_stats()["x509"] > 0
    except OSError:  # ssl.SSLError is one
        return False


@register("carrier")
def check_partner(**options: Any) -> Iterable[CheckMessage]:
    """Warn about a missing partner_id, which goes with every call, or a missing User-Agent (§4)."""
    if settings.DEMO or settings.TESTING:
        return
    for configured in carrier_settings.all_settings():
        if not configured.partner_id:
            yield Error(
                f"{configured.prefix}_PARTNER_ID is empty.",
                hint="The carrier's partner manager supplies it.",
                id="portal.E004",
            )
    if not settings.CARRIER_CONTACT:
        yield Warning(
            "CARRIER_CONTACT is empty.",
            hint="Set a mailbox. It goes in the User-Agent, so the carrier can reach you.",
            id="portal.W001",
        )


@register("carrier")
def check_clients(**options: Any) -> Iterable[CheckMessage]:
    for configured in carrier_settings.all_settings():
        try:
            configured.client_class  # noqa: B018  (raises)
        except (ImportError, TypeError) as problem:
            yield Error(
                f"{configured.prefix}_CLIENT cannot be used: {problem}.",
                hint=(
                    "Name a subclass of shipping_portal.carrier.client.Carrier, or leave it empty."
                ),
                id="portal.E018",
            )


@register("carrier")
def check_contract(**options: Any) -> Iterable[CheckMessage]:
    for configured in carrier_settings.all_settings():
        yield from _check_contract(configured)


def _check_contract(configured: CarrierSettings) -> Iterator[CheckMessage]:
    setting = f"{configured.prefix}_CONTRACT"
    try:
        contract = configured.contract
    except ContractError as problem:
        yield Error(str(problem), hint=f"Fix the {setting} file.", id="portal.E005")
        return
    if contract.link == "none" and not (settings.DEMO or settings.TESTING):
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


@register("carrier")
def check_reference_is_named(**options: Any) -> Iterable[CheckMessage]:
    """Refuse interface §2.2's placeholder for the reference.

    Every paid booking would be unclear.
    """
    if settings.DEMO or settings.TESTING:
        return
    for configured in carrier_settings.all_settings():
        # reported by check_contract and check_clients
        with suppress(ContractError, ImportError, TypeError):
            yield from _names_of_the_reference(configured)


def _names_of_the_reference(configured: CarrierSettings) -> Iterator[CheckMessage]:
    configured.contract  # noqa: B018  (raises what check_contract tells)
    named = {**configured.client_class.points, **Contract.overrides(configured.contract_file)}
    missing = [name for name in ("reference", "event_reference") if name not in named]
    if missing:
        yield Error(
            f"The contract file doesn't name {' and '.join(missing)}, a placeholder in the"
            " interface document. Without the real name, no booking reply or scan can be read.",
            hint=(
                "Ask the carrier for the field's name, and add it to the"
                f" {configured.prefix}_CONTRACT file."
            ),
            id="portal.E012",
        )


@register(Tags.security)
def check_webhook_secrets(**options: Any) -> Iterable[CheckMessage]:
    for configured in carrier_settings.all_settings():
        yield from _webhook_secrets(configured)


def _webhook_secrets(configured: CarrierSettings) -> Iterator[CheckMessage]:
    if not (configured.webhook_secrets or configured.is_closed or settings.TESTING):
        yield Error(
            f"{configured.secrets_setting} is empty, so no scans can be received.",
            hint="Set user:secret. `openssl rand -hex 24` makes a good secret.",
            id="portal.E006",
        )
    with suppress(ImportError, TypeError):  # reported by check_clients
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
    is_pretended = settings.DEMO or settings.TESTING
    is_needed = configured.signs_webhooks and not (configured.is_closed or is_pretended)
    if is_needed and is_weak(configured.webhook_key):
        yield Error(
            f"{configured.prefix}_WEBHOOK_KEY is empty or too short, so each webhook is refused:"
            " its signature can't be checked.",
            hint="Set the secret it signs with, or its public keys: docs/carriers.md.",
            id="portal.E019",
        )


SIGN_UP_MODES = ("open", "first_limit", "approve", "invited")


@register(Tags.security)
def check_restore_mark(**options: Any) -> Iterable[CheckMessage]:
    if not (settings.RESTORE_MARK_FILE or settings.DEMO or settings.TESTING):
        yield Warning(
            "RESTORE_MARK_FILE is empty, so a restored snapshot or SQLite file can't be"
            " recognised.",
            hint=(
                "Set a file outside the database, and run `manage.py backup_taken` after each"
                " backup."
            ),
            id="portal.W010",
        )


@register(Tags.security)
def check_erased_file(**options: Any) -> Iterable[CheckMessage]:
    if not (settings.ERASED_FILE or settings.DEMO or settings.TESTING):
        yield Warning(
            "ERASED_FILE is empty, so restoring a backup brings back erased people.",
            hint=(
                "Set a file outside the database, next to RESTORE_MARK_FILE, and keep a copy of it."
            ),
            id="portal.W011",
        )


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


@register(Tags.security)
def check_sign_up(**options: Any) -> Iterable[CheckMessage]:
    if settings.SIGN_UP not in SIGN_UP_MODES:
        yield Error(
            f"SIGN_UP is {settings.SIGN_UP!r}.",
            hint=f"Use one of {', '.join(SIGN_UP_MODES)}.",
            id="portal.E009",
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
