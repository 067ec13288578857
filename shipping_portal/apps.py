"""Loads Celery and the system checks; shipping_portal/__init__.py stays empty so the sandbox needs neither."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        from shipping_portal import (  # noqa: PLC0415  (registering is the point)
            brand,  # noqa: F401
            celery,  # noqa: F401
            checks,  # noqa: F401
            deploy_checks,  # noqa: F401
            metrics_port,  # noqa: F401
            starting,  # noqa: F401
        )
