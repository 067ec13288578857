"""After a restore: holding back what may have been sent, and releasing it."""
