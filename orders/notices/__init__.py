"""What senders are notified of."""
