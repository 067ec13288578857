"""Owing a sender a ZIP file. It is packed by a worker, and pressing twice packs it once."""

import datetime as dt

from django.db import transaction
from django.db.models import Q

from orders.models import Order
from shipping_portal.accounts.models import Audit, Sender, User
from shipping_portal.exporting.models import Export
from shipping_portal.jobs.registry import enqueue

SAME_PRESS = dt.timedelta(minutes=1)  # a second press so soon is answered with what the first one made


def proof_pack(order: Order, *, by: User, now: dt.datetime) -> Export:
    """Owe the proof pack of one parcel; the one on its way, if there is one."""
    return _owe(order.sender, Export.What.PROOF, order, by=by, now=now)


def everything(sender: Sender, *, by: User, now: dt.datetime) -> Export:
    """Owe all there is of the account; the one on its way, if there is one."""
    return _owe(sender, Export.What.ACCOUNT, None, by=by, now=now)


def _owe(sender: Sender, what: str, order: Order | None, *, by: User, now: dt.datetime) -> Export:
    """One at a time of a kind, so presses of one sender go one after the other."""
    with transaction.atomic():
        Sender.objects.select_for_update(no_key=True).get(pk=sender.pk)
        same = Export.objects.filter(sender=sender, what=what, order=order)
        export = same.filter(Q(due_at__isnull=False) | Q(created_at__gt=now - SAME_PRESS)).first()
        if export is None:
            export = Export.objects.create(
                sender=sender, made_by=by, what=what, order=order, created_at=now, due_at=now
            )
            action = "proof pack asked for" if order else "account export asked for"
            Audit.write(action, order or sender, by=by, sender=sender, at=now)
        if export.due_at:
            enqueue("export", export.pk)
    return export
