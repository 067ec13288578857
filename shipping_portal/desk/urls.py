"""The pages of the desk that are for senders; the others are Django admin's."""

from django.urls import path

from shipping_portal.desk.reports.refund_views import refunds, refunds_file
from shipping_portal.desk.reports.views import report_file, reports
from shipping_portal.desk.today import today

urlpatterns = [
    path("today/", today, name="today"),
    path("reports/", reports, name="reports"),
    path("reports/refunds/", refunds, name="refunds"),
    path("reports/refunds.csv", refunds_file, name="refunds_file"),
    path("reports/<slug:report>.csv", report_file, name="report_file"),
]
