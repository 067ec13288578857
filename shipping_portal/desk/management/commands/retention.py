from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from shipping_portal.desk import retention


class Command(BaseCommand):
    help = (
        "Deletes label files, call log rows and quotes past their time. The sweeper does this every hour too."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for what, count in retention.purge(timezone.now()).items():
            self.stdout.write(f"{what}: {count} deleted")
