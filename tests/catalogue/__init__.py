"""The bad-input catalogue: what people, scripts and carriers send that they should not, row by row (rows.py)."""
