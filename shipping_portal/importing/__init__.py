"""Importing: reading a file → matching its columns → checking each row → booking each row."""
