"""Prices: asking the carrier, the offers of a quote, choosing one, and waiting for prices."""
