"""Disputed charges, with photos as evidence."""
