"""What people type, and how a test reads the page that comes back."""

import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

from django.http import HttpResponse
from django.test import Client

BY_SCRIPT = {"Accept": "application/json"}
AT_HOME: dict[str, Any] = {
    "receiver_name": "Priya Nair",
    "receiver_company": "",
    "receiver_country": "AU",
    "receiver_line1": "4 Sample Street",
    "receiver_line2": "",
    "receiver_suburb": "Brunswick",
    "receiver_state": "",
    "receiver_postcode": "3056",
    "receiver_email": "priya@example.net",
    "receiver_phone": "0491 570 156",
    "delivery_choice": "none",
    "delivery_place": "",
    "description": "Ceramic mugs",
    "weight_kg": "2.4",
    "length_cm": "32",
    "width_cm": "24",
    "height_cm": "11",
    "customer_reference": "",
    "cover_amount": "",
}
ABROAD = {
    **AT_HOME,
    "receiver_country": "US",
    "receiver_line1": "500 SW Placeholder Ave",
    "receiver_suburb": "Portland",
    "receiver_state": "OR",
    "receiver_postcode": "97205",
    "receiver_phone": "+1 503 555 0142",
    "contents_type": "Merchandise",
    "item_1_description": "Cotton t-shirt",
    "item_1_value": "28.00",
    "item_1_quantity": "2",
    "item_1_origin": "bd",
    "item_1_hs_code": "6109.10.0012",
}
FROM_OHIO = {
    "receiver_name": "Avery Lund",
    "receiver_country": "US",
    "receiver_line1": "500 SW Placeholder Ave",
    "receiver_suburb": "Portland",
    "receiver_state": "OR",
    "receiver_postcode": "97205-1234",
    "receiver_email": "avery@example.org",
    "description": "Bolts",
    "weight_lb": "3.5",
    "length_in": "10",
    "width_in": "6",
    "height_in": "4",
}


def text(answer: HttpResponse) -> str:
    """Return the page's text on one line, without its tags."""
    body = re.sub(r"(?s)<(script|style).*?</\1>", " ", answer.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def title(answer: HttpResponse) -> str:
    found = re.search(r"<title>(.*?)</title>", answer.content.decode(), re.DOTALL)
    return unescape(" ".join(found.group(1).split())) if found else ""


def messages_at(answer: HttpResponse, name: str) -> list[str]:
    """Return the messages shown at one control."""
    found = re.search(
        rf'<ul class="errorlist[^"]*" id="id_{name}_error">(.*?)</ul>', answer.content.decode(), re.DOTALL
    )
    return [unescape(words) for words in re.findall(r"<li>(.*?)</li>", found.group(1))] if found else []


def value_of(answer: HttpResponse, name: str) -> str:
    found = re.search(rf'<input[^>]*name="{name}"[^>]*>', answer.content.decode())
    value = re.search(r'value="([^"]*)"', found.group(0)) if found else None
    return unescape(value.group(1)) if value else ""


def beside(page: Client, values: dict[str, Any], address: str = "/parcels/new/") -> HttpResponse:
    """Return the prices column beside the form, as the page's script gets it."""
    return HttpResponse(page.post(address, values, headers=BY_SCRIPT).json()["html"])


def dead_links(client: Client, answer: Any) -> list[str]:
    """Return the page's relative links, and its searches without an address, that lead nowhere from where it is."""
    page = answer.content.decode()
    links = re.findall(r'<a\b[^>]*\bhref="([?.][^"]*)"', page)
    links += ["" for form in re.findall(r"<form\b[^>]*>", page) if 'method="get"' in form and "action=" not in form]
    addresses = {urljoin(answer.request["PATH_INFO"], unescape(link)) for link in links}
    return sorted(address for address in addresses if client.get(address).status_code >= 400)
