"""A sandbox EasyPost: its documented rules, written anew. No real carrier is behind it."""
