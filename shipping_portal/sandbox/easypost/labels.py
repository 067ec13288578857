"""Draw a label: 4 by 6 inches, the same bytes each time."""

import base64

from shipping_portal.sandbox import code128
from shipping_portal.sandbox.easypost.shipments import Shipment
from shipping_portal.sandbox.pdf import Page
from shipping_portal.sandbox.wire import Reply

WIDTH, HEIGHT, MARGIN, MODULE = 288.0, 432.0, 16.0, 1.1
# One white pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAGyjN3wAAAABJRU5ErkJggg=="
)


def label_reply(shipment: Shipment, ending: str) -> Reply:
    """Return the label's file. Anybody with its address may read it."""
    if ending == "pdf":
        return Reply(200, _draw(shipment), "application/pdf")
    if ending == "png":
        return Reply(200, PNG, "image/png")
    return Reply(200, f"^XA^FO40,40^FD{shipment.tracking_code}^FS^XZ\n".encode(), "text/plain")


def _draw(shipment: Shipment) -> bytes:
    page, code = Page(WIDTH, HEIGHT), shipment.tracking_code or ""
    rate = shipment.rate or {}
    page.text(MARGIN, HEIGHT - 30, 14, f"{rate.get('carrier')} {rate.get('service')}", bold=True)
    if shipment.mode == "test":
        page.text(MARGIN, HEIGHT - 48, 12, "SAMPLE - DO NOT MAIL", bold=True)
    y = HEIGHT - 74
    for title, side in (("From", "from_address"), ("To", "to_address")):
        address = shipment.body.get(side) or {}
        town = " ".join(
            str(address.get(name) or "") for name in ("city", "state", "zip", "country")
        )
        page.text(MARGIN, y, 7, title)
        for line in filter(
            None, [address.get("name"), address.get("street1"), address.get("street2"), town]
        ):
            y -= 13
            page.text(MARGIN, y, 10, str(line)[:44])
        y -= 22
    pattern = code128.modules(code)
    for place, bar in enumerate(pattern):
        if bar == "1":
            page.bar(MARGIN + place * MODULE, 60, MODULE, 60)
    page.text(MARGIN, 40, 12, code, bold=True)
    return page.file(f"Label {code}")
