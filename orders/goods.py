"""Words of a parcel's contents that may mean dangerous goods, and the one question each raises. It stops nobody."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The first group a text meets asks. Words are whole ones, in either number as written here.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "Is it inside its device? Power banks, and batteries on their own or damaged, can't go.": (
        "battery", "batteries", "power bank", "power banks", "powerbank", "powerbanks", "lithium",
    ),
    "Does it contain alcohol? Perfume that burns can't go.": (
        "perfume", "perfumes", "cologne", "aftershave", "eau de toilette", "eau de parfum",
    ),
    "Is it a can under pressure? Aerosols can't go.": (
        "aerosol", "aerosols", "hairspray", "spray can", "spray cans", "spray paint",
    ),
    "Does it burn? Nail polish and its remover can't go if they do.": (
        "nail polish", "nail varnish", "nail lacquer", "acetone",
    ),
    "Does it contain alcohol? Sanitiser that burns can't go.": ("sanitiser", "sanitisers", "sanitizer", "sanitizers"),
    "Does it hold gas or fuel, or light a flame? Then it can't go.": (
        "lighter", "lighters", "matches", "firework", "fireworks", "sparkler", "sparklers", "flare", "flares",
    ),
    "Is there gas in it? Cylinders and cartridges of gas can't go.": (
        "gas", "butane", "propane", "gas cylinder", "gas cartridge",
    ),
    "Does it burn? Fuel, and paint, solvent or glue that burns, can't go.": (
        "paint", "paints", "thinner", "solvent", "turpentine", "glue", "adhesive", "fuel", "petrol", "gasoline",
        "kerosene",
    ),
    "Is it corrosive or poisonous? Then it can't go.": (
        "bleach", "acid", "poison", "pesticide", "pesticides", "weedkiller", "insecticide",
    ),
    "Is it a strong magnet? Strong ones can't go.": ("magnet", "magnets"),
    "Is it packed with dry ice? That can't go.": ("dry ice",),
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """One question, with the word it was raised by as it was typed."""

    word: str
    question: str


def questions(texts: Iterable[str]) -> list[Question]:
    """One question for each group of words that the texts meet."""
    return list(_met(" / ".join(texts)))


def _met(text: str) -> Iterator[Question]:
    for question, words in QUESTIONS.items():
        found = re.search(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b", text, re.IGNORECASE)
        if found:
            yield Question(found[0], question)
