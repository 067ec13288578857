"""Alert operators: health, conditions, alerts and metrics."""
