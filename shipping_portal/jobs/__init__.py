"""Background jobs: rows that store what to do and when, and the code that does the work."""
