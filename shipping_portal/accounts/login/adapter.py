"""Configure allauth: landing pages, accepted addresses, and protection against guessing."""

import time
from typing import Any
from urllib.parse import urljoin, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from shipping_portal.accounts import demo
from shipping_portal.accounts.address import sender_email
from shipping_portal.accounts.login import (
    encryption,
    guesses,
    known_browsers,
    proofs,
    security_events,
    signing_up,
)
from shipping_portal.accounts.models import Membership, PickupAddress, Role

BEGUN_WITH = "begun_with"  # session key: the password the login began with


def _proof_of_password(user: Any) -> str:
    return str(salted_hmac(BEGUN_WITH, user.password, algorithm="sha256").hexdigest())


def landing_page(user: Any) -> str:
    """Return the first page after a login.

    Operators land in the admin. Members land in set-up until there is a pickup address.
    """
    if user.is_staff:
        return resolve_url("admin:index")
    membership = Membership.objects.select_related("sender").filter(user=user).first()
    if membership is None:
        return resolve_url("no_account")
    is_new = membership.role == Role.OWNER and membership.sender.pickup_address() is None
    return resolve_url("start" if is_new else "today")


class PortalAccountAdapter(DefaultAccountAdapter):
    """Apply our rules on top of allauth's."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": (
            "That email and password don't match. Check both, or reset your password."
        ),
        "too_many_login_attempts": (
            "Too many tries. Wait 5 minutes, or reset your password: that works at once."
        ),
        "email_taken": "This email is already in use.",
        "no_passwords": "Passwords aren't used here.",
    }

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return landing_page(request.user)

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return landing_page(request.user)

    def get_logout_redirect_url(self, request: HttpRequest) -> str:
        """After a sign-on, continue to the issuer to log out there too."""
        if proofs.is_signed_on(request):
            return resolve_url("sign_on_leaving")
        return resolve_url("home" if settings.LOCAL_PASSWORDS else "sign_on_ended")

    def get_login_stages(self) -> list[str]:
        """Replace allauth's code stage with ours."""
        ours = "shipping_portal.accounts.login.proofs.CodeStage"
        theirs = "allauth.mfa.stages.AuthenticateStage"
        return [ours if stage == theirs else stage for stage in super().get_login_stages()]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return signing_up.is_open()

    def clean_email(self, email: str) -> str:
        """Reject addresses that can't receive our mail (interface §2.1) or imitate another one."""
        # A Cyrillic domain looks like a Latin one.
        if not email.isascii():
            plain = "Enter the email in plain letters, like name@example.com."
            raise ValidationError(plain, code="letters")
        demo.refuse_reserved(email)
        verdict = sender_email.judge_email(email)
        if verdict.is_unusable:
            raise ValidationError(verdict.sentence, code=verdict.kind)
        return email

    @transaction.atomic
    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Confirm the address, then tell operators about a new account.

        Until then, anyone could have typed it.
        """
        is_confirmed: bool = super().confirm_email(request, email_address)
        if is_confirmed:
            signing_up.announce_account(email_address.user, now=timezone.now())
        return is_confirmed

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an email with links to SITE_URL: allauth builds them from the request's Host."""
        ours = {
            name: urljoin(
                settings.SITE_URL, urlsplit(value)._replace(scheme="", netloc="").geturl()
            )
            for name, value in context.items()
            if name.endswith("_url")
        }
        super().send_mail(template_prefix, email, {**context, **ours})

    def is_safe_url(self, url: str) -> bool:
        """Accept only paths of the portal.

        Other text would become part of a path and end up in the log.
        """
        return bool(url) and url.startswith("/") and bool(super().is_safe_url(url))

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        """Refuse to delete an address that labels use, until another one replaces it."""
        in_use = PickupAddress.objects.filter(
            email=email_address.email, sender__memberships__user=email_address.user_id
        )
        return super().can_delete_email(email_address) and not in_use.exists()

    def pre_login(self, request: HttpRequest, user: Any, **details: Any) -> HttpResponse | None:
        """Refuse the demo's logins outside the demo: their passwords are public."""
        if demo.is_of_the_demo(user) and not settings.DEMO:
            return self.respond_user_inactive(request, user)
        request.session[BEGUN_WITH] = _proof_of_password(user)
        return super().pre_login(request, user, **details)

    def login(self, request: HttpRequest, user: Any) -> None:
        """Log in and start the login's time limit (sessions.py).

        Refuse if the password has changed since the login began. The second factor may take a
        while.
        """
        begun_with = request.session.pop(BEGUN_WITH, None)
        if begun_with is not None and not constant_time_compare(
            begun_with, _proof_of_password(user)
        ):
            request.session.flush()
            self.add_message(
                request,
                messages.WARNING,
                message="Your password was changed meanwhile. Log in again.",
            )
            raise ImmediateHttpResponse(redirect("account_login"))
        super().login(request, user)
        request.session["began_at"] = time.time()

    def post_login(self, request: HttpRequest, user: Any, **details: Any) -> HttpResponse:
        proofs.mark_session(request, details["signal_kwargs"])
        response: HttpResponse = super().post_login(request, user, **details)
        known_browsers.remember_browser(request, response, user)
        return response

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse a password if passwords are off, or if others came just before (guesses.py)."""
        if not settings.LOCAL_PASSWORDS:
            raise self.validation_error("no_passwords")
        email = credentials.get("email", "")
        is_known = known_browsers.is_known(request, email)
        self.slots = guesses.take_slots(email, self.get_client_ip(request), is_known=is_known)
        if not self.slots:
            security_events.record_event("log-in slowed down", request, email=email)
            raise self.validation_error("too_many_login_attempts")

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Check a password; the right one doesn't count as a guess."""
        user = super().authenticate(request, **credentials)
        if user is not None:
            guesses.give_back(self.slots)
        return user

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        security_events.record_event("log-in failed", request, email=credentials.get("email", ""))

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that our outermost proxy saw.

        Anything further left in the header is only the client's claim.
        """
        hops = [
            hop.strip()
            for hop in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
            if hop.strip()
        ]
        count = settings.TRUSTED_PROXY_COUNT
        return hops[-count] if 0 < count <= len(hops) else str(request.META["REMOTE_ADDR"])

    def add_message(
        self, request: HttpRequest, level: int, message_template: str = "", *args: Any, **kw: Any
    ) -> None:
        """Suppress the “logged in” message; show all others."""
        if message_template != "account/messages/logged_in.txt":
            super().add_message(request, level, message_template, *args, **kw)


class PortalMFAAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypt(encrypted_text)

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Prevent operators from removing their second factor."""
        return not authenticator.user.is_staff
