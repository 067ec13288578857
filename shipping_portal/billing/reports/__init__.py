"""The carrier's billing reports: uploading, reading, checking and posting them."""
