"""Hold the current request's id for log lines, and for orders and audit rows it creates."""

import structlog

LONGEST = 64


def current_request() -> str:
    """Return the id of the request that this thread is answering, or "" if there is none."""
    return str(structlog.contextvars.get_contextvars().get("request", ""))
