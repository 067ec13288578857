"""A box with a name: the new-parcel form's measures, to be chosen instead of typed."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from orders import sizes
from orders.form_fields import measure_fields
from orders.forms import SIZES, UNITS
from orders.receiver_form import line
from shipping_portal.accounts.addresses import OnceOnly
from shipping_portal.accounts.models import ParcelSize, Sender
from shipping_portal.accounts.templatetags.words import plain


class SizeForm(OnceOnly):
    name = line("Name", longest=60, needed="Name the size, such as “Mug box”.")
    description = line("What's usually inside", help_text="Filled in for you; you can change it each time.")

    def __init__(self, *args: Any, sender: Sender, size: ParcelSize | None = None, **options: Any) -> None:
        self.sender, self.size = sender, size or ParcelSize(sender=sender)
        options["initial"] = _typed(self.size) if size else {}
        super().__init__(*args, **options)
        of_country = UNITS[sender.country]
        self.units = (self.size.weight_units or of_country[0], self.size.dimension_units or of_country[1])
        controls = measure_fields(*self.units)
        self.measures = dict(zip(("weight", *SIZES), controls, strict=True))
        self.fields |= {name: controls[control] for name, control in self.measures.items()}
        self.order_fields(["name", *self.measures])

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.sender.sizes.exclude(pk=self.size.pk).filter(name__iexact=name).exists():
            raise ValidationError(f"There is a size named “{name}” already.", code="name")
        return name

    def save(self) -> bool:
        """Keep the size as entered; False, with the reason at its control, if it cannot be."""
        for name in ("name", "description", *self.measures):
            setattr(self.size, name, self.cleaned_data[name])
        self.size.weight_units, self.size.dimension_units = self.units
        try:
            with transaction.atomic():
                self.size.save() if self.size.pk else sizes.add(self.sender, self.size)
        except IntegrityError:  # somebody saved the name between the check and now
            self.add_error("name", f"There is a size named “{self.size.name}” already.")
        except sizes.TooMany as error:
            self.add_error(None, str(error))
        return not self.errors


def _typed(size: ParcelSize) -> dict[str, Any]:
    measures = {name: plain(getattr(size, name)) for name in ("weight", *SIZES)}
    return {"name": size.name, "description": size.description, **measures}
