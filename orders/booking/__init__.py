"""Booking a parcel: accepting the press, deciding, sending, recording the outcome, and limits."""
