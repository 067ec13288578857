"""Let the parcels be folded anew that have scans from clocks that are ahead: these count as of their receipt now."""

import datetime as dt
from typing import Any

from django.db import migrations
from django.db.models import F, Q
from django.utils import timezone

# By then no process of the version before works any more, which would fold them by its own rule.
LATER = dt.timedelta(hours=1)


def fold_again(apps: Any, schema_editor: Any) -> None:
    events = apps.get_model("tracking", "TrackingEvent").objects.using(schema_editor.connection.alias)
    parcels = apps.get_model("tracking", "Parcel").objects.using(schema_editor.connection.alias)
    # A webhook may have been read after a poll that overtook it.
    events.filter(pushed_at__lt=F("received_at")).update(received_at=F("pushed_at"))
    ahead = events.filter(scan_time__gt=F("received_at") + dt.timedelta(minutes=15))
    parcels.filter(Q(pk__in=ahead.values("parcel")), due_at=None).update(due_at=timezone.now() + LATER)
    events.filter(set_aside="scan time is more than a day ahead").update(set_aside="")


class Migration(migrations.Migration):
    dependencies = [("tracking", "0005_indexes_of_set_aside_webhooks")]

    operations = [migrations.RunPython(fold_again, migrations.RunPython.noop, elidable=True)]
