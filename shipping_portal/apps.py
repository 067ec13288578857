"""Load Celery and the system checks; shipping_portal/__init__.py stays empty for the sandbox."""

import gc
from importlib import import_module

from django.apps import AppConfig

# They register system checks, receivers of signals and metrics as they are imported.
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
# This is the first app: what loads from here on stays, and looking for garbage in it takes a
# seventh of a start.
gc.disable()


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        """Import what registers itself, then collect garbage of what is made from here on."""
        for module in REGISTERING:
            import_module(f"shipping_portal.{module}")
        gc.freeze()
        gc.enable()
