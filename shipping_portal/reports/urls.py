"""Route Today and the reports."""

from django.urls import path

from shipping_portal.reports.today import today
from shipping_portal.reports.views import refunds, refunds_file, report_file, reports

urlpatterns = [
    path("today/", today, name="today"),
    path("reports/", reports, name="reports"),
    path("reports/refunds/", refunds, name="refunds"),
    path("reports/refunds.csv", refunds_file, name="refunds_file"),
    path("reports/<slug:report>.csv", report_file, name="report_file"),
]
