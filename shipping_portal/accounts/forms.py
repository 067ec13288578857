"""Forms of sign-up and settings."""

from typing import Any

from django import forms


class SignUpForm(forms.Form):
    name = forms.CharField(label="Your name", max_length=120)

    def signup(self, request: Any, user: Any) -> None:
        user.name = self.cleaned_data["name"]
        user.save(update_fields=["name"])
