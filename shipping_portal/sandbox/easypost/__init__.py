"""A sandbox EasyPost: its documented rules, implemented independently, without a real carrier."""
