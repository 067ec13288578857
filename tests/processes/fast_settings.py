"""The portal's settings with a clock that runs sixty times as fast: a minute takes a second.

Waiting for another process takes real seconds, so a lease has to be long: ten minutes, which take ten seconds.
"""

import datetime as dt
import os
import time

from django.utils import timezone

from shipping_portal.settings import *  # noqa: F403

SPEED = 60
BEGAN = float(os.environ["CLOCK_BEGAN"])


def now() -> dt.datetime:
    return dt.datetime.fromtimestamp(BEGAN + (time.time() - BEGAN) * SPEED, tz=dt.UTC)


timezone.now = now
EMAIL_BACKEND, EMAIL_FILE_PATH = "django.core.mail.backends.filebased.EmailBackend", os.environ["MAIL_FOLDER"]
SILENCED_SYSTEM_CHECKS = ["portal.E033"]  # the receiver is our own site too, and it uses https
