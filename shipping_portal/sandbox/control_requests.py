"""Answer requests under /_sandbox/, from this machine only."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from shipping_portal.sandbox.requesting import Request
from shipping_portal.sandbox.wire import Refused, Reply, json_reply, not_found


def answer_control(
    request: Request,
    reads: Mapping[str, Callable[[], Any]],
    writes: Mapping[str, Callable[..., Any]],
) -> Reply:
    """Read or write what the path names; an invalid body gets a 400 that says why.

    Reading returns a Reply, or a value to send as JSON.
    """
    if not request.is_local:
        raise not_found()
    name = request.path.removeprefix("/_sandbox/")
    if request.method == "GET" and name in reads:
        found = reads[name]()
        return found if isinstance(found, Reply) else json_reply(200, found)
    if request.method != "POST" or name not in writes:
        raise not_found()
    try:
        members, work = request.json() or {}, writes[name]
        if name != "settings":
            inspect.signature(work).bind(**members)
        return json_reply(200, work(**members) or {})
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise Refused(400, "bad_control", str(error)) from error
