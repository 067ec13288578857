"""Calls to the carrier: the accounts and their contracts, the entry point to each call, rates
and waiting.
"""
