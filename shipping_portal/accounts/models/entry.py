"""Links by which a partner's server logs a person in to the portal."""

from django.db import models

from shipping_portal.accounts.models.users import User


class EntryLink(models.Model):
    """A link that logs one person in, once, to one page. Only its token's hash is stored."""

    class Purpose(models.TextChoices):
        NEW_PARCEL = "new_parcel", "a new parcel, filled in"
        PARCEL = "parcel", "one parcel"
        SETTINGS = "settings", "the settings"

    token_hash = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    path = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="entry_links_by_their_end")]

    def __str__(self) -> str:
        return f"{self.user} to {self.get_purpose_display()}"
