"""Check an order by interface 2.1, 3 and 7, and by the family's rules where that is silent."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from shipping_portal.sandbox.asking import Asked, Party, Problems
from shipping_portal.sandbox.contract import Contract
from shipping_portal.sandbox.places import COUNTRIES, alternatives, is_pair, zone_of
from shipping_portal.sandbox.quoting import Product, has_full_codes, max_weight, products_for
from shipping_portal.sandbox.workdays import add_business_days, is_business_day

EMAIL = re.compile(r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$")
PHONE = re.compile(r"^\+?[\d\s().-]{6,24}$")
POSTCODES = {
    "AU": re.compile(r"^\d{4}$"),
    "US": re.compile(r"^\d{5}(-\d{4})?$"),
    "CA": re.compile(r"^[A-Z]\d[A-Z] ?\d[A-Z]\d$", re.IGNORECASE),
}
# generic addresses (section 2.1)
NOBODYS = ("support", "help", "info", "noreply", "no-reply", "orders")
# these countries have no postcodes
NOT_ASKED = {("postcode", country) for country in ("HK", "AE", "FJ")}
LONGEST = {"name": 255, "company": 255, "line1": 255, "line2": 255, "instructions": 200}


def check_places(
    asked: Asked,
    problems: Problems,
    checked_countries: Collection[str],
    contract: Contract,
    prefix: str = "",
) -> None:
    """Check both ends: their text, which must be printable on a label, and their place.

    Suburb and postcode must be given, well formed and a published pair.
    """
    for side in ("sender", "receiver"):
        party: Party = getattr(asked, side)
        for part, text in asdict(party).items():
            if not all(map(is_printable, text)):
                problems.add(f"{side}_{part}", "must be written in Latin letters")
        for part in ("suburb", "postcode"):
            is_asked = contract[f"{prefix}{side}_{part}"] and (part, party.country) not in NOT_ASKED
            if is_asked and not getattr(party, part):
                problems.add(f"{side}_{part}", "can't be blank")
        pattern = POSTCODES.get(party.country)
        if not party.postcode or not party.suburb or not pattern:
            continue
        if not pattern.match(party.postcode):
            problems.add(f"{side}_postcode", "is not a postcode of this country")
        elif party.country in checked_countries and not is_pair(
            party.country, party.suburb, party.postcode
        ):
            others = alternatives(party.country, party.postcode)
            hint = f"; choose one of: {others}" if others else ""
            problems.add(f"{side}_suburb", f"does not match the postcode{hint}")


def is_printable(letter: str) -> bool:
    """Return whether a label can show it.

    Printable are Latin letters, ASCII, punctuation marks, spaces and a few signs.
    """
    kind = unicodedata.category(letter)
    if kind[0] == "L":
        return letter in "ªºʻʼ" or unicodedata.name(letter, "").startswith("LATIN ")
    return letter.isascii() or kind[0] in "PZ" or letter in "°№€£"


def check_order(
    asked: Asked,
    problems: Problems,
    *,
    now: datetime,
    withdrawn: Collection[str],
    contract: Contract,
) -> Product | None:
    """Check the rest and record the problems; return the product if it can be sold."""
    for side in ("sender", "receiver"):
        _check_party(side, getattr(asked, side), problems, contract)
    if not asked.receiver.email:
        problems.add("receiver_email", "can't be blank")
    if asked.size is None and not {"length", "width", "height", "dimension_units"} & set(
        problems.messages
    ):
        problems.add("dimensions", "can't be blank")
    for key, limit in (("description", 255), ("customer_reference", 255)):
        _check_length(key, getattr(asked, key), limit, problems)
    if contract["description"] and contract["description_needed"] and not asked.description:
        problems.add("description", "can't be blank")
    if contract["partner_field"] and not asked.partner_id:
        problems.add("partner_id", "partner_id can't be blank")
    _check_cover(asked, problems, contract)
    _check_lane(asked, problems, contract)
    product = _chosen_product(asked, problems, withdrawn, contract)
    if product:
        _check_pickup(asked, product, problems, now, contract)
        if product.is_duties_paid:
            _check_duties(asked, problems, contract)
    return product


def pickup_day(asked: Asked, product: Product, now: datetime) -> date | None:
    """Return a checked order's pickup date, by default the next business day.

    It is None for a drop-off.
    """
    if not product.is_pickup:
        return None
    if asked.pickup_date:
        return date.fromisoformat(asked.pickup_date)
    return add_business_days(_today(asked.sender, now), 1, asked.sender.country)


def messages_in(shape: str, problems: Problems, contract: Contract) -> Any:
    """Return the problems as ``messages``: a flat map, nested lists, one string, or a mixture."""
    if shape == "string":
        return "; ".join(
            f"{name} {text}" for name, texts in problems.messages.items() for text in texts
        )
    messages: dict[str, Any] = {}
    for name, texts in problems.messages.items():
        path = contract.get(name, name) if name != "partner_id" else contract["partner_field"]
        nested = shape == "nested" or (shape == "mixed" and _is_contact(name))
        if nested and "." in path:
            _nest(messages, path.split("."), texts)
        else:
            messages[name] = texts
    return messages


def _is_contact(name: str) -> bool:
    return name.partition("_")[2] in ("name", "company", "email", "phone")


def _nest(messages: dict[str, Any], steps: list[str], texts: list[str]) -> None:
    *outer, last = steps
    for step in outer:
        lists = messages.setdefault(step, [{}])
        messages = lists[0]
    messages[last] = texts


def _check_party(side: str, party: Party, problems: Problems, contract: Contract) -> None:
    for part in ("name", "line1"):
        if contract[f"{side}_{part}"] and not getattr(party, part):
            problems.add(f"{side}_{part}", "can't be blank")
    for part, limit in LONGEST.items():
        _check_length(f"{side}_{part}", getattr(party, part), limit, problems)
    if party.email and not EMAIL.match(party.email):
        problems.add(f"{side}_email", "must be a valid email address")
    if party.email.partition("@")[0].lower() in NOBODYS and side == "sender":
        problems.add("sender_email", "must be the sender's own address")
    for part in ("line1", "line2"):
        if _repeats(getattr(party, part), party):
            problems.add(f"{side}_{part}", "must not repeat the suburb, postcode, state or country")
    digits = re.sub(r"\D", "", party.phone)
    is_service_number = party.country == "AU" and re.match(r"^(61)?(1300|1800|13\d{4}$)", digits)
    if party.phone and (not PHONE.match(party.phone) or is_service_number):
        problems.add(
            f"{side}_phone",
            "must be a valid phone number; 13, 1300 and 1800 numbers are not allowed",
        )


def _repeats(line: str, party: Party) -> bool:
    """Return whether part of an address line repeats the place (section 2.1)."""
    place = {
        party.suburb,
        party.postcode,
        party.state,
        party.country,
        COUNTRIES.get(party.country, ""),
    }
    folded = {word.casefold() for word in place if word}
    return any(part.strip().casefold() in folded for part in re.split(r"[,;]", line)[1:])


def _check_length(key: str, text: str, limit: int, problems: Problems) -> None:
    if len(text) > limit:
        problems.add(key, f"is too long (maximum is {limit} characters)")


def _check_cover(asked: Asked, problems: Problems, contract: Contract) -> None:
    if asked.cover is None:
        return
    limit = Decimal(str(contract["cover_limit"]))
    if asked.sender.country not in contract["cover_origins"]:
        problems.add("cover_amount", "is available only for orders from Australia")
    elif asked.cover > limit:
        problems.add("cover_amount", f"must be less than or equal to {limit:f}")


def _check_lane(asked: Asked, problems: Problems, contract: Contract) -> None:
    sender, receiver = asked.sender.country, asked.receiver.country
    if not sender or not receiver:
        return
    if not asked.is_international:
        if sender not in POSTCODES:
            problems.add("sender_country", "is not served")
        for side in ("sender", "receiver"):
            if contract[f"{side}_state"] and not getattr(asked, side).state:
                problems.add(f"{side}_state", "can't be blank")
    elif sender not in contract["export_origins"]:
        problems.add("receiver_country", f"international orders are not available from {sender}")
    else:
        _check_export(asked, problems, contract)
    limit = max_weight(asked)
    if limit and asked.weight is not None and asked.weight > limit:
        problems.add("weight", f"must be less than or equal to {limit} kg")


def _check_export(asked: Asked, problems: Problems, contract: Contract) -> None:
    if contract["receiver_phone"] and asked.sender.country == "AU" and not asked.receiver.phone:
        problems.add("receiver_phone", "can't be blank")
    if contract["contents"] and not asked.items:
        problems.add("contents", "can't be blank")
    for item in asked.items:
        if not 3 <= len(item.description) <= 300:
            problems.add("item_description", "must have 3 to 300 characters")
        if not re.fullmatch(r"[A-Za-z]{2}", item.origin):
            problems.add("item_origin", "must be a two-letter country code")
        least, most = contract["hs_code_shortest"], contract["hs_code_longest"]
        if item.hs_code and not least <= len(re.sub(r"\D", "", item.hs_code)) <= most:
            problems.add("item_hs_code", f"must have {least} to {most} digits")


def _chosen_product(
    asked: Asked, problems: Problems, withdrawn: Collection[str], contract: Contract
) -> Product | None:
    offered = [
        product for product in products_for(asked, contract) if product.code not in withdrawn
    ]
    wanted = asked.product_code or (contract.code(offered[0].code) if offered else "")
    for product in offered:
        if contract.code(product.code) == wanted:
            return product
    if asked.sender.country and asked.receiver.country:
        problems.add("product_code", "is not available for this parcel")
    return None


def _check_pickup(
    asked: Asked, product: Product, problems: Problems, now: datetime, contract: Contract
) -> None:
    if not asked.pickup_date:
        return
    if not product.is_pickup:
        if contract["dropoff_suffix"]:  # otherwise a drop-off can't be recognised by its code
            problems.add("pickup_date", "must be blank for drop off products")
        return
    try:
        day = date.fromisoformat(asked.pickup_date)
    except ValueError:
        problems.add("pickup_date", "is not a date")
        return
    country = asked.sender.country
    if not is_business_day(day, country) or day < add_business_days(
        _today(asked.sender, now), 1, country
    ):
        problems.add(
            "pickup_date", "must be a business day and at least one business day in the future."
        )


def _check_duties(asked: Asked, problems: Problems, contract: Contract) -> None:
    if contract["contents_type"] and asked.contents_type not in contract["contents_types"]:
        problems.add("contents_type", "is not included in the list")
    if not has_full_codes(asked, contract):
        problems.add(
            "item_hs_code", f"must have {contract['hs_code_duties_paid']} digits for duties paid"
        )
    if any(item.value is None or item.value <= Decimal() for item in asked.items):
        problems.add("item_value", "must be greater than 0")


def _today(sender: Party, now: datetime) -> date:
    return now.astimezone(zone_of(sender.country, sender.state, sender.postcode)).date()
