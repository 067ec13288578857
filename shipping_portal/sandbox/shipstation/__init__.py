"""A sandbox of the ShipStation API: its documented rules, implemented again, with no carrier."""
