"""Define the form of a price check: a place at home or abroad, a size, and customs details."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.calling.contract import contracts_for_new_orders, current_contract
from orders.drafting.contents_form import PARTS
from orders.drafting.forms import ParcelForm, typed_measures
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import line
from shipping_portal.accounts.address import places
from shipping_portal.accounts.address.countries import STATES, WITHOUT_POSTCODES
from shipping_portal.accounts.formatting import local_word
from shipping_portal.accounts.models import Locality
from shipping_portal.carrier.messages import Measures, Party

CONTENTS = [f"item_1_{part}" for part in PARTS]


class PriceCheckForm(ParcelForm):
    """The parcel form's country, sizes and measures, with one field for the place.

    One row of contents is for prices with duties paid, where a carrier has such.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        kept = ["receiver_country", "place", "size", *self.measure_names]
        if any(contract.duties_paid_word for contract in contracts_for_new_orders()):
            kept += CONTENTS
        country = self._country
        place = line(
            f"{local_word('Suburb', country)} or {local_word('postcode', country)}",
            needed="Enter where it goes.",
        )
        place.widget.attrs |= {"autofocus": True, "autocomplete": "off"}
        self.fields["place"] = place
        # Without a choice it is the home country.
        self.fields["receiver_country"].required = False
        self.fields = {name: self.fields[name] for name in kept if name in self.fields}

    @property
    def contents(self) -> list[forms.BoundField]:
        return [self[name] for name in CONTENTS if name in self.fields]

    @property
    def lacks_contents(self) -> bool:
        """Return whether nothing is typed about what's inside."""
        return not any(self[f"item_1_{part}"].value() for part in ("description", "value"))

    def clean(self) -> dict[str, Any]:
        cleaned, typed = self.cleaned_data, self.cleaned_data.get("place", "")
        cleaned["items"] = ()
        if "receiver_country" in self.errors:
            return cleaned
        cleaned["found"] = self._find(typed) if typed else None
        if self.is_abroad and self.contents and self._is_filled(1):
            cleaned["items"] = tuple(filter(None, [self._item(1, cleaned)]))
        return cleaned

    def _find(self, typed: str) -> Locality | None:
        """Return the place on the carrier's list, or as typed for a country without a list."""
        country = self._country
        if country not in STATES and not places.active_places(country).exists():
            return self._unlisted(typed)
        found = places.suggest_places(country, typed, limit=1)
        if not found:
            other, few = local_word("postcode", country), places.demo_places_note(country)
            text = (
                f"“{typed}” isn't on the carrier's list. Check the spelling, or try the"
                f" {other}.{few}"
            )
            self.add_error("place", ValidationError(text, code="place"))
        return found[0] if found else None

    def _unlisted(self, typed: str) -> Locality | None:
        """Read a city and its postcode, in either order. A postcode may be of two words."""
        words, country = typed.split(), self._country
        code = [at for at, word in enumerate(words) if any(c.isdigit() for c in word)]
        first, last = (code[0], code[-1] + 1) if code else (len(words), len(words))
        suburb, postcode = (
            " ".join(words[:first] + words[last:]),
            " ".join(words[first:last]).upper(),
        )
        if suburb and (postcode or country in WITHOUT_POSTCODES):
            return Locality(suburb=suburb, postcode=postcode)
        both = f"{local_word('suburb', country)} and the {local_word('postcode', country)}"
        self.add_error("place", f"Enter both the {both}: there is no list of places to look in.")
        return None

    def details(self) -> ParcelDetails:
        """Return the parcel to quote. It has no receiver, as its price can't be booked."""
        cleaned, place = self.cleaned_data, self.cleaned_data["found"]
        length, width, height = (cleaned[name] for name in self.size_names)
        blank = dict.fromkeys(("name", "company", "email", "phone", "line1", "line2"), "")
        where = {"suburb": place.suburb, "state": place.state, "postcode": place.postcode}
        return ParcelDetails(
            pickup=self.address.party(),
            receiver=Party(**blank, **where, country=self._country, instructions=""),
            measures=Measures(
                cleaned[self.weight_name], self.weight_unit, length, width, height, self.size_unit
            ),
            description="",
            contents=cleaned["items"],
            contents_type=current_contract().contents_types[0] if cleaned["items"] else "",
            size=self._size_entered(),
        )


def shown(details: ParcelDetails) -> dict[str, Any]:
    """Return the form's values for the request; a saved size replaces its measures."""
    where = {
        "receiver_country": details.receiver.country,
        "place": f"{details.receiver.suburb.title()} {details.receiver.postcode}".strip(),
        "size": details.size,
    }
    where |= {
        name: getattr(item, part)
        for item in details.contents
        for name, part in zip(CONTENTS, PARTS, strict=True)
    }
    return where if details.size else where | typed_measures(details.measures)
