"""Apply the partner's brand from settings: a name, a logo and two colours.

The brand sets the hue and we set the lightness (`static/look.css`), so only a filled button can
have too little contrast. That is checked at start-up.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SHEETS = ("look.css", "portal.css")
# Fixed paths, because the error page can't use URL routing.
PATHS = {
    "brand_style": "brand/style.css",
    "brand_colours": "brand/colours.css",
    "receiver_style": "brand/receiver.css",
    "brand_logo": "brand/logo",
}
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
LOGOS = {".svg": "image/svg+xml", ".png": "image/png"}
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3


def asset_address(name: str) -> str:
    """Return the address of one of PATHS. It changes with the content."""
    version = _logo_version() if name == "brand_logo" else style_sheet(name)
    return f"/{PATHS[name]}?v={zlib.crc32(version.encode()):08x}"


def style_sheet(name: str) -> str:
    """Return the style sheet at one of PATHS."""
    return {
        "brand_style": _page_style,
        "brand_colours": _brand_colours,
        "receiver_style": _receiver_style,
    }[name]()


def _page_style() -> str:
    """Return the whole style sheet of senders' pages.

    One file is smaller than two, and needs one request.
    """
    return _read_sheets(*SHEETS) + _brand_colours()


def _receiver_style() -> str:
    """Return the small style sheet of receivers' pages: the colours of look.css, and their own."""
    tokens, _, _ = _read_sheets("look.css").partition("@layer ground{")
    return tokens + _read_sheets("receiver.css") + _brand_colours()


def _brand_colours() -> str:
    """Return the two colours as CSS, or "", for the admin, which has its own style sheet."""
    return (
        f":root{{--brand:{settings.BRAND_COLOUR};--brand-ink:{settings.BRAND_INK}}}"
        if settings.BRAND_COLOUR
        else ""
    )


@cache
def _read_sheets(*names: str) -> str:
    written = "".join((settings.BASE_DIR / "static" / name).read_text() for name in names)
    # Take the text before each comment.
    return "".join(part.partition("/*")[0] for part in written.split("*/"))


def _logo_version() -> str:
    return f"{settings.BRAND_LOGO} {Path(settings.BRAND_LOGO).stat().st_mtime_ns}"


def contrast_ratio(one: str, other: str) -> float:
    """Return two colours' contrast ratio by WCAG 2, 1 to 21."""
    bright, dim = sorted((_relative_luminance(one), _relative_luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@register("brand")
def check_brand(**options: Any) -> Iterable[CheckMessage]:
    """Reject invalid colours, button text with too little contrast, and an unusable logo."""
    yield from _faults_of_colours()
    if settings.BRAND_LOGO:
        path = Path(settings.BRAND_LOGO)
        if path.suffix.lower() not in LOGOS or not path.is_file():
            yield Error("BRAND_LOGO is not a readable SVG or PNG file.", id="portal.E065")


def _faults_of_colours() -> Iterator[CheckMessage]:
    if not settings.BRAND_COLOUR:
        return
    pair = {name: getattr(settings, name) for name in ("BRAND_COLOUR", "BRAND_INK")}
    wrong = [name for name, colour in pair.items() if not COLOUR.fullmatch(colour)]
    for name in wrong:
        yield Error(f"{name} is not a colour like #0b5563.", id="portal.E063")
    if not wrong and contrast_ratio(*pair.values()) < LEAST_CONTRAST:
        yield Error(
            f"BRAND_INK on BRAND_COLOUR has a contrast of {contrast_ratio(*pair.values()):.1f}; it"
            " needs at least 4.5 to be readable.",
            hint=(
                "Choose a darker or lighter BRAND_INK: #ffffff or #000000 is nearly always enough."
            ),
            id="portal.E064",
        )


def _relative_luminance(colour: str) -> float:
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
