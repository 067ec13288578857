#!/usr/bin/env python
"""Django's own commands; in a clone use ./dev manage, which sees to the virtual environment and the demo's settings."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
    execute_from_command_line(sys.argv)
