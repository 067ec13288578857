"""Show an import's pages, from the upload to the rows that weren't booked."""
