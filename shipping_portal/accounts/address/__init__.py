"""Addresses: countries, localities, phones, time zones, pickup addresses and the address book."""
