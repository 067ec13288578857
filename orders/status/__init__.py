"""Where an order is: transitions, progress computed from scans, status labels and references."""
