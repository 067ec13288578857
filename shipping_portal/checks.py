"""What is wrong with this installation, said by `manage.py check` with an id and what to do."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.hosts import base_origin

SHORTEST_WEBHOOK_SECRET = 32
SIGN_UP_MODES = ("open", "first_limit", "approve", "invited")


@register("carrier")
def check_carrier_address(**options: Any) -> Iterable[CheckMessage]:
    if not settings.CARRIER_BASE_URL:
        if not settings.TESTING:
            yield Error("CARRIER_BASE_URL is empty.", hint="Set the carrier's address.", id="portal.E001")
        return
    try:
        origin = base_origin(settings.CARRIER_BASE_URL)
    except ValueError as problem:
        yield Error(f"CARRIER_BASE_URL cannot be used: {problem}", hint="Use https.", id="portal.E002")
        return
    if origin.loopback and not (settings.DEMO or settings.TESTING):
        yield Error(
            "CARRIER_BASE_URL is this very machine.",
            hint="Only the demo (DEMO=1) and the tests may use a carrier on a loopback address.",
            id="portal.E003",
        )


@register("carrier")
def check_partner(**options: Any) -> Iterable[CheckMessage]:
    """Interface §4: partner_id goes with quotes, orders and tracking; a User-Agent should mean something."""
    if settings.DEMO or settings.TESTING:
        return
    if not settings.CARRIER_PARTNER_ID:
        yield Error(
            "CARRIER_PARTNER_ID is empty.",
            hint="The carrier's partner manager supplies it.",
            id="portal.E004",
        )
    if not settings.CARRIER_CONTACT:
        yield Warning(
            "CARRIER_CONTACT is empty.",
            hint="Name a mailbox: it is in the User-Agent, so that the carrier can reach you.",
            id="portal.W001",
        )


@register("carrier")
def check_contract(**options: Any) -> Iterable[CheckMessage]:
    try:
        contract = Contract.load(settings.CARRIER_CONTRACT)
    except ContractError as problem:
        yield Error(str(problem), hint="Correct the file that CARRIER_CONTRACT names.", id="portal.E005")
        return
    if contract.link == "none" and not (settings.DEMO or settings.TESTING):
        yield Warning(
            'The contract says link = "none", so no sender can open parcel tools (interface §5) and choose another '
            "pickup day: each is told to contact you, and futile pickups wait on the desk for you to agree a new day.",
            hint='Ask the carrier how its tracking page links are made, and set link to "response" or "signed".',
            id="portal.W002",
        )


@register("carrier")
def check_reference_is_named(**options: Any) -> Iterable[CheckMessage]:
    """Interface §2.2 names the reference by a placeholder: left as it is, every paid booking would be unclear."""
    if settings.DEMO or settings.TESTING:
        return
    with suppress(ContractError):  # told by check_contract
        Contract.load(settings.CARRIER_CONTRACT)
        missing = [
            name
            for name in ("reference", "event_reference")
            if name not in Contract.told(settings.CARRIER_CONTRACT)
        ]
        if missing:
            yield Error(
                f"The contract file doesn't name {' and '.join(missing)}, which the interface document replaced by "
                "a placeholder. Without the true name no reply to a booking, and no scan, can be read.",
                hint="Ask the carrier for the member's name, and name it in the file of CARRIER_CONTRACT.",
                id="portal.E012",
            )


@register(Tags.security)
def check_webhook_secrets(**options: Any) -> Iterable[CheckMessage]:
    if not (settings.WEBHOOK_SECRETS or settings.TESTING):
        yield Error(
            "WEBHOOK_SECRETS is empty, so no scan can be received.",
            hint="Set user:secret; `openssl rand -hex 24` makes a good secret.",
            id="portal.E006",
        )
    for number, pair in enumerate(settings.WEBHOOK_SECRETS, start=1):
        user, _, secret = pair.partition(":")
        if not user or len(secret) < SHORTEST_WEBHOOK_SECRET:
            yield Error(
                f"Entry {number} of WEBHOOK_SECRETS is not user:secret with at least "
                f"{SHORTEST_WEBHOOK_SECRET} characters of secret.",
                hint="`openssl rand -hex 24` makes a good secret.",
                id="portal.E007",
            )


@register(Tags.security)
def check_restore_mark(**options: Any) -> Iterable[CheckMessage]:
    if not (settings.RESTORE_MARK_FILE or settings.DEMO or settings.TESTING):
        yield Warning(
            "RESTORE_MARK_FILE is empty, so a restored snapshot or SQLite file is not recognised.",
            hint="Name a file outside the database, and run `manage.py backup_taken` after each backup.",
            id="portal.W010",
        )


@register(Tags.security)
def check_sign_up(**options: Any) -> Iterable[CheckMessage]:
    if settings.SIGN_UP not in SIGN_UP_MODES:
        yield Error(
            f"SIGN_UP is {settings.SIGN_UP!r}.",
            hint=f"Set one of {', '.join(SIGN_UP_MODES)}.",
            id="portal.E009",
        )


@register(Tags.database)
def check_demo_people(**options: Any) -> Iterable[CheckMessage]:
    """The demo's passwords are public, so nobody may log in with them anywhere else."""
    from shipping_portal.accounts.demo import people_left_behind  # noqa: PLC0415  (models load after checks)

    if options.get("databases") and not settings.DEMO and people_left_behind():
        yield Error(
            "This database holds people of the demo, whose passwords are public.",
            hint="Start with an empty database, or run manage.py changepassword for mia@ and operator@demo.example.",
            id="portal.E008",
        )
