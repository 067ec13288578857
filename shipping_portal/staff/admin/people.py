"""People who log in: their account off and on, their sessions, a lost second factor, and who is an operator."""

import datetime as dt
from typing import Any

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from shipping_portal.accounts.models import User
from shipping_portal.staff import groups, people
from shipping_portal.staff.admin.acts import Act, ActsAdmin, ReasonForm

REFUSALS = (people.NotThem,)


class GroupsForm(ReasonForm):
    groups = forms.MultipleChoiceField(
        choices=[(name, name) for name in groups.GROUPS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked: no operator any more.",
    )
    field_order = ["groups", "reason"]


def _turn_off(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    people.set_active(user, is_active=False, by=by, reason=cleaned["reason"], now=now)


def _turn_on(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    people.set_active(user, is_active=True, by=by, reason=cleaned["reason"], now=now)


def _log_out(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    people.log_out(user, by=by, reason=cleaned["reason"], now=now)


def _reset_second_factor(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    people.reset_second_factor(user, by=by, reason=cleaned["reason"], now=now)


def _set_groups(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    people.set_groups(user, cleaned["groups"], by=by, reason=cleaned["reason"], now=now)


class TwoFactorFilter(admin.SimpleListFilter):
    title = "second factor"
    parameter_name = "second_factor"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Set up"), ("no", "None")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        enrolled = _totp().values("user")
        match self.value():
            case "yes":
                return queryset.filter(pk__in=enrolled)
            case "no":
                return queryset.exclude(pk__in=enrolled)
        return queryset


def _totp() -> QuerySet[Authenticator]:
    return Authenticator.objects.filter(type=Authenticator.Type.TOTP)


@admin.register(User)
class UserAdmin(ActsAdmin):
    acts = (
        Act(
            "turn-off",
            "Turn off",
            "This person can no longer log in, and is logged out everywhere.",
            _turn_off,
            needs="people",
            applies=lambda user: user.is_active,
            refusals=REFUSALS,
        ),
        Act(
            "turn-on",
            "Turn on",
            "This person can log in again.",
            _turn_on,
            needs="people",
            applies=lambda user: not user.is_active,
            refusals=REFUSALS,
        ),
        Act(
            "log-out",
            "Log out everywhere",
            "Every session of this person ends now. They may log in again with their password.",
            _log_out,
            needs="people",
            applies=lambda user: user.is_active,
            refusals=REFUSALS,
        ),
        Act(
            "reset-second-factor",
            "Reset second factor",
            "The authenticator and its recovery codes are removed, and the person is told by e-mail. "
            "Make sure who is asking: call back on a number you know.",
            _reset_second_factor,
            needs="people",
            applies=lambda user: user.has_second_factor,
            refusals=REFUSALS,
        ),
        Act(
            "groups",
            "Set groups",
            "What this person may see and do at the desk. Who ships for a sender cannot work here as well.",
            _set_groups,
            needs="operators",
            applies=lambda user: not people.why_no_groups(user),
            form=GroupsForm,
            initial=lambda user: {"groups": [group.name for group in user.groups.all()]},
            refusals=REFUSALS,
        ),
    )
    list_display = ["email", "name", "sender", "role", "is_staff", "is_active", "second_factor", "last_login"]
    list_filter = ["is_staff", "is_active", TwoFactorFilter]
    search_fields = ["email", "name", "membership__sender__name"]
    fields = [
        "email",
        "name",
        "sender",
        "role",
        "is_staff",
        "in_groups",
        "is_active",
        "second_factor",
        "last_login",
        "date_joined",
    ]
    readonly_fields = ["sender", "role", "in_groups", "second_factor"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        enrolled = Exists(_totp().filter(user=OuterRef("pk")))
        people = super().get_queryset(request).select_related("membership__sender")
        return people.annotate(has_second_factor=enrolled)

    @admin.display(description="sender")
    def sender(self, user: User) -> Any:
        return user.membership.sender if hasattr(user, "membership") else None

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nobody finds out a password's hash letter by letter."""
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    @admin.display(description="role")
    def role(self, user: User) -> str:
        return user.membership.get_role_display() if hasattr(user, "membership") else "–"

    @admin.display(description="groups")
    def in_groups(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all()) or "–"

    @admin.display(description="second factor", boolean=True)
    def second_factor(self, user: Any) -> bool:
        return bool(user.has_second_factor)
