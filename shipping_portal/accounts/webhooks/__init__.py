"""Send webhooks as Standard Webhooks describes."""
