"""Word allauth's forms for logging in and signing up."""

from typing import Any

from allauth.account import forms as account_forms
from allauth.account.internal.userkit import filter_users_by_email
from allauth.mfa.base import forms as mfa_forms
from allauth.mfa.totp import forms as totp_forms
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from shipping_portal.accounts.address.addresses import LineField, with_normalised
from shipping_portal.accounts.login import signing_up
from shipping_portal.accounts.login.passwords import DressedUpWordValidator
from shipping_portal.accounts.models import Sender, User

NEEDED = {
    "name": "Enter your name.",
    "business": "Enter the name of your business.",
    "email": "Enter your email address.",
    "login": "Enter your email address.",
    "password": "Enter your password.",
    "oldpassword": "Enter your current password.",
    "password1": "Choose a password of at least 12 characters.",
    "password2": "Enter the new password again.",
    "code": "Enter the code that your app shows.",
    "country": "Choose the country you send from.",
    "no_dangerous_goods": "The carrier doesn't take dangerous goods. Tick this to open an account.",
}
DJANGOS = forms.Field.default_error_messages["required"]
LONGEST_PASSWORD = 4096  # longer passwords are rejected before any hashing


class Plain(forms.Form):
    """A form without placeholders: they disappear as people type, while a label stays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        emails = [
            name for name, field in self.fields.items() if isinstance(field, forms.EmailField)
        ]
        # A password is read exactly as typed.
        if self.is_bound:
            self.data = with_normalised(self.data, emails)
        for name, field in self.fields.items():
            if name in NEEDED and field.error_messages["required"] == DJANGOS:
                field.error_messages["required"] = NEEDED[name]
            field.widget.attrs.pop("placeholder", None)
            if isinstance(field, forms.EmailField):
                field.error_messages["invalid"] = (
                    "Enter a full email address, like name@example.com."
                )
            if isinstance(field.widget, forms.PasswordInput):
                too_long = "Use at most %(limit_value)d characters; this has %(show_value)d."
                field.validators.append(MaxLengthValidator(LONGEST_PASSWORD, too_long))


class LogInForm(Plain, account_forms.LoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = "Email"
        self.fields["password"].help_text = ""
        self.fields["remember"].label = "Keep me logged in on this device (30 days)"


class SignUpForm(Plain, account_forms.SignupForm):
    """A person, their business and their promise about dangerous goods (interface §1)."""

    account_already_exists: bool
    field_order = ("name", "business", "email", "password1", "country", "no_dangerous_goods")

    name = LineField(label="Your name", max_length=120)
    business = LineField(
        label="Business name", max_length=120, help_text="Printed on labels as your company."
    )
    country = forms.ChoiceField(
        label="Country you send from",
        choices=Sender.Country.choices,
        widget=forms.RadioSelect,
        help_text="Sets the words and units of every page.",
        error_messages={"invalid_choice": "Choose one of the countries on the list."},
    )
    no_dangerous_goods = forms.BooleanField(
        label="I won't send dangerous goods, and I accept the terms"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "Work email"
        self.fields[
            "email"
        ].help_text = "The carrier and drivers write here. Use an inbox a person reads."
        self.fields[
            "password1"
        ].help_text = "At least 12 characters. A few unrelated words work well."
        self.fields["name"].widget.attrs["autocomplete"] = "name"
        self.fields["business"].widget.attrs["autocomplete"] = "organization"

    def clean(self) -> dict[str, Any]:
        """Check the password against the name and the business too, which are on the same form."""
        typed: dict[str, Any] = super().clean() or self.cleaned_data
        if "password1" in typed:
            person = User(email=typed.get("email", ""), name=typed.get("name", ""))
            person.business = typed.get("business", "")  # type: ignore[attr-defined]
            try:
                DressedUpWordValidator().validate(typed["password1"], person)
            except ValidationError as error:
                self.add_error("password1", error)
        return typed

    @property
    def needs_approval(self) -> bool:
        """Return whether an operator must approve the account before it books."""
        return settings.SIGN_UP == "approve"

    def try_save(self, request: HttpRequest) -> tuple[User | None, HttpResponse | None]:
        """Take as long for a known address as for a new one, for which a password is hashed."""
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
        try:
            return super().try_save(request)
        except IntegrityError:  # another request with this address came first
            self.account_already_exists = True
            return super().try_save(request)

    @transaction.atomic
    def save(self, request: HttpRequest) -> User:
        """Save and return the person and their account, both or neither."""
        user: User = super().save(request)
        user.name = self.cleaned_data["name"]
        user.save(update_fields=["name"])
        business, country = self.cleaned_data["business"], self.cleaned_data["country"]
        signing_up.open_account(user, name=business, country=country, now=timezone.now())
        return user


class AddEmailForm(Plain, account_forms.AddEmailForm): ...


class ChangePasswordForm(Plain, account_forms.ChangePasswordForm): ...


class SetPasswordForm(Plain, account_forms.SetPasswordForm): ...


class ResetPasswordForm(Plain, account_forms.ResetPasswordForm):
    def clean_email(self) -> str:
        """Accept every address: one that can't sign up today may still be somebody's login."""
        email: str = self.cleaned_data["email"].lower()
        self.users = filter_users_by_email(
            email, is_active=True, prefer_verified=True, for_login=True
        )
        return email


class ResetPasswordKeyForm(Plain, account_forms.ResetPasswordKeyForm): ...


class ReauthenticateForm(Plain, account_forms.ReauthenticateForm): ...


class CodeField(forms.CharField):
    """A one-time code, with or without the space that apps show in the middle."""

    def to_python(self, value: Any) -> str:
        return "".join((super().to_python(value) or "").split())


class AsksForCode(Plain):
    code = CodeField(
        label="Code",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class CodeForm(AsksForCode, mfa_forms.AuthenticateForm): ...


class CodeAgainForm(AsksForCode, mfa_forms.ReauthenticateForm): ...


class ActivateCodeForm(AsksForCode, totp_forms.ActivateTOTPForm): ...
