"""A sandbox of the ShipStation API: its documented rules, written anew. No carrier is behind it."""
