"""Packing under a lease: each step says so again, and a worker that lost the export stops."""

from dataclasses import dataclass
from typing import Any

from shipping_portal.exporting.models import Export


class Lost(Exception):
    """The lease ran out and another worker has the export by now; whatever this one still does must not count."""


@dataclass
class Lease:
    """The right to write one export's parts."""

    export: Export

    def renew(self, **changes: Any) -> None:
        """Go on, and write this down with it. Raises Lost."""
        if not self.export.renew(**changes):
            raise Lost(str(self.export))

    def end(self, **changes: Any) -> None:
        """Nothing is owed any more. Raises Lost."""
        if not self.export.finish(**changes):
            raise Lost(str(self.export))
