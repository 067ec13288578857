"""Somebody parcels go to, by the rules of the new-parcel form, and the group they are kept in."""

from typing import Any

from orders.receiver_form import ReceiverForm, as_typed, line
from shipping_portal.accounts import receivers
from shipping_portal.accounts.models import PickupAddress, Receiver, Sender


class AddressForm(ReceiverForm):
    """A receiver kept by hand. Where the sender has no pickup address yet, their country's rules hold."""

    def __init__(self, *args: Any, sender: Sender, receiver: Receiver | None = None, **options: Any) -> None:
        self.known = receiver or Receiver(sender=sender)
        if receiver:
            options["initial"] = as_typed(receiver.party()) | {"group": receiver.group}
        start = sender.pickup_address() or PickupAddress(sender=sender, country=sender.country)
        super().__init__(*args, sender=sender, address=start, **options)
        self.fields["group"] = line(
            "Group", longest=40, help_text="One word or two to find them by, such as “Markets”."
        )

    def save(self) -> bool:
        """Keep the receiver; False, with the reason, where the same one is there already."""
        try:
            receivers.store(
                self.known,
                self.receiver(),
                group=self.cleaned_data["group"],
                is_saved=True,
                is_off_list=False,
            )
        except receivers.AlreadyThere as error:
            self.add_error("receiver_name", str(error))
        return not self.errors
