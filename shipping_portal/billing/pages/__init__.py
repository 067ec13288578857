"""What senders see of billing: statements, lines and their reasons, size warnings."""
