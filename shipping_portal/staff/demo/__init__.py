"""The demo's history and pages."""
