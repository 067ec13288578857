"""Tracking's pages and the carrier's webhook."""

from django.urls import path

from tracking import views

urlpatterns = [
    path("webhooks/tracking/", views.webhook, name="webhook"),
    path("webhooks/tracking/<str:token>/", views.webhook, name="webhook_token"),
]
