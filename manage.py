#!/usr/bin/env python
"""Run Django's own commands.

In a clone, ./dev manage also prepares the virtual environment and the demo.
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shipping_portal.settings")
    execute_from_command_line(sys.argv)
