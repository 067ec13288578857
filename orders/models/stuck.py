"""Work that failed again and again: counted before each try, so that a crash of the whole process counts too."""

from django.db import models


class StuckWork(models.Model):
    """One owed row that its worker could not do. Parked after five tries in a row; a person lets it try again."""

    journey = models.CharField(max_length=20)
    row = models.PositiveBigIntegerField()
    failures = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    parked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "stuck work"
        constraints = [models.UniqueConstraint(fields=["journey", "row"], name="one_note_a_stuck_row")]
        indexes = [
            models.Index(fields=["journey"], name="work_parked", condition=models.Q(parked_at__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.journey} {self.row}"
