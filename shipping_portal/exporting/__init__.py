"""Exports: a sender's ZIP files, packed in the background and kept in the database for a week."""
