"""What templates ask about the rows of an import."""

from django import template

from shipping_portal.importing.models import ImportRow
from shipping_portal.importing.progress import reason
from shipping_portal.importing.shops import STATUS

register = template.Library()


@register.filter
def why(row: ImportRow) -> str:
    """Return why a row of an import came to nothing."""
    return reason(row)


@register.filter
def loose(problems: dict[str, list[str]]) -> list[str]:
    """Return what is wrong with a row as a whole."""
    return [text for name in ("", STATUS) for text in problems.get(name, [])]
