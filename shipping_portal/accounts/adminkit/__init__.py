"""Build the operators' site.

Read-only pages, actions with reasons, filters, queues, permissions.
"""
