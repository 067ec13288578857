"""Background jobs: rows that store what to do and when, and the one machine that does it."""
