from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    """Imports each app's `jobs.py`, which registers its jobs, chores and retention terms."""

    name = "shipping_portal.jobs"

    def ready(self) -> None:
        autodiscover_modules("jobs")
