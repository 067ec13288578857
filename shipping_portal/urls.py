"""Route every address of the portal; each app declares its own, each view its audience."""

from django.contrib import admin
from django.urls import include, path

from shipping_portal.http import error_pages
from shipping_portal.staff.alerts.metrics import metrics
from shipping_portal.staff.demo import demo_pages

urlpatterns = [
    path("csp-reports/", error_pages.csp_report, name="csp_report"),
    path("metrics", metrics, name="metrics"),
    path("demo/mail/", demo_pages.mail, name="demo_mail"),
    path("demo/<slug:name>/", demo_pages.act, name="demo_act"),
    path("api/v1/", include("shipping_portal.api.urls")),
    path("", include("shipping_portal.accounts.urls")),
    path("", include("orders.urls")),
    path("", include("tracking.urls")),
    path("", include("shipping_portal.billing.urls")),
    path("", include("shipping_portal.importing.urls")),
    path("", include("shipping_portal.exporting.urls")),
    path("", include("shipping_portal.reports.urls")),
    path("accounts/", include("shipping_portal.accounts.views.sign_on")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("admin/", admin.site.urls),
]

handler400 = error_pages.bad_request
handler403 = error_pages.denied
handler404 = error_pages.not_found
handler500 = error_pages.server_error
handler429 = "shipping_portal.http.error_pages.too_many_requests"  # allauth's, which needs a name
