"""The carrier's published suburb and postcode pairs (interface §2.1).

They are imported by command or in admin.
"""

from django.db import models


class LocalityList(models.Model):
    """One imported file for one country. At most one list per country is active."""

    country = models.CharField(max_length=2)
    source = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField()
    loaded_at = models.DateTimeField()
    is_active = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["country"],
                condition=models.Q(is_active=True),
                name="one_active_list_a_country",
            )
        ]

    def __str__(self) -> str:
        return f"{self.country} {self.source}"


class Locality(models.Model):
    """A pair that the carrier serves, as published; `normalised` is for comparison."""

    list = models.ForeignKey(LocalityList, on_delete=models.CASCADE, related_name="localities")
    country = models.CharField(max_length=2)
    suburb = models.CharField(max_length=80)
    state = models.CharField(max_length=40)
    postcode = models.CharField(max_length=12)
    normalised = models.CharField("compared as", max_length=80)

    class Meta:
        verbose_name_plural = "localities"
        constraints = [
            models.UniqueConstraint(
                fields=["list", "normalised", "postcode", "state"], name="a_pair_once_a_list"
            )
        ]
        indexes = [
            models.Index(fields=["list", "normalised"]),
            models.Index(fields=["list", "postcode"]),
        ]

    def __str__(self) -> str:
        return f"{self.suburb} {self.state} {self.postcode}"


class LocalityAlias(models.Model):
    """Another way people write a word of a suburb, such as MT for MOUNT."""

    word = models.CharField(max_length=40, unique=True)
    stands_for = models.CharField(max_length=40)

    class Meta:
        verbose_name_plural = "locality aliases"

    def __str__(self) -> str:
        return f"{self.word} for {self.stands_for}"
