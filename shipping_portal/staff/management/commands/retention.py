from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from shipping_portal.jobs import retention


class Command(BaseCommand):
    help = (
        "Deletes or overwrites expired data (docs/security/data.md), as the sweeper does every"
        " hour."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for what, count in retention.purge(timezone.now()).items():
            self.stdout.write(f"{what}: {count} deleted")
