"""Files made for a sender hold whoever their parcels went to, so they are deleted rather than searched."""

from shipping_portal.exporting.models import Export
from shipping_portal.jobs.erasing import deletes

deletes("order", "proof packs", Export.objects.all(), "order")
deletes("sender's files", "files of whole accounts", Export.objects.filter(order=None), "sender")
deletes("sender", "files made for the account", Export.objects.all(), "sender")
