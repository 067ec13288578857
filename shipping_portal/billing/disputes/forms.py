"""Read “This looks wrong”: the text and the photo for support."""

from typing import Any

from django import forms

from shipping_portal.billing.disputes import photos


class Words(forms.CharField):
    """A field for several lines of text, without invisible characters."""

    def to_python(self, value: Any) -> str:
        shown = "".join(c for c in str(value or "") if c.isprintable() or c == "\n")
        return str(super().to_python(shown))


class DisputeForm(forms.Form):
    """Asks what looks wrong about some charges.

    `content` holds the photo's bytes once the form is valid.
    """

    text = Words(
        label="What looks wrong?",
        max_length=2000,
        help_text="For example, how you weighed it, or what the box measures.",
        error_messages={
            "required": "Tell us what looks wrong.",
            "max_length": "This has %(show_value)d characters. Use %(limit_value)d at most.",
        },
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    photo = forms.FileField(
        label="Photo",
        required=False,
        help_text=(
            "Of the parcel on the scale, or with a tape measure. JPEG or PNG, up to 2 MB. Its"
            " location is cut."
        ),
        error_messages={
            "empty": "This file is empty.",
            "max_length": "Give the file a shorter name.",
        },
        widget=forms.FileInput(attrs={"accept": "image/jpeg,image/png", "data-most-mb": "2"}),
    )
    content = b""

    def clean_photo(self) -> Any:
        """Read the photo, and reject anything else."""
        photo = self.cleaned_data["photo"]
        if photo:
            self.content = photo.read()
            try:
                photos.strip_photo(self.content)
            except photos.NotAPhoto as refusal:
                raise forms.ValidationError(str(refusal)) from None
        return photo
