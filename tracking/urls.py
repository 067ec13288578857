"""Tracking's pages and the carrier's webhook."""

from django.urls import path

from tracking import export_pages, pages, views

urlpatterns = [
    path("watch/", pages.watched, name="watched"),
    path("watch/<uuid:watch>/", pages.watched_parcel, name="watched_parcel"),
    path("watch/<uuid:watch>/stop/", pages.stop_watching, name="stop_watching"),
    path("orders/<uuid:order>/tracking-page/", pages.tracking_page, name="tracking_page"),
    path("parcels/<uuid:order>/proof-pack/", export_pages.pack_proof, name="pack_proof"),
    path("settings/data/everything/", export_pages.pack_everything, name="pack_everything"),
    path("exports/<uuid:export>/", export_pages.export_progress, name="export_progress"),
    path("exports/<uuid:export>/file.zip", export_pages.export_file, name="export_file"),
    path("webhooks/tracking/", views.webhook, name="webhook"),
    path("webhooks/tracking/<str:token>/", views.webhook, name="webhook_token"),
]
