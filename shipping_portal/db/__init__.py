"""The database: roles, planned statements and pages by key."""
