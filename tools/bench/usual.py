"""The usual way to book parcels, to compare the portal with: Django, DRF and Celery, as in tutorials.

It books twice when a reply is lost: the task is tried again, and nothing records that the carrier
may have booked. It has no prices, limits, roles, polls or log of calls either. It keeps its
connections to the database, although Celery's loader for Django would close them around each task:
a slower reference is an easier one.
"""

import os

import django
import requests
from celery import Celery
from django.conf import settings
from environ import Env

CARRIER = os.environ.get("CARRIER_BASE_URL", "")
if not settings.configured:
    settings.configure(
        SECRET_KEY="only-for-the-bench",
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": {**Env().db("DATABASE_URL"), "CONN_MAX_AGE": None}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
        MIDDLEWARE=[  # as `startproject` writes it
            "django.middleware.security.SecurityMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "django.middleware.clickjacking.XFrameOptionsMiddleware",
        ],
        ROOT_URLCONF="tools.bench.usual",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()

from django.contrib.auth.models import User
from django.db import models
from django.urls import path
from rest_framework import decorators, permissions, response, serializers

app = Celery("usual", broker=os.environ.get("REDIS_URL"))
app.conf.update(task_acks_late=True, task_ignore_result=True, worker_prefetch_multiplier=1)


class Order(models.Model):
    """Only what a carrier has to know."""

    user = models.ForeignKey(User, on_delete=models.CASCADE)
    name = models.CharField(max_length=120)
    email = models.EmailField()
    phone = models.CharField(max_length=30)
    line1 = models.CharField(max_length=255)
    suburb = models.CharField(max_length=80)
    state = models.CharField(max_length=40)
    postcode = models.CharField(max_length=12)
    country = models.CharField(max_length=2)
    description = models.CharField(max_length=255)
    weight_kg = models.DecimalField(max_digits=9, decimal_places=4)
    length_cm = models.DecimalField(max_digits=9, decimal_places=3)
    width_cm = models.DecimalField(max_digits=9, decimal_places=3)
    height_cm = models.DecimalField(max_digits=9, decimal_places=3)
    status = models.CharField(max_length=20, default="booking")
    reference = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "usual"


class Parcel(models.Model):
    order = models.OneToOneField(Order, on_delete=models.CASCADE)
    reference = models.CharField(max_length=100, unique=True)

    class Meta:
        app_label = "usual"


class Label(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE)
    size = models.CharField(max_length=7)
    content = models.BinaryField()

    class Meta:
        app_label = "usual"


class OrderSerializer(serializers.ModelSerializer):
    class Meta:
        model = Order
        exclude = ["user"]
        read_only_fields = ["status", "reference"]


@decorators.api_view(["POST"])
@decorators.permission_classes([permissions.IsAuthenticated])
def book(request):
    given = OrderSerializer(data=request.data)
    given.is_valid(raise_exception=True)
    order = given.save(user=request.user)
    book_order.delay(order.pk)
    return response.Response(given.data, status=202)


@app.task(autoretry_for=[requests.RequestException], retry_backoff=True)
def book_order(pk):
    order = Order.objects.get(pk=pk)
    sent = OrderSerializer(order).data
    booked = requests.post(f"{CARRIER}/orders", json=sent, timeout=20).json()
    order.status, order.reference = "booked", booked["carrier_reference"]
    order.save()
    Parcel.objects.create(order=order, reference=order.reference)
    fetch_labels.delay(pk, booked["labels"])


@app.task(autoretry_for=[requests.RequestException], retry_backoff=True)
def fetch_labels(pk, links):
    for link in links:
        content = requests.get(link["url"], timeout=20).content
        Label.objects.create(order_id=pk, size=link["size"], content=content)


urlpatterns = [path("orders/", book)]
