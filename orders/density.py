"""How heavy a parcel is for its size. Beyond these bounds, its weight or its sides are probably in another unit."""

from decimal import Decimal

from shipping_portal.carrier.messages import Measures
from shipping_portal.carrier.writing import CENTIMETRES, KILOGRAMS

LIGHTEST, HEAVIEST = Decimal(5), Decimal(5000)  # kg per cubic metre: a pillow has about 30, lead 11,000
CUBIC_METRE = Decimal(1_000_000)  # in cubic centimetres


def density(measures: Measures) -> Decimal:
    """Kilograms per cubic metre of the box."""
    volume = measures.length * measures.width * measures.height * CENTIMETRES[measures.dimension_units] ** 3
    return measures.weight * KILOGRAMS[measures.weight_units] * CUBIC_METRE / volume


def odd(measures: Measures) -> str:
    """`light` or `heavy` for its size; "" for a likely parcel."""
    found = density(measures)
    if is_likely(found):
        return ""
    return "light" if found < LIGHTEST else "heavy"


def is_likely(found: Decimal) -> bool:
    return LIGHTEST <= found <= HEAVIEST


def doubt(measures: Measures) -> str:
    """What is odd about the parcel, in words; "" for a likely one."""
    said = odd(measures)
    return f"This parcel is very {said} for its size. Check its weight, its measures and their units." if said else ""
