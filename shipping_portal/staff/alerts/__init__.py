"""What wakes an operator: health, conditions, alerts and metrics."""
