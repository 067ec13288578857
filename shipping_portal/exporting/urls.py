"""Route the pages of files that are made in the background."""

from django.urls import path

from shipping_portal.exporting import views

urlpatterns = [
    path("parcels/<uuid:order>/proof-pack/", views.pack_proof, name="pack_proof"),
    path("settings/data/everything/", views.pack_everything, name="pack_everything"),
    path("exports/<uuid:export>/", views.export_progress, name="export_progress"),
    path("exports/<uuid:export>/file.zip", views.export_file, name="export_file"),
]
