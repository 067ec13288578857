"""Export a sender's ZIP files, packed in the background and stored for a week."""
