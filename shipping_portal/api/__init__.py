"""REST API version 1: django-ninja operations over the entry points that the pages use."""
