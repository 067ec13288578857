"""Speak to the carrier: HTTP, the contract file, and both sides' words. No Django."""
