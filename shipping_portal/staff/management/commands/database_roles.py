"""`manage.py database_roles`: create or repair the app's database role after every `migrate`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import ProgrammingError, connection

from shipping_portal.db import roles


class Command(BaseCommand):
    help = (
        "Create or repair the DATABASE_URL role and its rights, as the MIGRATE_DATABASE_URL owner."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if connection.vendor != "postgresql":
            self.stdout.write("SQLite has no roles.")
            return
        app, owner = settings.APP_DATABASE["USER"], connection.settings_dict["USER"]
        if not settings.IS_OWNER or app == owner:
            raise CommandError(
                "Set MIGRATE_DATABASE_URL to a different role, the one that owns the tables."
            )
        try:
            left = roles.grant_app_role(app, settings.APP_DATABASE["PASSWORD"])
        except ProgrammingError as error:
            raise CommandError(f"Nothing was changed: {owner} may not do this. {error}") from error
        for statement in left:
            self.stdout.write(f"To be run by a role that can change {app}: {statement};")
        self.stdout.write(
            f"{app} reads and writes rows and adds to the audit log. {owner} owns the tables."
        )
