from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "shipping_portal.reports"
    label = "reports"
