"""Start the web application with a heartbeat, so that parcels are polled after downtime."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
portal = get_wsgi_application()

from shipping_portal.ops import metrics_port  # noqa: E402  (models load with the application)
from shipping_portal.ops.starting import begin_work  # noqa: E402
from tracking.receiving.short_cut import webhooks_first  # noqa: E402
from tracking.receiving.webhook_health import Heartbeat  # noqa: E402

application = webhooks_first(portal)

begin_work()
Heartbeat("web").start()
metrics_port.serve_metrics(lambda: True)
