"""Requests and responses: middleware, error pages, probes."""
