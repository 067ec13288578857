"""Nudges of tracking: one id each, safe twice, safe never."""

from celery import shared_task

from tracking import intake, polling, scans
from tracking.exporting import packing


@shared_task
def read_delivery(delivery_id: int) -> None:
    intake.read(delivery_id)


@shared_task
def open_parcel(order_id: int) -> None:
    polling.open_parcel(order_id)


@shared_task
def poll(parcel_id: int) -> None:
    polling.work(parcel_id)


@shared_task
def project(parcel_id: int) -> None:
    scans.project(parcel_id)


@shared_task
def pack(export_id: int) -> None:
    packing.work(export_id)
