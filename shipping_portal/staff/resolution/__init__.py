"""Resolve unclear bookings: the evidence, and an operator's decisions."""
