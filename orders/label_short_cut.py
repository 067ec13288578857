"""Labels past the middleware: who asks, that it is theirs, and its bytes by one statement (docs/decisions/0032).

Only the usual case: a member who books opens the label of a booked parcel. All else is left to the portal, where
`views.labels.label` has this address; both give the file out by the same two calls.
"""

import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection, connections, models
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from orders.models import Label, LabelBytes, Order
from orders.views.labels import given_out
from shipping_portal.accounts import access, sessions
from shipping_portal.accounts.models import Sender, Session, User
from shipping_portal.accounts.session_store import SessionStore, digest
from shipping_portal.database_outage import AWAY
from shipping_portal.middleware import know_the_request, tell_the_browser
from shipping_portal.planned_statements import planned_cursor
from shipping_portal.short_cuts import Application, answer_server

ADDRESS = re.compile(r"/parcels/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/label/(full|cropped)\.pdf")
USUAL_QUERIES = {"", "download", "download=1"}
GIVEN: dict[str, Any] = {
    "session": Session._meta.get_field("session_key"),
    "at": Session._meta.get_field("expire_date"),
    "order": Order._meta.get_field("uuid"),
    "size": Label._meta.get_field("size"),
}
# What is read of each, in the order in which its model has it: `from_db` takes them so.
READ: dict[type[models.Model], tuple[str, ...]] = {
    Session: ("session_data",),
    User: ("id", "password", "is_staff"),
    Sender: ("id",),
    Order: ("id", "carrier_reference"),
    Label: ("id", "size", "sha256", "served_at"),
    LabelBytes: ("content",),
}
# What `audience`, `views.labels.label` and `Label.intact_bytes` ask for, where there is nothing more to ask.
STATEMENT = """
    SELECT login.session_data, member.id, member.password, member.is_staff, sender.id, parcel.id,
        parcel.carrier_reference, label.id, label.size, label.sha256, label.served_at, file.content
    FROM accounts_session login
    JOIN accounts_user member ON member.id = login.whose AND member.is_active AND NOT member.is_staff
    JOIN accounts_membership membership ON membership.user_id = member.id AND membership.role IN ('owner', 'shipper')
    JOIN accounts_sender sender ON sender.id = membership.sender_id
        AND sender.dispatch_stopped_at IS NULL AND NOT sender.needs_second_factor
    JOIN orders_order parcel ON parcel.sender_id = sender.id AND parcel.status = 'booked'
    JOIN orders_label label ON label.order_id = parcel.id AND label.state = 'stored' AND label.purged_at IS NULL
    JOIN orders_labelbytes file ON file.label_id = label.id
    WHERE login.session_key = %s AND login.expire_date > %s AND parcel.uuid = %s AND label.size = %s
"""


class _Unusual(Exception):
    """Not what is answered here."""


def labels_first(portal: Application) -> Application:
    """Return a WSGI application that gives labels out itself, and leaves all else to the portal."""
    secure: Any = SecurityMiddleware(tell_the_browser(_label))
    answer = know_the_request(secure)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET" or not ADDRESS.fullmatch(environ["PATH_INFO"]):
            return portal(environ, start_response)
        try:
            response: Any = answer(WSGIRequest(environ))
        except (_Unusual, DisallowedHost, LabelBytes.DoesNotExist, Label.Damaged):
            return portal(environ, start_response)
        except AWAY:
            connection.close()  # a server that was restarted: the portal begins with a connection of its own
            return portal(environ, start_response)
        return answer_server(response, environ, start_response, is_recorded=True)  # in the audit, with the request's id

    return application


def _label(request: Any) -> HttpResponse:
    """Answer with the file, or raise what the portal is to look at."""
    request.get_host()
    if request.META["QUERY_STRING"] not in USUAL_QUERIES or access.is_from_elsewhere(request):
        raise _Unusual
    now = timezone.now()
    read = _read(request, now)
    request.user, request.sender = read[User], read[Sender]
    if not sessions.proves(SessionStore().decode(read[Session].session_data), request.user, now.timestamp()):
        raise _Unusual
    label, content = read[Label], bytes(read[LabelBytes].content)
    label.order = read[Order]
    response = given_out(label, label.serve(at=now, content=content), request, at=now)
    patch_vary_headers(response, ["Cookie"])
    return response


def _read(request: Any, now: dt.datetime) -> dict[type[models.Model], Any]:
    """Return what READ names of each, which is all of it. Raises _Unusual where there is no such row."""
    key, found = request.COOKIES.get(settings.SESSION_COOKIE_NAME), ADDRESS.fullmatch(request.path_info)
    if not key or not found:
        raise _Unusual
    given = {"session": digest(key), "at": now, "order": uuid.UUID(found[1]), "size": found[2]}
    with planned_cursor(connections["default"], is_binary=True) as cursor:
        cursor.execute(STATEMENT, [GIVEN[name].get_db_prep_value(given[name], connection) for name in GIVEN])
        row = cursor.fetchone()
    if row is None:
        raise _Unusual
    values = iter(row)
    return {model: model.from_db("default", names, [next(values) for _ in names]) for model, names in READ.items()}
