"""Certificates as they were last seen."""

from django.db import models


class Certificate(models.Model):
    """When one server's certificate ends: ours, or a carrier's. `server` is its host and port."""

    server = models.CharField(max_length=300, unique=True)
    ends_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.server
