"""Give allauth the one issuer from the settings, and finish each login on our own pages."""

from typing import Any, NoReturn

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from django.conf import settings
from django.http import HttpRequest

from shipping_portal.accounts.login import openid, signing_on


class OneIssuerAdapter(DefaultSocialAccountAdapter):
    """allauth's hooks: which issuers there are, and what happens after a login at one."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the issuer from the settings; the table's rows are ignored."""
        if not openid.is_on():
            return []
        client, secret = settings.SSO_CLIENT_ID, settings.SSO_CLIENT_SECRET
        return [
            SocialApp(
                provider=openid.PROVIDER, name=openid.PROVIDER, client_id=client, secret=secret
            )
        ]

    def get_provider(
        self, request: HttpRequest, provider: str, client_id: str | None = None
    ) -> openid.OpenId:
        return openid.OpenId(
            request, app=self.get_app(request, provider=provider, client_id=client_id)
        )

    def get_requests_session(self) -> openid.GuardedSession:
        return openid.GuardedSession()

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> NoReturn:
        """Finish the login here: signing_on.py decides who may come in."""
        sociallogin.check_nonce()
        raise ImmediateHttpResponse(signing_on.finish(request, sociallogin))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> NoReturn:
        """Show our page instead of allauth's, which would name the exception."""
        raise ImmediateHttpResponse(signing_on.fail(request, error=error, exception=exception))
