"""Define EasyPost's refusals: one envelope, with errors by field."""

from typing import Any

from shipping_portal.sandbox.wire import Reply, json_reply


class Refusal(Exception):
    """A refusal: status, code, sentence, and (field, message) pairs."""

    def __init__(
        self, status: int, code: str, text: str, errors: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(text)
        self.status, self.code, self.text, self.errors = status, code, text, errors

    def reply(self) -> Reply:
        """Return the refusal as it goes over the wire."""
        errors: list[dict[str, Any]] = [
            {"field": field, "message": message} for field, message in self.errors
        ]
        return json_reply(
            self.status, {"error": {"code": self.code, "message": self.text, "errors": errors}}
        )


def not_found() -> Refusal:
    """404: there is nothing, or nothing that this key may see."""
    return Refusal(404, "NOT_FOUND", "The requested resource could not be found.")


def unauthorised() -> Refusal:
    """401: it isn't one of our keys."""
    return Refusal(
        401, "APIKEY.INACTIVE", "This api key is no longer active. Please use a different one."
    )
