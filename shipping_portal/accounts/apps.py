from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "shipping_portal.accounts"
    label = "accounts"
