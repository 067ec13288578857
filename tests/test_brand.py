"""The partner's brand: its name, colours and logo come from settings, and words on a button stay readable."""

from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from shipping_portal import brand

DOT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><circle r="1"/></svg>'
pytestmark = pytest.mark.django_db


def test_a_page_has_the_partners_name_and_one_stylesheet(settings: Any) -> None:
    settings.BRAND_NAME = "Saltbush & Post"
    body = render_to_string("base.html")
    assert "Saltbush &amp; Post" in body
    assert body.count('rel="stylesheet"') == 1


def test_the_two_colours_are_a_stylesheet_with_a_url_that_changes_with_them(settings: Any) -> None:
    settings.BRAND_COLOUR, settings.BRAND_INK = "#6b2d5c", "#ffffff"
    before = brand.asset_address("brand_style")
    answer = Client().get(before)
    assert answer.content.startswith(b"@layer")
    assert answer.content.endswith(b":root{--brand:#6b2d5c;--brand-ink:#ffffff}")
    assert Client().get(brand.asset_address("brand_colours")).content == b":root{--brand:#6b2d5c;--brand-ink:#ffffff}"
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in answer["Cache-Control"]
    settings.BRAND_COLOUR = "#0b5563"
    assert brand.asset_address("brand_style") != before


def test_the_logo_is_the_partners_file(settings: Any, tmp_path: Path) -> None:
    assert Client().get("/brand/logo").status_code == 404
    path = tmp_path / "logo.svg"
    path.write_text(DOT)
    settings.BRAND_LOGO = str(path)
    answer = Client().get(brand.asset_address("brand_logo"))
    assert (answer.content.decode(), answer["Content-Type"]) == (DOT, "image/svg+xml")


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({}, []),
        ({"BRAND_COLOUR": "#0b5563"}, []),
        ({"BRAND_COLOUR": "#ffcc00"}, ["portal.E064"]),  # white on yellow
        ({"BRAND_COLOUR": "#ffcc00", "BRAND_INK": "#000000"}, []),
        ({"BRAND_COLOUR": "teal"}, ["portal.E063"]),
        ({"BRAND_COLOUR": "#0b5563;}body{display:none"}, ["portal.E063"]),
        ({"BRAND_LOGO": "/nowhere/logo.svg"}, ["portal.E065"]),
        ({"BRAND_LOGO": __file__}, ["portal.E065"]),
    ],
)
def test_unreadable_colours_are_refused(given: dict[str, str], faults: list[str], settings: Any) -> None:
    for name, value in {"BRAND_COLOUR": "", "BRAND_INK": "#ffffff", "BRAND_LOGO": "", **given}.items():
        setattr(settings, name, value)
    assert [fault.id for fault in brand.check_brand()] == faults
