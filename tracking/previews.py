"""What a change of reading would do to parcels, told by doing it in a transaction that is rolled back."""

from collections.abc import Iterable
from dataclasses import dataclass

from orders.models.statuses import Progress
from tracking.models import Parcel


@dataclass(frozen=True)
class Move:
    """A parcel whose progress changes; the words are for the operator."""

    parcel: Parcel  # as it stands; without a key when it does not exist yet
    before: str
    after: str


def moves(as_they_would_be: Iterable[Parcel]) -> list[Move]:
    """Parcels as they were read inside the transaction, compared with what is stored after its end."""
    changed = {parcel.pk: parcel for parcel in as_they_would_be}
    stored = Parcel.objects.in_bulk(list(changed))
    return [
        Move(stored.get(pk) or Parcel(reference=parcel.reference), _words(stored.get(pk)), _words(parcel))
        for pk, parcel in changed.items()
        if _progress(stored.get(pk)) != parcel.progress
    ]


def _progress(parcel: Parcel | None) -> str:
    return parcel.progress if parcel else ""


def _words(parcel: Parcel | None) -> str:
    return str(Progress(_progress(parcel)).label)
