"""Define the exception for a request that is turned down."""


class Refused(Exception):
    """Raised when what somebody asked for wasn't done. The text tells them why."""
