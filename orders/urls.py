"""The pages of quoting, booking, labels and cancelling."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
