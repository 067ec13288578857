"""Store sessions: a login is a row, a visitor's session is a signed cookie."""

import hashlib
import re
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as InDatabase
from django.contrib.sessions.serializers import JSONSerializer
from django.core import signing
from django.db import InterfaceError, OperationalError
from django.db.models import CharField, DateTimeField
from django.utils import timezone

from shipping_portal.accounts.models import Session
from shipping_portal.db.planned_statements import Given, PlannedSelect

Content = dict[str, Any]  # what a session holds

VISITOR = "visitor:"
# allauth's key; its value holds the whole request, and so the session key
WAITING = "account_reauthentication_state"
OLD_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
COOKIES = re.compile(r'"HTTP_COOKIE": "(?:[^"\\\\]|\\\\.)*", ')
# This differs from the rows' salt: otherwise a row's content, read from a copy of the database,
# would be a valid cookie.
SALT = "shipping_portal.accounts.visitor"

LIVE = PlannedSelect(
    Session.objects.filter(
        session_key=Given("key", CharField()), expire_date__gt=Given("now", DateTimeField())
    )
)


def key_digest(key: str | None) -> str:
    """Return a digest to look up a session by, so that a copy of the database opens none."""
    return hashlib.sha256((key or "").encode()).hexdigest()[:40]  # as long as the column


class SessionStore(InDatabase):
    """Find database sessions by the digest of their key; visitors' pages write no row.

    A visitor's session key is the session's whole content, signed. Django changes the key at login,
    and the session becomes a row. It holds only what its owner may see: the CSRF token, the step of
    a login.
    """

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> Content:
        if not _is_visitor_key(self.session_key):
            return _with_own_backend(super().load())
        try:
            content: Content = signing.loads(
                str(self.session_key).removeprefix(VISITOR),
                salt=SALT,
                serializer=JSONSerializer,
                max_age=settings.SESSION_COOKIE_AGE,
            )
        except signing.BadSignature:
            self._session_key = None
            return {}
        return content

    def save(self, *, must_create: bool = False) -> None:  # type: ignore[override]
        """Answer 503 while the database is down.

        Django would claim that the session was deleted.
        """
        content = self._get_session(no_load=must_create)  # type: ignore[attr-defined]
        if SESSION_KEY not in content:
            self._save_as_visitor(content)
            return
        if waiting := content.get(WAITING):  # what was sent before the password was requested again
            content[WAITING] = {**waiting, "request": COOKIES.sub("", waiting["request"])}
        if _is_visitor_key(self.session_key):
            self._session_key, must_create = self._get_new_session_key(), True  # type: ignore[attr-defined]
        try:
            super().save(must_create=must_create)
        except UpdateError as error:
            if isinstance(error.__context__, OperationalError | InterfaceError):
                raise error.__context__ from None
            raise

    def exists(self, session_key: str) -> bool:
        return super().exists(key_digest(session_key))

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key and not _is_visitor_key(key):
            super().delete(key_digest(key))

    def create_model_instance(self, data: Content) -> Any:
        row: Any = super().create_model_instance(data)
        row.session_key = key_digest(row.session_key)
        row.whose = int(data[SESSION_KEY])
        return row

    def _get_session_from_db(self) -> Any:
        row = LIVE.first(key=key_digest(self._session_key), now=timezone.now())
        if row is None:
            self._session_key = None
        return row

    def _save_as_visitor(self, content: Content) -> None:
        """Use the content as the key.

        An earlier row stays until it is deleted, for example after a logout.
        """
        packed = signing.dumps(content, salt=SALT, serializer=JSONSerializer, compress=True)
        self._session_key = VISITOR + packed


def _with_own_backend(content: Content) -> Content:
    """Return a login's content with our backend; before 0.13.0 it named allauth's."""
    if content.get(BACKEND_SESSION_KEY) == OLD_BACKEND:
        content[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    return content


def _is_visitor_key(key: str | None) -> bool:
    return (key or "").startswith(VISITOR)
