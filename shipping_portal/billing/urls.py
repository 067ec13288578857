"""Route billing's pages: the weeks, a statement, and disputing a charge."""

from django.urls import path

from shipping_portal.billing.views import (
    billing,
    charge_is_wrong,
    dispute_photo,
    statement,
    statement_csv,
    statement_pdf,
)

urlpatterns = [
    path("billing/", billing, name="billing"),
    path("billing/<str:week>/", statement, name="statement"),
    path("billing/<str:week>/statement.csv", statement_csv, name="statement_csv"),
    path("billing/<str:week>/statement.pdf", statement_pdf, name="statement_pdf"),
    path("billing/charges/wrong/", charge_is_wrong, name="charge_is_wrong"),
    path("billing/photos/<int:photo>/", dispute_photo, name="dispute_photo"),
]
