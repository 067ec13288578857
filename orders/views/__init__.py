"""Senders' pages: new parcel, prices, parcel, cancelling, labels, list, addresses and sizes."""
