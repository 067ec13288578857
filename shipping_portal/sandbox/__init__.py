"""The sandbox carrier: its own process that books, labels, scans and bills parcels over real HTTP.

It is an independent party, not a mock: it imports nothing from the rest of the project and has its
own reading of the interface, so agreement between it and the portal's client means something.
"""
