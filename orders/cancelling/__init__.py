"""Cancelling a parcel, and replacing it by a corrected one."""
