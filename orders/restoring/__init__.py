"""A database that was restored from a backup: how it is recognised, and what it may not do by itself any more."""
