"""A database restored from a backup: how it is recognised, and what it may no longer do by itself."""
