"""The web server's entry. A pulse runs beside it: when nothing could take webhooks for a while, parcels are polled."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
application = get_wsgi_application()

from shipping_portal.starting import refuse_a_restored_database  # noqa: E402  (models load with the application)
from tracking.downtime import Pulse  # noqa: E402

refuse_a_restored_database()
Pulse("web").start()
