"""Load Celery and the system checks; shipping_portal/__init__.py stays empty for the sandbox."""

import gc
from importlib import import_module

from django.apps import AppConfig

# Importing them registers system checks, signal receivers and metrics.
REGISTERING = (
    "brand",
    "celery",
    "ops.bucket_checks",
    "ops.checks",
    "ops.deploy_checks",
    "ops.metrics_port",
    "ops.sso_checks",
    "ops.starting",
)
# This is the first app. What loads from here on stays, and looking for garbage in it takes a
# seventh of the start-up time.
gc.disable()


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        """Import modules that register things, then exempt all that is loaded from collection."""
        for module in REGISTERING:
            import_module(f"shipping_portal.{module}")
        gc.freeze()
        gc.enable()
