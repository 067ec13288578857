"""Nudges: each carries one id, makes one call, may run twice and may never run."""

from celery import shared_task

from orders import booking, cancelling, labels, replacing, resolving


@shared_task
def book(order_id: int) -> None:
    booking.work(order_id)


@shared_task
def resolve(order_id: int) -> None:
    resolving.work(order_id)


@shared_task
def cancel(order_id: int) -> None:
    cancelling.work(order_id)


@shared_task
def replace(replacement_id: int) -> None:
    replacing.work(replacement_id)


@shared_task
def fetch_label(label_id: int) -> None:
    labels.work(label_id)
