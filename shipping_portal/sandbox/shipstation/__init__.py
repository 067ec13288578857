"""A sandbox ShipStation API: its documented rules, implemented independently, without a carrier."""
