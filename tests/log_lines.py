"""Read log lines."""

import io
import logging
from typing import Any

import pytest

from shipping_portal.ops import logs


@pytest.fixture
def lines() -> Any:
    """Everything the root logger writes while the test runs, as it would appear on standard error."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._json_formatter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: stream.getvalue().splitlines()
    root.removeHandler(handler)
