"""Files made for a sender hold whoever their parcels went to, so they are deleted rather than searched."""

from shipping_portal.exporting.models import Export
from shipping_portal.jobs.erasing import Keys, eraser
from shipping_portal.jobs.retention import delete


@eraser("order", "proof packs")
def erase_proof_packs(orders: Keys) -> int:
    return delete(Export.objects.filter(order__in=orders))


@eraser("sender's files", "files of whole accounts")
def erase_account_files(senders: Keys) -> int:
    return delete(Export.objects.filter(sender__in=senders, order=None))


@eraser("sender", "files made for the account")
def erase_files(senders: Keys) -> int:
    return delete(Export.objects.filter(sender__in=senders))
