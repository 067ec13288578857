"""Handle restores: hold work that may have been sent already, and release it."""
