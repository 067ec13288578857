from django.apps import AppConfig


class BillingConfig(AppConfig):
    """Adds billing's filter to the parcels list, which doesn't know billing."""

    name = "shipping_portal.billing"
    label = "billing"

    def ready(self) -> None:
        # Registering is the point.
        from shipping_portal.billing.pages import statements  # noqa: F401, PLC0415
