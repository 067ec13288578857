"""Talk to the carrier: HTTP, the contract file, and the vocabulary of both sides. No Django."""
