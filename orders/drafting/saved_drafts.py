"""Half-typed parcels: the new-parcel form as it was left, for everybody of the account who books. Never an order."""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import QuerySet

from orders.models import Draft
from shipping_portal.accounts.address.text import one_line
from shipping_portal.accounts.models import Sender, User

MOST = 50  # of one account
DAYS = 30  # kept after the last change; it holds addresses
LONGEST = 2000


class TooManyDrafts(Exception):
    """The account keeps as many drafts as it may."""


def of(user: User) -> QuerySet[Draft]:
    """Return the drafts of this person's account, the one changed last first."""
    return Draft.objects.for_user(user).order_by("-updated_at", "-pk")


def find(user: User, text: str) -> Draft | None:
    """Return the draft an address or a form names; None for another account's, for one that is gone, for nonsense."""
    named = as_uuid(text)
    return of(user).filter(uuid=named).first() if named else None


def save(sender: Sender, by: User, values: Mapping[str, str], *, now: dt.datetime, draft: Draft | None = None) -> Draft:
    """Keep the form as it stands, in its draft or in a new one. Raises TooManyDrafts."""
    # As long as a control holds, on one line; the database's JSON takes no NUL.
    kept = {name: one_line(value)[:LONGEST] for name, value in values.items()}
    if draft and Draft.objects.filter(pk=draft.pk).update(values=kept, updated_at=now):
        return draft
    with transaction.atomic():
        Sender.objects.select_for_update(no_key=True).get(pk=sender.pk)
        if Draft.objects.filter(sender=sender).count() >= MOST:
            raise TooManyDrafts(f"{MOST} drafts are kept already, so this one wasn't. Delete one first.")
        return Draft.objects.create(sender=sender, made_by=by, values=kept, updated_at=now)


def typed(posted: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return what was posted in the form's own controls."""
    return {name: posted[name] for name in names if name in posted}


def delete(user: User, text: str) -> None:
    """Delete a draft whose parcel is booked or not wanted. One that is gone already is left alone."""
    if named := as_uuid(text):
        Draft.objects.for_user(user).filter(uuid=named).delete()


def old(now: dt.datetime) -> QuerySet[Draft]:
    """Return drafts nobody has touched for so long that nobody comes back to them."""
    return Draft.objects.filter(updated_at__lt=now - dt.timedelta(days=DAYS))


def as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
