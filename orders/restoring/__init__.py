"""Recognise a database restored from a backup, and hold what it may no longer do alone."""
