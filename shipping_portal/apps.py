"""Load Celery and the system checks; shipping_portal/__init__.py stays empty for the sandbox."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        """Import what registers itself: system checks, signals of workers, the metrics."""
        from shipping_portal import brand, celery  # noqa: F401, PLC0415
