"""`manage.py operator_groups`: set the operators' groups from the table of permissions."""

from typing import Any

from django.core.management.base import BaseCommand

from shipping_portal.accounts.adminkit import permissions


class Command(BaseCommand):
    help = (
        "Create or repair the operator groups. Run it after every migrate; members stay in their"
        " groups."
    )

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        permissions.update_groups()
        if verbosity:
            for name in permissions.GROUPS:
                acts = ", ".join(
                    act for act, allowed in permissions.ACTS.items() if name in allowed
                )
                self.stdout.write(f"{name}: {acts or 'reads only'}")
