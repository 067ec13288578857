"""The one page of the desk that is for senders; the others are Django admin's."""

from django.urls import path

from shipping_portal.desk.today import today

urlpatterns = [path("today/", today, name="today")]
