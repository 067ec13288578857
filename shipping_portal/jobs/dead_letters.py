"""Dead letters: rows that failed five times in a row, kept where a person finds them, until they may be tried again."""

import datetime as dt

from django.db import transaction

from shipping_portal.jobs.models import DeadLetter, Job
from shipping_portal.jobs.registry import chore, kind_of


class NoLongerParked(Exception):
    """Somebody else retried it already, or the row has moved on; the text is for the operator."""


def model_of(letter: DeadLetter) -> type[Job] | None:
    """Return the model of the row, or None for a letter of an older release."""
    kind = kind_of(letter.job)
    return kind.queue.model if kind else None


@transaction.atomic
def try_again(letter: DeadLetter, *, now: dt.datetime) -> None:
    """Owe the row's work again, as if it had never failed. Raises NoLongerParked."""
    model = model_of(letter)
    mine, _ = DeadLetter.objects.filter(pk=letter.pk).delete()
    if not mine or model is None:
        raise NoLongerParked("This job is no longer parked.")
    parked = model._default_manager.filter(pk=letter.row, parked_at__isnull=False)
    if not parked.update(due_at=now, **Job.AFRESH):
        raise NoLongerParked("This job is no longer parked.")


@chore("dead letters", every=60)
def drop_settled(now: dt.datetime) -> None:
    """Drop the letters of rows that owe something else by now, such as an order that a person settled."""
    for letter in DeadLetter.objects.all():
        model = model_of(letter)
        if not (model and model._default_manager.filter(pk=letter.row, parked_at__isnull=False).exists()):
            letter.delete()
