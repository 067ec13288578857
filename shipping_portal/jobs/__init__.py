"""Owed work: rows that say what is still to be done and when, and the one machine that sees that it is done."""
