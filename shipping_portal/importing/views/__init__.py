"""The pages of an import, from the upload to the rows that weren't booked."""
