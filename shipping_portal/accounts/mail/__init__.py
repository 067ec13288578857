"""Notifications and the emails that carry them."""
