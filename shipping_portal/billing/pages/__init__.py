"""What senders see of bills: statements, lines and their reasons, size warnings."""
