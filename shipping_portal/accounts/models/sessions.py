"""Where people are logged in."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class Session(AbstractBaseSession):
    """Django's session with whose it is beside what is inside, so that one's own are found without reading all.

    No foreign key: a session is written again and again, by everybody, and must not wait for a row of a user.
    """

    whose = models.BigIntegerField(null=True, blank=True, db_index=True)

    @classmethod
    def get_session_store_class(cls) -> Any:
        return import_module(settings.SESSION_ENGINE).SessionStore
