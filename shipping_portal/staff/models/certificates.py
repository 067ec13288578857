"""Store servers' certificates as they were last seen."""

from django.db import models


class Certificate(models.Model):
    """When our server's or a carrier's certificate expires. `server` is its host and port."""

    server = models.CharField(max_length=300, unique=True)
    ends_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.server
