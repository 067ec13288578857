"""The id of the request at hand: in every log line, and on the orders and audit rows that it makes."""

import structlog

LONGEST = 64


def current_request() -> str:
    """Return the id of the request that this thread answers, or "" outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request", ""))
