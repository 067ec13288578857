"""The statements a test sent to its database."""

from django.test.utils import CaptureQueriesContext

PLANNED = "PLANNED"


def sql_of(queries: CaptureQueriesContext) -> list[str]:
    """Return each statement's text, or PLANNED for a planned one, whose text PostgreSQL's driver doesn't keep."""
    return [query["sql"] or PLANNED for query in queries.captured_queries]
