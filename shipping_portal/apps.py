"""Load Celery and the system checks; shipping_portal/__init__.py stays empty for the sandbox."""

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


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        """Import what registers itself."""
        for module in REGISTERING:
            import_module(f"shipping_portal.{module}")
