"""People who log in: turning an account off and on, and a lost second factor."""

import datetime as dt
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from shipping_portal.accounts.models import Audit, User
from shipping_portal.desk.admin.acts import Act, ActsAdmin, Refused

MFA_RESET_MAIL = """An operator of Shipping Portal removed the second factor of your account.

You can log in with your password and set up a new one in your settings.
If you did not ask for this, reply to this message at once.
"""


def _turn_off(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    if user.pk == by.pk:
        raise Refused("You cannot turn off your own account.")
    _set_active(user, cleaned, by, now, is_active=False)


def _turn_on(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    _set_active(user, cleaned, by, now, is_active=True)


def _set_active(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime, *, is_active: bool) -> None:
    """Sessions of an inactive user end with their next request: the log-in backend no longer finds the user."""
    with transaction.atomic():
        if not User.objects.filter(pk=user.pk, is_active=not is_active).update(is_active=is_active):
            raise Refused("Somebody else was faster; nothing was changed.")
        action = "account turned on" if is_active else "account turned off"
        Audit.write(action, user, by=by, reason=cleaned["reason"], at=now)


def _reset_second_factor(user: User, cleaned: dict[str, Any], by: User, now: dt.datetime) -> None:
    with transaction.atomic():
        removed, _ = Authenticator.objects.filter(user=user).delete()
        if not removed:
            raise Refused("There is no second factor to remove.")
        Audit.write("second factor reset", user, by=by, reason=cleaned["reason"], at=now)
    send_mail("Your second factor was removed", MFA_RESET_MAIL, None, [user.email])


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
        ),
        Act(
            "turn-on",
            "Turn on",
            "This person can log in again.",
            _turn_on,
            needs="people",
            applies=lambda user: not user.is_active,
        ),
        Act(
            "reset-second-factor",
            "Reset second factor",
            "The authenticator and its recovery codes are removed, and the person is told by e-mail. "
            "Make sure who is asking: call back on a number you know.",
            _reset_second_factor,
            needs="people",
            applies=lambda user: user.has_second_factor,
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
        "is_active",
        "second_factor",
        "last_login",
        "date_joined",
    ]
    readonly_fields = ["sender", "role", "second_factor"]

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

    @admin.display(description="second factor", boolean=True)
    def second_factor(self, user: Any) -> bool:
        return bool(user.has_second_factor)
