"""Links by which the person who sends a parcel back gets its label, without a login."""

from django.conf import settings
from django.db import models

from orders.models.order import Order


class ReturnLink(models.Model):
    """A link to a return's label, which can be taken once. Only its token's hash is stored."""

    order = models.OneToOneField(Order, on_delete=models.CASCADE, related_name="return_link")
    token_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    taken_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"label link of {self.order}"
