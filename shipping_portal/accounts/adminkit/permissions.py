"""Define what each group of operators may see and do: one table, and one function to read it.

The admin's pages, buttons and addresses all ask `may` or `require_permission`. What a group may
see becomes Django's view permissions, written by `manage.py operator_groups`; what it may do is
in this table alone.
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

# Actions, and who may take them. A superuser may do everything; a user without a group, nothing.
ACTS: dict[str, set[str]] = {
    "resolve": {SUPPORT, OPS_LEAD},  # decide an unclear booking or cancellation
    "reveal": {SUPPORT, OPS_LEAD},  # read masked personal data
    "retry": {SUPPORT, OPS_LEAD},  # dead letters, and labels that weren't fetched
    "replay": {SUPPORT, OPS_LEAD},  # reprocess stored webhooks, test the listener
    "cancel_for_sender": {SUPPORT, OPS_LEAD},
    # notes, owners of cases, an email to a sender
    "cases": {SUPPORT, BILLING, OPS_LEAD},
    # a sender's own pages, read only, masked without "reveal"
    "see_as": {SUPPORT, BILLING, OPS_LEAD},
    "imports": {SUPPORT, OPS_LEAD},  # for one sender: pause, resume, check again
    "people": {SUPPORT, OPS_LEAD},  # a sender's people: turn logins off or on, log them out
    # and reinstate; approve and decline a new account
    "suspend": {SUPPORT, BILLING, OPS_LEAD},
    "erase": {OPS_LEAD},  # erase a person or a closed account; irreversible
    "limits": {OPS_LEAD},  # how much a sender may do
    # work held after a restore: release it, leave it out, close the gap
    "restore": {OPS_LEAD},
    "pause": {OPS_LEAD},  # the carrier, for all senders
    "reword": {OPS_LEAD},  # what the carrier's words mean
    "api": {OPS_LEAD},  # a partner's tokens
    "localities": {OPS_LEAD},  # suburb lists and aliases
    # the carrier's reports, credits, and answers to disputes
    "billing": {BILLING, OPS_LEAD},
    "operators": {OPS_LEAD},  # manage operators and their groups
}
# Every group sees every admin page except these.
HIDDEN: dict[str, set[str]] = {
    BILLING: {"accounts.user", "orders.bookingattempt", "orders.carriercall"}
}


def may(user: Any, act: str) -> bool:
    """Return whether this operator may act. Raises KeyError for an unknown act."""
    allowed = ACTS[act]
    if not (user.is_active and user.is_staff):
        return False
    return bool(user.is_superuser) or not allowed.isdisjoint(groups_of(user))


def require_permission(user: Any, act: str) -> None:
    """Raise PermissionDenied, and log it, unless this operator may act."""
    if not may(user, act):
        log.warning("operator %s is not allowed to %s", user.pk, act)
        raise PermissionDenied


@transaction.atomic
def update_groups() -> None:
    """Set the groups' permissions from the table. Repeatable; members stay."""
    for name in GROUPS:
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(_views(HIDDEN.get(name, set())))


def groups_of(user: Any) -> frozenset[str]:
    """Return the operator's groups, read once per request: each request loads its own user."""
    if not hasattr(user, "_group_names"):
        user._group_names = frozenset(user.groups.values_list("name", flat=True))
    return frozenset(user._group_names)


def _views(hidden: set[str]) -> list[Permission]:
    shown = [model for model in _models() if model._meta.label_lower not in hidden]
    wanted = Q(pk__in=[])
    for model in shown:
        kind = ContentType.objects.get_for_model(model)
        wanted |= Q(content_type=kind, codename=f"view_{model._meta.model_name}")
    return list(Permission.objects.filter(wanted))


def _models() -> set[type[Model]]:
    """Return models with an admin page, and those listed on another's page."""
    pages = admin.site._registry
    return set(pages) | {inline.model for page in pages.values() for inline in page.inlines}
