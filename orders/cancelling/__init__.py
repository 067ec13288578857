"""Cancelling a parcel, and replacing it with a corrected one."""
