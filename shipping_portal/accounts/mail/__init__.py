"""Notifications and the mails that carry them."""
