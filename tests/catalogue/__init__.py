"""The catalogue of bad input that people, scripts and carriers send, row by row (rows.py)."""
