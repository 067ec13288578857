"""Nudges of accounts: one id each, safe twice, safe never."""

from celery import shared_task

from shipping_portal.accounts import mailing


@shared_task
def mail(notice_id: int) -> None:
    mailing.work(notice_id)
