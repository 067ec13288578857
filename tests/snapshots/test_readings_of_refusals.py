"""How refusals and texts with secret links are read, and what is written for the carrier."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import Any

from shipping_portal.carrier import headers, outcomes, scrubbing, writing
from shipping_portal.carrier.contract import Contract
from shipping_portal.carrier.messages import Item, Measures, Party, Shipment
from tests.snapshots.carriers import OTHER, PLAIN
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

FLAT = (
    "pickup_date", "dimensions", "receiver_suburb", "sender.contact.phone", "receiver[address][state_name]",
    "Receiver Address Postcode",
    "receiver", "receiver.address", "sender", "weight", "weight.value", "weight_value", "weight_units",
    "dimensions.length", "length_value",
    "product_code", "parcel_contents", "parcel_contents.0.hs_code", "parcel_contents.1.value",
    "parcel_contents_description", "item_value",
    "item_3_origin", "contents_type", "cover", "cover.total_cover", "cover.total_cover.amount", "total_cover",
    "base", "errors", "order_id",
    "whatever", "what.ever", "", "messages.weight", "errors.sender.address.suburb", "customer_reference",
    "metadata.partner_id",
    "receiver_address_line1", "sender.address.address_line2", "description", "receiver.description", "packaging_type",
)  # fmt: skip
SHAPES: tuple[Any, ...] = (
    {}, "No.", 5, None, [], [{"weight": "x"}], {"error": "e", "error_description": "d"}, {"error": "e",
    "messages": []}, {"error_description": "d"},
    {"error": "e", "error_description": "d", "messages": {"weight": ["a", "b"]}}, {"messages": "Too late."},
    {"messages": {"": ["a", "b"], "base": "c"}},
    {"error": "x" * 101, "messages": None}, {"messages": [{"weight": "a"}, {"weight": "b"}]},
    {"messages": [{"weight": "only"}]},
    {"messages": [{"field": "weight", "message": "m"}, {"path": "sender.contact.email", "detail": "n"},
    {"param": "x", "msg": "o"}]},
    {"messages": {"parcel_contents": [{"value": "a"}, {"value": ["b"]}, {}]}},
    {"messages": {"parcel_contents": [{"value": "a"}]}},
    {"messages": {"sender": [{"contact": [{"phone": ["is bad"]}]}]}}, {"messages": {"weight": {"value": 5,
    "other": "told"}}},
    {"messages": ["a"] * 51}, {"messages": {"weight": ["", " ", "\u202ex", "w" * 501]}},
    {"messages": "See https://a.example/?sig=1 there"},
    {"weight": "too heavy", "detail": "no"}, {"field": "weight", "message": "m"}, {"field": "weight"},
    {"errors": {"weight": ["m"]}},
    {"messages": {"k" * 61: "long name"}}, {"messages": [{"field": "k" * 61, "message": "m"}]},
    {"messages": {"field": "height", "message": ""}},
    {"messages": {"weight": [[["deep"]]]}},
)  # fmt: skip


def test_a_refusal_is_read_into_our_fields_as_expected() -> None:
    mine = Contract(
        error_code="code",
        error_text="why",
        error_messages="faults.list",
        length="length",
        width="width",
        height="height",
        cover_amount="",
        cover_origins=(),
    )
    compare(
        "reads-refusals",
        [
            *lines(lambda name: outcomes.read_refusal({"messages": {name: "is bad"}}, PLAIN).messages, FLAT, "field"),
            *lines(lambda name: outcomes.read_refusal({"messages": {name: "is bad"}}, OTHER).messages, FLAT[:24],
            "field of another carrier"),
            *lines(lambda body: tuple(outcomes.read_refusal(body, PLAIN)), [(one,) for one in SHAPES], "read_refusal"),
            *lines(
                lambda body: tuple(outcomes.read_refusal(body, mine)),
                [{"code": "c", "why": "w"}, {"faults": {"list": {"length": "l", "cover": "c", "dimensions": "d"}}},
                {"error": "e", "messages": "m"}],
                "with its own names",
            ),
        ],
    )  # fmt: skip


TEXTS = (
    "https://a.example/?token=1", "https://a.example/x?SIG=1&b", "http://a.example/?signature=x here",
    "https://a.example/plain", "tokens=1",
    "https:\\/\\/a.example\\/?token=1", "<https://a.example/?a=1&token=2>", "eyJhb.cd.ef", "eyJhb.cd",
    "x eyJ-_.a.b y", "no link", "token=1",
    "ftp://a.example/?token=1", "https://a.example/?key=1", "key=1", "//a.example/?key=1",
)  # fmt: skip
BODIES = (
    b"x https://a.example/ y", b"x" * 65537, b'"' + b"x" * 65537 + b'"',
    b'{"url": "https://a.example", "href": "h", "authorised_tracking_url": "t", "a": 1}',
    b'{"url": "", "authorised_tracking_url": null}',
    b'{"labels": [{"url": "u"}], "t": "https://a.example/?token=1 x"}', b'{"a": "b ftp://x?token=1"}',
    b"\xff https:\\/\\/a.example eyJhb.c.d", '{"é": "\\u2028"}'.encode(), b"[1.0, true]",
)  # fmt: skip


def test_secret_links_are_cut_as_expected() -> None:
    keyed = Contract(link_token_query="key", link_field="", label_url="href")
    compare(
        "reads-scrubbed",
        [
            *lines(lambda text: (scrubbing.has_signed_link(text, PLAIN), scrubbing.has_signed_link(text, keyed)), TEXTS, "signed"),
            *lines(lambda text: (scrubbing.without_links(text, PLAIN), scrubbing.without_links(text, keyed)), TEXTS,
            "without_links"),
            *lines(lambda text: (scrubbing.scrub_value([text], PLAIN), scrubbing.scrub_value({"b": text}, keyed)), TEXTS,
            "scrubbed"),
            *lines(lambda body: (scrubbing.scrub_body(body, PLAIN), scrubbing.scrub_body(body, keyed)), BODIES, "scrub"),
        ],
    )  # fmt: skip


MEASURES = Measures(Decimal("2.50"), "kg", Decimal(30), Decimal("20.05"), Decimal(10), "cm")
HOME = Party(name="Quill", company="Q & Co", email="q@q.example", phone="03 9000 0000", line1="1 A St", line2="",
suburb="Carlton", state="VIC", postcode="3053", country="AU", instructions="Ring")  # fmt: skip
THERE = Party(name="Ana", line1="2 B St", line2="Unit 3", suburb="Hobart", state="TAS", postcode="7000", country="AU")
PARCEL = Shipment(HOME, THERE, MEASURES, description="Books", product_code="EXP-PICKUP", pickup_date=dt.date(2026,
11, 24), customer_reference="R 1", order_key="k")  # fmt: skip
ITEMS = (Item("Book", Decimal("9.50"), 2, "AU", "490110"), Item("Pen", Decimal(3)))
US = replace(MEASURES, weight=Decimal("5.5"), weight_units="lb", dimension_units="in")
SHIPMENTS = {
    "at home": PARCEL, "dropped off": replace(PARCEL, product_code="exp-dropoff"), "no day": replace(PARCEL,
    pickup_date=None),
    "with cover": replace(PARCEL, cover=Decimal("150.00")), "cover of cents": replace(PARCEL,
    cover=Decimal("150.55")), "no cover": replace(PARCEL, cover=Decimal(0)),
    "abroad": replace(PARCEL, receiver=replace(THERE, country="NZ")), "with contents": replace(PARCEL,
    contents=ITEMS, contents_type="Gift"),
    "in pounds": replace(PARCEL, measures=US), "in ounces": replace(PARCEL, measures=replace(US, weight_units="oz")),
    "in grams": replace(PARCEL, measures=replace(MEASURES, weight=Decimal(1), weight_units="g")),
    "blank": Shipment(Party(), Party(), MEASURES),
}  # fmt: skip
CONTRACTS = {"plain": PLAIN, "other": OTHER, "metric": Contract(units="metric", numbers="number"),
"unlike": Contract(post_quote_abroad=False, post_quote_with_cover=False, packaging="", dropoff_suffix="",
cover_number="string", query_weight_units="")}  # fmt: skip


def test_requests_to_the_carrier_are_written_as_expected() -> None:
    cases = [(what, how) for what in SHIPMENTS for how in CONTRACTS]
    few = [
        case
        for case in cases
        if case[1] == "plain"
        or case[0] in ("in pounds", "in grams", "with contents", "cover of cents", "at home", "dropped off")
    ]
    one = lambda call: lambda what, how: call(SHIPMENTS[what], CONTRACTS[how])  # noqa: E731
    compare(
        "writes-bookings",
        [
            *lines(one(writing.needs_contents_quote), cases, "needs_contents_quote"),
            *(f"{what}, {how} -> {writing.booking_body(SHIPMENTS[what], CONTRACTS[how], 'p').decode()}" for what,
            how in few),
            *(f"quote, {what}, {how} -> {writing.quote_body(SHIPMENTS[what], CONTRACTS[how]).decode()}" for what,
            how in few[:14]),
            *(f"query, {what}, {how} -> {writing.quote_query(SHIPMENTS[what], CONTRACTS[how], 'p')}" for what,
            how in few),
        ],
    )  # fmt: skip


def test_the_portal_identifies_itself_as_expected() -> None:
    schemes = [("basic", ""), ("bearer", ""), ("none", "Api: 1 2"), ("header:X-Key", "")]
    compare(
        "writes-headers",
        [
            *lines(lambda auth, line, key: headers.credential_headers(Contract(auth=auth, version_header=line), "me", key),
            [(*one, key) for one in schemes for key in ("k:1", "", "é")], "credentials"),
            *lines(headers.identity_headers, ["Portal/1", "", " ", "a\nb", "é"]),
        ],
    )  # fmt: skip
