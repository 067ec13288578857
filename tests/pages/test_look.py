"""P6: pages are readable with any brand in both themes: the partner sets the hue, we set the lightness."""

import gzip
import math
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from shipping_portal.brand import contrast_ratio

SHEETS = ("look.css", "portal.css", "staff.css")
LOOK = Path(str(finders.find("look.css"))).read_text()
TOKEN = re.compile(r"--([a-z-]+):(light-dark\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|oklch\((?:[^()]|\([^()]*\))*\))")
BRANDS = {
    "ours": "#0b5563",
    "plum": "#6b2d5c",
    "ember": "#b3261e",
    "wattle": "#8a6d00",
    "ink": "#1f2430",
    "cobalt": "#1746a2",
}
PAIRS = [
    *(("text", ground, 7) for ground in ("bg", "sheet", "sunk", "tint")),
    *(("muted", ground, 6.2) for ground in ("bg", "sheet", "sunk")),
    *(("link", ground, 6.2) for ground in ("bg", "sheet", "tint")),
    ("rail-ink", "rail", 7),
    ("rail-ink", "rail-on", 6.2),
    *((tone, f"{tone}-bg", 6.2) for tone in ("ok", "warn", "bad")),
    *((tone, "sheet", 6.2) for tone in ("ok", "warn", "bad")),
    *(("edge", ground, 3) for ground in ("bg", "sheet")),
    *(("focus", ground, 3) for ground in ("bg", "sheet")),
]


@pytest.mark.parametrize("brand", [*BRANDS.values()])
@pytest.mark.parametrize("theme", [0, 1])
def test_text_and_borders_have_contrast_with_any_brand(brand: str, theme: int) -> None:
    colours = {name: value_in(value, theme, brand) for name, value in TOKEN.findall(LOOK)}
    for ink, ground, least in PAIRS:
        assert contrast_ratio(colours[ink], colours[ground]) >= least, (ink, ground, colours[ink], colours[ground])


def test_all_stylesheets_together_stay_small() -> None:
    sheets = [Path(str(finders.find(name))).read_bytes() for name in SHEETS]
    assert sum(map(len, sheets[:2])) <= 41_500
    assert len(gzip.compress(b"".join(sheets[:2]))) <= 10_350
    assert len(sheets[2]) <= 12_000  # what the admin needs in addition to look.css


def value_in(value: str, theme: int, brand: str) -> str:
    """Return a token as #rrggbb: the light or the dark one, derived from the brand."""
    inner = value.removeprefix("light-dark(")[:-1] if value.startswith("light-dark") else value
    one = re.findall(r"#[0-9a-f]{3,6}|oklch\((?:[^()]|\([^()]*\))*\)|var\([^()]*\)", inner)
    chosen = one[min(theme, len(one) - 1)]
    if chosen.startswith("#"):
        return chosen if len(chosen) == 7 else "#" + "".join(2 * digit for digit in chosen[1:])
    if chosen.startswith("var"):
        return brand
    own = oklch(brand)
    parts = chosen.removeprefix("oklch(").removesuffix(")").replace("from var(--b) ", "").split(" ")
    if "calc" in chosen:
        return rgb(own[0] - 0.07, own[1], own[2])
    lightness, chroma, hue = parts
    least = re.match(r"min\(c,([.0-9]+)\)", chroma)
    return rgb(
        float(lightness), min(own[1], float(least[1])) if least else float(chroma), own[2] if hue == "h" else float(hue)
    )


def oklch(colour: str) -> tuple[float, float, float]:
    red, green, blue = (linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    lightness = 0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short
    return lightness, math.hypot(a, b), math.degrees(math.atan2(b, a))


def rgb(lightness: float, chroma: float, hue: float) -> str:
    """Return #rrggbb; a channel out of range is clipped, as browsers nearly do."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    channels = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * gamma(min(1, max(0, channel)))):02x}" for channel in channels)


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
