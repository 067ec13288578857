"""The sender's pages, one module per journey: new_parcel, parcel, cancel, labels, parcels."""
