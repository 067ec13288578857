"""Every address of the portal; each app declares its own, and each view says who it is for."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("shipping_portal.accounts.urls")),
    path("", include("orders.urls")),
    path("", include("tracking.urls")),
    path("", include("shipping_portal.billing.urls")),
    path("", include("shipping_portal.importing.urls")),
    path("", include("shipping_portal.exporting.urls")),
    path("", include("shipping_portal.reports.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
]
