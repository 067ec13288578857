"""What the operators' site is made of: pages that only read, actions that ask why, filters, queues, permissions."""
