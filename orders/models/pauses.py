"""What stops every sender at once: an operator's pause of bookings or, separately, of prices; the carrier's own no."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

BOOKINGS: Final = "bookings"
QUOTES: Final = "quotes"
PAUSABLE = (BOOKINGS, QUOTES)
STOPPED: Final = "account"
HELD_UP = "Bookings are held up at the carrier; yours waits, nothing is charged."
AT_MOST = dt.timedelta(minutes=1)  # what waits looks again after that, as somebody may resume early


@dataclass(frozen=True)
class Pause:
    """One pause as it was asked for, or the carrier's stop of the account. `text` is for senders.

    `ends_at` is None where somebody has to resume it.
    """

    what: str
    since: dt.datetime
    text: str
    ends_at: dt.datetime | None = None

    def is_over(self, now: dt.datetime) -> bool:
        """The one look at the clock: nothing has to run for a pause to end."""
        return self.ends_at is not None and self.ends_at <= now

    def look_again_at(self, now: dt.datetime) -> dt.datetime:
        """When what waits for it may be tried again."""
        return min(now + AT_MOST, self.ends_at or now + AT_MOST)
