"""A sandbox EasyPost: its documented rules, implemented again. No carrier is behind it."""
