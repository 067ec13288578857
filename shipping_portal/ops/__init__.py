"""Running the portal: checks, logs, metrics and start-up."""
