"""Store dead letters: rows that failed five times in a row and wait for a person to retry them."""

import datetime as dt

from django.db import transaction

from shipping_portal.jobs.models import DeadLetter, Job
from shipping_portal.jobs.registry import chore, kind_of
from shipping_portal.refused import Refused


def model_of(letter: DeadLetter) -> type[Job] | None:
    """Return the row's model, or None for a letter from an older release."""
    kind = kind_of(letter.job)
    return kind.queue.model if kind else None


@transaction.atomic
def try_again(letter: DeadLetter, *, now: dt.datetime) -> None:
    """Make the row's job due again, and reset its count of failures. Raises Refused."""
    model = model_of(letter)
    mine, _ = DeadLetter.objects.filter(pk=letter.pk).delete()
    if not mine or model is None:
        raise Refused("This job is no longer parked.")
    parked = model._default_manager.filter(pk=letter.row, parked_at__isnull=False)
    if not parked.update(due_at=now, **Job.AFRESH):
        raise Refused("This job is no longer parked.")


@chore("dead letters", every=60)
def drop_resolved(now: dt.datetime) -> None:
    """Delete the letters of rows that have moved on, such as an order that a person resolved."""
    for letter in DeadLetter.objects.all():
        model = model_of(letter)
        if not (
            model and model._default_manager.filter(pk=letter.row, parked_at__isnull=False).exists()
        ):
            letter.delete()
