"""Keeps sessions in the database, each with whose it is: the SESSION_ENGINE."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as InDatabase
from django.db import InterfaceError, OperationalError

from shipping_portal.accounts.models import Session


class SessionStore(InDatabase):
    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row: Any = super().create_model_instance(data)
        row.whose = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        return row

    def save(self, *arguments: Any, **named: Any) -> None:
        """Django takes a database that went away for a log-out elsewhere, and answers 400: to reload helps, so 503."""
        try:
            super().save(*arguments, **named)
        except UpdateError as error:
            if isinstance(error.__context__, OperationalError | InterfaceError):
                raise error.__context__ from None
            raise
