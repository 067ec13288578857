"""Logging in: sign-up, passwords, second factor, sessions and security events."""
