"""Bearer tokens of programs that call the API for a member, or for a partner's members."""

import datetime as dt

from django.db import models
from django.db.models import Q

from shipping_portal.accounts.models.senders import OwnedQuerySet, Sender
from shipping_portal.accounts.models.users import User


class ApiToken(models.Model):
    """One token. Only its SHA-256 is stored, with its first letters (`start`) to recognise it by.

    A member's token acts as `user` in the account `sender`, with the role they have at that moment.
    A partner's has neither: each call names the member (docs/decisions/0043).
    """

    name = models.CharField(max_length=60)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="api_tokens")
    sender = models.ForeignKey(
        Sender, on_delete=models.CASCADE, null=True, related_name="api_tokens"
    )
    scopes = models.JSONField(default=list)
    token_hash = models.CharField(max_length=64, unique=True)
    start = models.CharField("first letters", max_length=12)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    used_at = models.DateTimeField("last used", null=True, blank=True)  # accurate to a minute
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = "API token"
        constraints = [
            models.CheckConstraint(
                condition=Q(user=None, sender=None) | Q(user__isnull=False, sender__isnull=False),
                name="a_token_is_a_members_or_a_partners",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.start}…)"

    @property
    def is_partners(self) -> bool:
        return self.user_id is None

    def why_ended(self, now: dt.datetime) -> str:
        """Return why this token is no longer accepted, or ""."""
        if self.revoked_at:
            return f"This token was revoked on {self.revoked_at:%Y-%m-%d}."
        return f"This token ended on {self.ends_at:%Y-%m-%d}." if self.ends_at <= now else ""
