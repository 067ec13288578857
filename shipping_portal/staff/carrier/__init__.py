"""The operator's view of a carrier account: probe, pause, test event."""
