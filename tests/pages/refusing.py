"""Refusals by the carrier."""

from typing import Any

from tests.catalogue.meddling import reply

WRAPPER = "Some of the supplied data is invalid; see messages."


def no(messages: Any, *, status: int = 422) -> bytes:
    """Return a refusal in the default format, where the sentence only refers to the messages."""
    body = {"error": "unprocessable_entity", "error_description": WRAPPER, "messages": messages}
    return reply(status, {name: member for name, member in body.items() if member is not None})
