"""Make the pictures of docs/tour.md from a demo that was just started: `./dev screenshots --tour`.

Beside them `pictures.json` keeps, of each, a hash of the page's words (without figures and names of days) and of the
stylesheets. With --check nothing is drawn: it only names what has changed since.
"""

import hashlib
import io
import json
import re
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tour"
STYLES = [ROOT / "static" / "look.css", ROOT / "static" / "portal.css"]
CHANGING = re.compile(
    r"[\d$.,:#]+|\b(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?\b|\b[ap]m\b"
    r"|\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*",
    re.IGNORECASE,
)
PICTURES = {
    "today": "/today/", "new-parcel": "/parcels/new/", "parcels": "/parcels/?q=Priya&open=1", "parcel": "",
    "import": "/imports/new/", "print": "/parcels/print/", "statements": "/billing/", "reports": "/reports/",
}  # fmt: skip


def main(url: str, browser_path: str, *, is_check: bool) -> None:
    hashes: dict[str, str] = {}
    style = "".join(file.read_text() for file in STYLES)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=0.75)
        _log_in(page, url)
        for name, address in PICTURES.items():
            _open(page, url, address)
            page.evaluate("document.querySelector('.demo')?.remove()")
            words = " ".join(CHANGING.sub("", page.inner_text("main")).split())
            hashes[name] = hashlib.sha256(f"{words}{style}".encode()).hexdigest()[:16]
            if not is_check:
                drawn = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                drawn.quantize(32, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
    kept = FOLDER / "pictures.json"
    if not is_check:
        kept.write_text(json.dumps(hashes, indent=2) + "\n")
        return
    changed = [name for name, found in json.loads(kept.read_text()).items() if found != hashes.get(name)]
    if changed:
        warning = f"WARNING: docs/tour shows older pages than these: {', '.join(changed)}. ./dev screenshots --tour\n"
        sys.stdout.write(warning)


def _log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/accounts/login/")
    page.fill("[name=login]", "mia@demo.example")
    page.fill("[name=password]", "demo-sender-parcel")
    page.press("[name=password]", "Enter")
    page.wait_for_url("**/today/")


def _open(page: Page, url: str, address: str) -> None:
    """Open a page; without an address, the first delivered parcel of the list."""
    page.goto(url + (address or "/parcels/?status=delivered"))
    if not address:
        page.locator("table.list tbody a").first.click()
        page.wait_for_load_state()
    if page.locator("iframe").count():
        page.wait_for_timeout(1500)  # until the label is drawn


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], is_check="--check" in sys.argv)
