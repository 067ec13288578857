"""Route tracking's pages and the carrier's webhook."""

from django.urls import path

from tracking import pages, receiver_views, return_label_views, views

urlpatterns = [
    path("watch/", pages.watched, name="watched"),
    path("watch/<uuid:watch>/", pages.watched_parcel, name="watched_parcel"),
    path("watch/<uuid:watch>/stop/", pages.stop_watching, name="stop_watching"),
    path("orders/<uuid:order>/tracking-page/", pages.tracking_page, name="tracking_page"),
    path("parcels/<uuid:order>/share/", receiver_views.receiver_page, name="receiver_page"),
    path("parcels/<uuid:order>/return/label/", return_label_views.return_link, name="return_link"),
    path("follow/<str:token>/label/", return_label_views.return_label, name="return_label"),
    path("follow/<str:token>/", receiver_views.follow, name="follow"),
    path("webhooks/tracking/", views.webhook, name="webhook"),
    path("webhooks/tracking/<str:token>/", views.webhook, name="webhook_token"),
    # Redirecting to the address with a slash would lose the scan.
    path("webhooks/tracking", views.webhook, name="webhook_bare"),
    path("webhooks/tracking/<str:token>", views.webhook, name="webhook_token_bare"),
]
