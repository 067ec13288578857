"""Webhooks: received, stored, their health, and replaying them."""
