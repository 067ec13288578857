"""Import a file: read it, match its columns, check each row, book each row."""
