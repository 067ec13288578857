"""How the points of a contract are read: addresses, rules, reference formats, and whole files."""

from functools import partial
from pathlib import Path

from shipping_portal.carrier import contract, hosts, operations, shapes, validators
from tests.snapshots.comparing import compare
from tests.snapshots.tables import lines

BASE = hosts.Origin("https", "api.carrier.example", 443)
HERE = hosts.Origin("http", "localhost", 8000)
URLS = (
    "https://api.carrier.example/x", "https://API.carrier.example:443/x", "http://api.carrier.example/x",
    "https://api.carrier.example:8443", "https://api.carrier.example./x", "https://me@api.carrier.example/",
    "ftp://a.example",
    "https://a.example\\@b.example", "https:// a.example", "https://[::1]/x", "http://localhost:8000/y",
    "http://127.0.0.1",
    "https://a.example:99999", "https://a.example:0/", "https:///x", "//a.example", "", None, 5,
    "https://cdn.example:444/l.pdf",
    "https://cdn.example/l.pdf", "http://cdn.example/l.pdf", "https://é.example", "https://x.example/" + "a" * 2030,
    "https://x.example/" + "a" * 2031, "HTTPS://A.example",
)  # fmt: skip


def test_only_the_expected_addresses_are_allowed() -> None:
    compare(
        "reads-hosts",
        [
            *lines(hosts.Origin.of, URLS, "Origin.of"),
            *lines(hosts.base_origin, [*URLS[:12], "https://a.example?x=1", "https://a.example/#x"]),
            *lines(
                hosts.spelled_alike,
                ["https://A.example.:443//", "http://a.example:443/x/", "https://[::1]:443/", "http://[::1]:81",
                "x/y/"],
            ),
            *lines(lambda url: hosts.is_permitted(url, BASE, "cdn.example cdn.example:444"), URLS, "permitted"),
            *lines(
                lambda url, extra: hosts.is_permitted(url, HERE, extra),
                [("http://localhost:8000/x", ""), ("http://127.0.0.1:9/x", "127.0.0.1:9"), ("http://cdn.example/",
                "cdn.example"),
                 ("https://cdn.example/", "cdn.example"), ("http://127.0.0.1:9/x", "127.0.0.1")],
                "permitted, at home",
            ),
        ],
    )  # fmt: skip


SHAPES = (
    "S[A-Za-z0-9]{5,99}", "S[A-Za-z0-9]{5,100}", "", "S", "[A-Z]{2}[0-9]{9}AU", "A{0,3}B", "A{1}", "A{3,2}", "A{0}",
    "A+", "[z-a]",
    "A{1,2}B{1,2}", "A{1,2}B{1,2}C{1,2}", "|".join("A" * 8), "|".join("A" * 9), "A|", "A{100}", "A{101}", "[]",
    "a.b", "[--_]{2}",
)  # fmt: skip
WAYS = {
    "operation": (
        "GET /x",
        "",
        "get /x",
        "GET x",
        "DELETE /orders/{id}?a={reference}&b",
        "GET /{other}",
        "GET /{id",
        "GET /x?",
    ),
    "optional_operation": ("", "GET /x", "GET"),
    "path": ("", "a", "a.b-c.d_e", "a..b", ".a", "a b", "é"),
    "name": ("", "a[b].c-d_e", "a b", "a:b"),
    "auth_scheme": ("basic", "bearer", "none", "header:X-Key", "header:", "Basic", "header:X Key"),
    "header_line": ("", "Api-Version: 1", "Api-Version:1", "Api: a b", "Api: a ", "A_b: c", "Api: é"),
    "page": ("", "https://a.example/{reference}", "http://a.example", "http://localhost/x", "a.example"),
    "hosts": ("", "a.example b.example:444", "a/b", "https://a.example", "a.example:x"),
    "positive": (0, 0.0001, -1, float("nan")),
    "bookable": (0.25, 0.24, 1),
    "listed": ((), ("a",), ("a", " ")),
    "statuses": ((), (399,), (400, 599), (600,)),
    "yes_statuses": ((), (199,), (200, 299), (300,), (399,), (400, 499), (500,)),
    "short_words": ((), ("x" * 20,), ("x" * 21,), (" ",)),
    "countries": ((), ("AU", "US"), ("au",), ("AUS",)),
    "progress_words": ({"a": ""}, {"a": "held"}, {"a": "sent"}),
}


