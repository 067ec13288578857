"""Charges: which lines belong to which parcel, and which count."""
