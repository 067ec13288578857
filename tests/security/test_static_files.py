"""Static files are served before most of the middleware and have the headers of every response."""

from contextlib import closing

import pytest
from django.test import Client


@pytest.mark.parametrize("path", ["/static/icon.svg", "/static/portal.css", "/static/no-such-file.css"])
@pytest.mark.django_db
def test_a_static_file_has_the_policy_of_every_response(path: str) -> None:
    page = Client().get("/accounts/login/")
    with closing(Client().get(path)) as answer:
        given = dict(answer.headers)
    for name in ("Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "Cross-Origin-Opener-Policy"):
        assert given.get(name) == page.get(name) is not None, name
