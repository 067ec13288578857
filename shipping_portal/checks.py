"""What is wrong with this installation, said by `manage.py check` with an id and what to do.

The carrier accounts' own checks are in carrier_checks.py.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

SIGN_UP_MODES = ("open", "first_limit", "approve", "invited")


@register(Tags.security)
def check_restore_mark(**options: Any) -> Iterable[CheckMessage]:
    if not (settings.RESTORE_MARK_FILE or settings.DEMO or settings.TESTING):
        yield Warning(
            "RESTORE_MARK_FILE is empty, so a restored snapshot or SQLite file is not recognised.",
            hint="Name a file outside the database, and run `manage.py backup_taken` after each backup.",
            id="portal.W010",
        )


@register(Tags.security)
def check_sign_up(**options: Any) -> Iterable[CheckMessage]:
    if settings.SIGN_UP not in SIGN_UP_MODES:
        yield Error(
            f"SIGN_UP is {settings.SIGN_UP!r}.",
            hint=f"Set one of {', '.join(SIGN_UP_MODES)}.",
            id="portal.E009",
        )


@register(Tags.database)
def check_demo_people(**options: Any) -> Iterable[CheckMessage]:
    """The demo's passwords are public, so nobody may log in with them anywhere else."""
    from shipping_portal.accounts.demo import people_left_behind  # noqa: PLC0415  (models load after checks)

    if options.get("databases") and not settings.DEMO and people_left_behind():
        yield Error(
            "This database holds people of the demo, whose passwords are public.",
            hint="Start with an empty database, or run manage.py changepassword for mia@ and operator@demo.example.",
            id="portal.E008",
        )
