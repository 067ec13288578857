"""Operators work with a second factor, always."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled


def has_second_factor(user: Any) -> bool:
    """Has this person an authenticator app enrolled?"""
    return bool(user.is_authenticated) and is_mfa_enabled(user, types=[Authenticator.Type.TOTP])


def require_second_factor(user: Any) -> bool:
    """May this person work at the desk? An active operator with a second factor."""
    return bool(user.is_active and user.is_staff) and has_second_factor(user)
