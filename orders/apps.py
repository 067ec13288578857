from django.apps import AppConfig
from django.db.models import CharField
from django.db.models.functions import Upper


class OrdersConfig(AppConfig):
    name = "orders"

    def ready(self) -> None:
        CharField.register_lookup(Upper)  # carrier_reference__upper: see references.py
