"""Book a parcel: accept the press, decide, send, record the outcome, and count the limits."""
