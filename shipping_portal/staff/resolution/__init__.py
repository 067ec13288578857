"""Resolution: what is known of an unclear booking, and the decisions an operator takes on it."""
