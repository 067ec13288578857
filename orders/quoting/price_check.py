"""Define the form of a price check: a place within the country, and a size."""

from typing import Any

from django.core.exceptions import ValidationError

from orders.drafting.forms import SIZES, ParcelForm
from orders.drafting.parcel_details import ParcelDetails
from orders.drafting.receiver_form import line
from shipping_portal.accounts.address import places
from shipping_portal.accounts.formatting import plain, say
from shipping_portal.carrier.messages import Measures, Party


class PriceCheckForm(ParcelForm):
    """The parcel form's sizes and measures, with one field for the place, by name or postcode."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        kept = ("size", self.weight_name, *self.size_names)
        country = self.address.country
        place = line(
            f"{say('Suburb', country)} or {say('postcode', country)}", needed="Enter where it goes."
        )
        place.widget.attrs |= {"autofocus": True, "autocomplete": "off"}
        self.fields = {
            "place": place,
            **{name: self.fields[name] for name in kept if name in self.fields},
        }

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data.get("place", "")
        found = places.suggest_places(self.address.country, typed, limit=1) if typed else []
        if typed and not found:
            other = say("postcode", self.address.country)
            few = places.demo_places_note(self.address.country)
            text = (
                f"“{typed}” isn't on the carrier's list. Check the spelling, or try the"
                f" {other}.{few}"
            )
            self.add_error("place", ValidationError(text, code="place"))
        self.cleaned_data["found"] = found[0] if found else None
        return self.cleaned_data

    def details(self) -> ParcelDetails:
        """Return the parcel to quote, without a receiver: no booking uses its price."""
        cleaned, place = self.cleaned_data, self.cleaned_data["found"]
        length, width, height = (cleaned[name] for name in self.size_names)
        blank = dict.fromkeys(("name", "company", "email", "phone", "line1", "line2"), "")
        where = {"suburb": place.suburb, "state": place.state, "postcode": place.postcode}
        return ParcelDetails(
            pickup=self.address.party(),
            receiver=Party(**blank, **where, country=self.address.country, instructions=""),
            measures=Measures(
                cleaned[self.weight_name], self.weight_unit, length, width, height, self.size_unit
            ),
            description="",
            size=self._size_entered(),
        )


def shown(details: ParcelDetails) -> dict[str, Any]:
    """Return the form's values for the request; a saved size replaces its measures."""
    where = {
        "place": f"{details.receiver.suburb.title()} {details.receiver.postcode}",
        "size": details.size,
    }
    measures = details.measures
    sides = {f"{side}_{measures.dimension_units}": plain(getattr(measures, side)) for side in SIZES}
    return (
        where
        if details.size
        else {**where, **sides, f"weight_{measures.weight_units}": plain(measures.weight)}
    )
