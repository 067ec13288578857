from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "shipping_portal.accounts"
    label = "accounts"

    def ready(self) -> None:
        # Receives allauth's signals.
        from shipping_portal.accounts.login import security_events  # noqa: F401, PLC0415
