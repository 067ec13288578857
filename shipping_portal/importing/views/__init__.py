"""The pages of an import, from the file that is uploaded to the rows that were not booked."""
