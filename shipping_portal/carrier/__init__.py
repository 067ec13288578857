"""Talk to the carrier: HTTP, the contract file, and both sides' vocabulary. No Django."""
