"""The pages of senders: new parcel, prices, the parcel, cancelling, labels, the list, addresses and sizes."""
