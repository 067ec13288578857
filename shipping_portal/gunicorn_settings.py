"""gunicorn's settings: its own lines are JSON like everybody's, those before Django loads as well."""

import os
import tempfile

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")

from django.conf import settings

from shipping_portal.logs import described

bool(settings.SECRET_KEY)  # read now: the formatter needs them, and reading them writes a line itself
logconfig_dict = described("INFO")
worker_class = "gthread"
# Sixteen threads are plenty: booking never waits for the carrier in a web request.
workers = 2
# They count together, in a folder, which has to be named before anybody begins to count.
if settings.METRICS_PORT:
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", tempfile.mkdtemp(prefix="portal-metrics-"))
threads = 8
graceful_timeout = 20
control_socket_disable = True
