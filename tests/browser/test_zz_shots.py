
import sys, json, os
from pathlib import Path
import pytest
from tests.browser.conftest import *
from tests.browser.test_every_page import gallery
from tests.browser.conftest import violations, has_sideways_scroll
OUT="/tmp/shots"; os.makedirs(OUT, exist_ok=True)
@pytest.mark.parametrize(("width","theme"),[(360,"light"),(1280,"light"),(360,"dark"),(1280,"dark")])
def test_shots(gallery, open_browser, stack, width, theme):
    page = open_browser(width=width, theme=theme)
    page.context.add_cookies([{"name":"session","value":gallery["typical"]["cookie"],"url":stack.url}])
    faults=[]
    for name, address in gallery["typical"]["pages"].items():
        if "import" not in name and name != "match_columns unmatched" and name!="match_columns": continue
        page.goto(address)
        page.screenshot(path=f"{OUT}/{name.replace(' ','-')}-{width}-{theme}.png", full_page=True)
        faults += [f"{name}: {f}" for f in violations(page)]
        if has_sideways_scroll(page): faults.append(name+" sideways")
    print("FAULTS", faults)
    assert faults == []
