from django.apps import AppConfig


class ExportingConfig(AppConfig):
    name = "shipping_portal.exporting"
    label = "exporting"
