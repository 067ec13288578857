"""The people of an account: members, invitations, leaving and closing."""
