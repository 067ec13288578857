"""Who packs an export: one worker at a time, for as long as its lease is renewed. A worker that died is replaced."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from orders.models import Export


class Lost(Exception):
    """The lease ran out and another worker has the export by now; whatever this one still does must not count."""


@dataclass
class Lease:
    """The right to write one export's parts. Its `due_at` is the end of the lease, and tells it from any other."""

    export: Export

    @classmethod
    def take(cls, export: Export) -> Self | None:
        """Begin anew, without what an earlier worker left; None when somebody else was faster."""
        lease = cls(export)
        with transaction.atomic():
            try:
                lease.renew(tries=F("tries") + 1, done=0)
            except Lost:
                return None
            # With the claim or not at all: later it could be the parts of the next worker.
            export.parts.all().delete()
        return lease

    def renew(self, **changes: Any) -> None:
        """Go on, and write this down with it. Raises Lost."""
        until = timezone.now() + dt.timedelta(seconds=settings.LEASE_SECONDS)
        self._move(due_at=until, **changes)
        self.export.due_at = until

    def end(self, **changes: Any) -> None:
        """Nothing is owed any more. Raises Lost."""
        self._move(due_at=None, **changes)

    def _move(self, **changes: Any) -> None:
        mine = Export.objects.filter(pk=self.export.pk, due_at=self.export.due_at)
        if not mine.update(**changes):
            raise Lost(str(self.export))
