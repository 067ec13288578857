"""Define the forms that make API tokens: a member's on their settings, a partner's in the admin."""

from typing import Any

from django import forms

from shipping_portal.accounts.address.addresses import LineField
from shipping_portal.accounts.adminkit.actions import ReasonForm
from shipping_portal.accounts.api_tokens import DAYS, MEMBERS, PARTNERS, scopes_of
from shipping_portal.accounts.login.forms import Plain

CHOOSE = "Choose one from the page."


class TokenForm(Plain):
    """Asks what a token is for, what it may do, and until when."""

    name = LineField(
        label="Name",
        max_length=60,
        help_text="Which program uses it, such as “Order system”.",
        error_messages={"required": "Name the program that uses it."},
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": "Choose what it may do.",
            "invalid_choice": CHOOSE,
            "invalid_list": CHOOSE,
        },
    )
    days = forms.TypedChoiceField(
        label="It ends after",
        coerce=int,
        choices=[(days, f"{days} days") for days in DAYS],
        initial=DAYS[1],
        widget=forms.RadioSelect,
        error_messages={"required": CHOOSE, "invalid_choice": CHOOSE},
    )

    def __init__(self, *args: Any, role: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        scopes: Any = self.fields["scopes"]
        scopes.choices = [
            (name, f"{scope.words} ({name})")
            for name, scope in scopes_of(MEMBERS if role else PARTNERS, role=role).items()
        ]


class PartnerTokenForm(TokenForm, ReasonForm):
    """Asks the same, and for the operator's reason."""

    field_order = ["name", "scopes", "days", "reason"]
