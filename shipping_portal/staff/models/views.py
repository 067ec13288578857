"""Saved views: the filters of an admin list, under a name, for the operator who saved them."""

from django.conf import settings
from django.db import models


class DeskView(models.Model):
    """One operator's link above a list.

    `list` is the list's URL name, `query` its filters, without search terms.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="desk_views"
    )
    list = models.CharField(max_length=60)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=400)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "list", "name"], name="a_desk_view_once_by_name"
            )
        ]

    def __str__(self) -> str:
        return self.name
