"""The carrier, spoken to in one place: HTTP, the contract file, and the words of both sides. No Django."""
