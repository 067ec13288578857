"""Nudges: each carries one id, makes one call, may run twice and may never run."""

from celery import shared_task

from orders import awaiting_prices, booking, cancelling, labels, replacing, resolving
from orders.billing import checking as billing
from orders.importing import booking as importing
from orders.importing import checking


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


@shared_task
def ask_again(wait_id: int) -> None:
    awaiting_prices.work(wait_id)


@shared_task
def check_row(row_id: int) -> None:
    checking.work(row_id)


@shared_task
def book_row(row_id: int) -> None:
    importing.work(row_id)


@shared_task
def read_report(report_id: int) -> None:
    billing.work(report_id)
