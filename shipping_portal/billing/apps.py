from django.apps import AppConfig


class BillingConfig(AppConfig):
    """Adds billing's filter to the list of parcels, which doesn't import billing."""

    name = "shipping_portal.billing"
    label = "billing"

    def ready(self) -> None:
        # Imported to register it.
        from shipping_portal.billing.pages import statements  # noqa: F401, PLC0415
