"""Buttons of the import pages."""

import re

from django.test import Client
from django.urls import reverse

from shipping_portal.importing.models import Import
from tests.importing.test_orders import BOX
from tests.orders.test_importing import work_off


def press_check(client: Client, file: Import) -> None:
    """Press “Check all rows” with the page's own choices and one box for every row."""
    url = reverse("match_columns", args=[file.uuid])
    page = client.get(url).content.decode()
    chosen = dict(re.findall(r'<select name="(\w+)"(?:(?!</select>).)*?value="([^"]+)" selected', page, re.DOTALL))
    client.post(url, chosen | {f"all_{name}": value for name, value in BOX.items()})
    work_off(file)
