"""Log-in is allauth's; these are the pages around it: first steps, settings, help and health."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