def rule(name: str) -> list[str]:
    return list(lines(lambda value: getattr(validators, name)(value), [(value,) for value in WAYS[name]], name))


def test_contract_rules_and_reference_formats_are_read_as_expected() -> None:
    filled = operations.Operation.parse("GET /o/{id}/{reference}?r={reference}&x=")
    names = [("a/b ", "S 1"), ("..", "S1"), (" ", "S1"), ("1", "."), ("1", ""), ("", "S1")]
    compare(
        "reads-contract-points",
        [
            *(line for name in WAYS for line in rule(name)),
            *lines(validators.up_to(14), [0, 1, 14, 15], "up_to(14)"),
            *lines(validators.one_of("a", "b"), ["a", "b", "c", ""], "one_of"),
            *lines(shapes.check_shape, SHAPES),
            *lines(partial(shapes.in_some_case, "S[a-z]{2}|t[A-Z]{2}|[A-Z]{2}1"), ["Sab", "SAB", "sab", "tAB", "tab",
            "ab1", "zzz"]),
            *lines(
                lambda shape, length: (shapes.spell_reference(shape, "7K2QX94M", length=length), shapes.spell_reference(shape, "0",
                length=length)),
                [(shape, n) for shape in (SHAPES[0], SHAPES[4], "A{0,3}B{2,4}", "[a-c]{2}|X") for n in (0, 4, 12,
                200)],
                "spelled",
            ),
            *lines(lambda order, reference: filled.filled(order_id=order, reference=reference), names, "filled"),
        ],
    )  # fmt: skip


TOLD = (
    "", 'no_such_point = 1', 'replays = "yes"', "replay_hours = 0", "cover_limit = 900", 'link = "signed"',
    'labels = ""',
    'link = "response"\nview = ""', "refused_statuses = [402]", "cancelled_statuses = [400]",
    "cancelled_statuses = [409]",
    "cancel_refused_statuses = [403]", "hs_code_shortest = 11", 'weight = "dimensions"', 'weight = "weight"',
    "words = 5",
    '[words]\nLodged = "collected"', '[words]\nLodged = "sent"', "export_origins = [1]", 'export_origins = ["AU"]',
    "a = ",
    "refused_statuses = [true]", "destinations = ['NZ']", "tracking_per_second = 1", "longest_name = 120.0",
    "label_url = ''",
    "cancelled_statuses = [401]",
)  # fmt: skip


def test_contract_files_are_read_as_expected(tmp_path: Path) -> None:
    file = tmp_path / "contract.toml"

    def laid_over(text: str) -> list[object]:
        file.write_text(text)
        points = contract.Contract.load(file).points()
        return [(one.name, one.value if one.name != "words" else len(one.value)) for one in points if one.overridden]

    mine = contract.Contract()
    codes = ("EXP-PICKUP", "exp-pickup", "PICKUP", "EXP-DROPOFF", "X-DDP-1", "x-ddp", "DDU", "")
    compare(
        "reads-contract-files",
        [
            *lines(laid_over, TOLD),
            *lines(lambda c: (mine.pays_duties(c), mine.ends_with(c, "pickup_suffix"), mine.ends_with(c,
            "dropoff_suffix")), codes, "a code: duties, pickup, drop-off"),
            *lines(mine.progress, ["Pickup", " in  TRANSIT ", "info", "unheard of", ""]),
            *lines(mine.reference_in, ["S12345", "S1234", "s12345", 12345, None, "S" + "1" * 99, "S" + "1" * 100]),
            *lines(mine.reference_typed, ["S12345", "s12345", "x12345", ""]),
            f"{mine.reference_example} {mine.nobodys_reference}",
        ],
    )  # fmt: skip
