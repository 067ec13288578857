"""The desk is two apps in one package: its commands and pages, and Django's admin on the desk's own site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    """The operator's commands and pages; it has no models."""

    name = "shipping_portal.desk"
    label = "desk"


class DeskAdminConfig(AdminConfig):
    """Django admin with the desk as the site that every ModelAdmin registers on."""

    default_site = "shipping_portal.desk.site.DeskSite"
