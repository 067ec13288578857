"""Define staff's two apps: its commands and pages, and Django's admin on the staff's own site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class StaffConfig(AppConfig):
    """The operators' commands, pages, cases and alerts."""

    name = "shipping_portal.staff"
    label = "staff"


class StaffAdminConfig(AdminConfig):
    """Django admin, with the staff's site as the default that every ModelAdmin registers on."""

    default_site = "shipping_portal.staff.site.StaffSite"
