"""Webhooks out, as Standard Webhooks describes them."""
