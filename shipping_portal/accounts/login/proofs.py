"""Remember in the session what the issuer has proved about this login."""

from collections.abc import Mapping
from typing import Any

from allauth.mfa.stages import AuthenticateStage
from django.conf import settings
from django.http import HttpRequest

MARK = "signed_on"  # the session key, and the name of this fact in a login's details


def mark_session(request: HttpRequest, details: Mapping[str, Any] | None) -> None:
    """Remember how this login was proved; a login by password clears earlier proof."""
    request.session.pop(MARK, None)
    if details and MARK in details:
        request.session[MARK] = details[MARK]


def is_signed_on(request: HttpRequest) -> bool:
    """Return whether the issuer proved this login."""
    return bool(settings.SSO_ISSUER) and MARK in request.session


def has_proven_second_factor(request: HttpRequest) -> bool:
    """Return whether the issuer asked for a second factor that the settings count."""
    return _is_proven(request.session.get(MARK))


class CodeStage(AuthenticateStage):
    """Ask for the authenticator app's code, unless the issuer has asked for a second factor."""

    def _should_handle(self, request: HttpRequest) -> bool:
        is_proven = _is_proven((self.login.signal_kwargs or {}).get(MARK))
        return not is_proven and bool(super()._should_handle(request))


def _is_proven(mark: Mapping[str, Any] | None) -> bool:
    is_there = mark is not None and mark.get("second_factor") is True
    return is_there and bool(settings.SSO_SECOND_FACTORS) and bool(settings.SSO_ISSUER)
