from django.apps import AppConfig


class ImportingConfig(AppConfig):
    name = "shipping_portal.importing"
    label = "importing"
