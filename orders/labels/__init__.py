"""Label files: fetching and storing them byte for byte, and printing."""
