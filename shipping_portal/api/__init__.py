"""The REST API, version 1: django-ninja over the entry points that the pages use."""
