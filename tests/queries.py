"""The statements a test sent to its database."""

from django.test.utils import CaptureQueriesContext

PLANNED = "PLANNED"


def sql_of(queries: CaptureQueriesContext) -> list[str]:
    """Return each statement's text; PLANNED for a planned one, of which PostgreSQL's driver keeps none."""
    return [query["sql"] or PLANNED for query in queries.captured_queries]
