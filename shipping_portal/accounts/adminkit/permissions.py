"""What each group of operators may see and do: one table, and the one function that reads it.

The desk's pages, its buttons and the addresses behind them all ask `may` (or `demand`). What a group may see becomes
Django's view permissions, written by `manage.py operator_groups`; what it may do is this table alone.
"""

import logging
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, Q

log = logging.getLogger(__name__)

SUPPORT, BILLING, OPS_LEAD, READ_ONLY = GROUPS = ("Support", "Billing", "Ops lead", "Read-only")

# What may be done, and by whom. A superuser may do everything; who is in no group may do nothing.
ACTS: dict[str, frozenset[str]] = {
    "resolve": frozenset({SUPPORT, OPS_LEAD}),  # settle an unclear booking or cancellation
    "reveal": frozenset({SUPPORT, OPS_LEAD}),  # read personal data that is masked
    "retry": frozenset({SUPPORT, OPS_LEAD}),  # dead letters, and labels that were not fetched
    "replay": frozenset({SUPPORT, OPS_LEAD}),  # read stored webhooks again, test the listener
    "cancel_for_sender": frozenset({SUPPORT, OPS_LEAD}),
    "cases": frozenset({SUPPORT, BILLING, OPS_LEAD}),  # notes, who looks after a case, an email to its sender
    "see_as": frozenset({SUPPORT, BILLING, OPS_LEAD}),  # a sender's own pages, read only, masked without "reveal"
    "imports": frozenset({SUPPORT, OPS_LEAD}),  # of one sender: paused, resumed, checked again
    "people": frozenset({SUPPORT, OPS_LEAD}),  # those who work for a sender: off, on, logged out
    "suspend": frozenset({SUPPORT, BILLING, OPS_LEAD}),  # and reinstate; approve and decline a new account
    "erase": frozenset({OPS_LEAD}),  # a person, or an account that its owner wants closed; it cannot be taken back
    "limits": frozenset({OPS_LEAD}),  # how much a sender may do
    "restore": frozenset({OPS_LEAD}),  # what a restore from a backup holds: release it, leave it out, lift the gap
    "pause": frozenset({OPS_LEAD}),  # the carrier, for everybody
    "reword": frozenset({OPS_LEAD}),  # what the carrier's words mean
    "localities": frozenset({OPS_LEAD}),  # suburb lists and aliases
    "billing": frozenset({BILLING, OPS_LEAD}),  # the carrier's reports, credits, and answers to disputes
    "operators": frozenset({OPS_LEAD}),  # who works at the desk, and in which groups
}
# Every group sees every page of the desk but these.
HIDDEN: dict[str, frozenset[str]] = {
    BILLING: frozenset({"accounts.user", "orders.bookingattempt", "orders.carriercall"})
}


def may(user: Any, act: str) -> bool:
    """Return whether this operator may do it. Raises KeyError for an act that is not in the table."""
    allowed = ACTS[act]
    if not (user.is_active and user.is_staff):
        return False
    return bool(user.is_superuser) or not allowed.isdisjoint(groups_of(user))


def demand(user: Any, act: str) -> None:
    """Raise PermissionDenied unless they may, and say so in the log."""
    if not may(user, act):
        log.warning("operator %s is not allowed to %s", user.pk, act)
        raise PermissionDenied


@transaction.atomic
def settle() -> None:
    """Make the groups as the table says, as often as wanted. Who is in them stays."""
    for name in GROUPS:
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(_views(HIDDEN.get(name, frozenset())))


def groups_of(user: Any) -> frozenset[str]:
    """Return the operator's groups, asked once a request, as the user is loaded anew for each."""
    if not hasattr(user, "_desk_groups"):
        user._desk_groups = frozenset(user.groups.values_list("name", flat=True))
    return frozenset(user._desk_groups)


def _views(hidden: frozenset[str]) -> list[Permission]:
    shown = [model for model in _models() if model._meta.label_lower not in hidden]
    wanted = Q(pk__in=[])
    for model in shown:
        kind = ContentType.objects.get_for_model(model)
        wanted |= Q(content_type=kind, codename=f"view_{model._meta.model_name}")
    return list(Permission.objects.filter(wanted))


def _models() -> set[type[Model]]:
    """Return those with a page at the desk, and those listed on another's page."""
    pages = admin.site._registry
    return set(pages) | {inline.model for page in pages.values() for inline in page.inlines}
