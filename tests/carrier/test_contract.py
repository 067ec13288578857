"""The contract file and the register it prints."""

import pytest

from shipping_portal.carrier.contract import Contract, ContractError
from shipping_portal.carrier.errors import OperationOff
from shipping_portal.carrier.operations import Operation


def load(tmp_path, text):
    file = tmp_path / "contract.toml"
    file.write_text(text, encoding="utf-8")
    return Contract.load(file)


def point(contract, name):
    return next(point for point in contract.points() if point.name == name)


def test_the_defaults_apply_without_a_file():
    contract = Contract.load(None)
    assert contract == Contract()
    assert (contract.replays, contract.book, contract.partner_query) == (False, "POST /orders", "partner_id")


def test_a_file_overrides_only_the_points_it_names(tmp_path):
    contract = load(tmp_path, 'replays = true\ncancel = "POST /orders/{id}/cancel"\nrequests_per_second = 2\n')
    assert (contract.replays, contract.cancel) == (True, "POST /orders/{id}/cancel")
    assert contract.requests_per_second == 2.0
    assert contract.quote == "GET /products"


def test_a_files_words_are_added_to_the_known_ones(tmp_path):
    contract = load(tmp_path, '[words]\n"Handed  Over" = "delivered"\ninfo = "held"\n')
    assert contract.progress("handed over") == "delivered"
    assert contract.progress("INFO") == "held"
    assert contract.progress("Dropped off") == "dropped_off"
    assert contract.progress("Teleported") is None
    assert Contract().progress("Info") == ""


def test_each_unknown_key_is_reported_with_the_nearest_name(tmp_path):
    text = 'refrence = "r"\nnumbers = "number"\nsender_subrub = "s"\nzzz = 1\n[worlds]\na = "delivered"'
    with pytest.raises(ContractError) as raised:
        load(tmp_path, text)
    assert str(raised.value) == (
        "The contract file has keys we do not know: refrence (did you mean reference?), "
        "sender_subrub (did you mean sender_suburb?), zzz, worlds (did you mean words?)."
    )


def test_the_register_says_which_part_of_a_documented_point_is_assumed():
    assert point(Contract(), "reference_shape").section == "§2.2; upper bound assumed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("colour = 1", "do not know: colour"),
        ("replays = 1", "replays must be a bool"),
        ("replay_hours = true", "replay_hours must be a int"),
        ("replay_hours = 0", "more than 0"),
        ("requests_per_second = 0.24", "at least 0.25"),
        ('quote = "products"', "quote cannot be used: an operation looks like"),
        ('quote = ""', "an operation looks like"),
        ('cancel = "DELETE /orders/{order}"', "no other braces"),
        ('weight = "a..b"', "a path looks like"),
        ('weight = "parcels.0.weight"', "names only"),
        ('labels = "0"', "names only"),
        ('quote = "POST /prices"', "post_quote = true"),
        ('quote_contents = "GET /prices"', "can't be a GET"),
        ('auth = "digest"', "auth cannot be used"),
        ('numbers = "words"', "one of string, number"),
        ('version_header = "Evil"', "version_header"),
        ('idempotency_header = "A B"', "a name has"),
        ('link = "signed"', "link_page"),
        ('link_page = "http://track.example/"', "https address"),
        ('label_hosts = "https://files.example/"', "lists hosts"),
        ('[words]\npickup = "flying"', "no progress"),
        ("[words]\npickup = 1", "progress word"),
        ('weight_units = "weight.value.units"', "weight_units at, or inside, the path of weight"),
        ('length = "size"\nwidth = "size"', "width at, or inside"),
        ("replays = ", "cannot be read"),
        ('labels = ""', "labels cannot be used: it can't be left out"),
        ('query_weight = ""', "query_weight cannot be used: it can't be left out"),
        ('replays = true\nidempotency_header = ""', "replays = true, so idempotency_header"),
        ('cover_amount = ""', "so cover_origins must be"),
        ('link = "response"\nview = ""', "needs view"),
        ('cropped_sizes = "cropped"', "must be a list, each member a str"),
        ("cropped_sizes = [1]", "must be a list, each member a str"),
        ("cropped_sizes = []", "lists one word or more"),
        ("longest_name = 121", "a number from 1 to 120"),
        ("longest_name = 0", "a number from 1 to 120"),
        ("hs_code_longest = 15", "a number from 1 to 14"),
        ('reference_shape = "(a+)+"', "letters, digits"),
        ('reference_shape = "S.*"', "letters, digits"),
        ('reference_shape = "[0-9]{10,}"', "letters, digits"),
        ('reference_shape = "[9-0]{10}"', "no class"),
        ('reference_shape = "[0-9]{101}"', "1 to 100 characters"),
        ('reference_shape = "S|"', "1 to 100 characters"),
        ('reference_shape = ""', "1 to 100 characters"),
        ('reference_shape = "[0-9]{9,5}"', "repeated"),
        ('reference_shape = "[0-9]{0,5}"', "first one at least once"),
        ('reference_shape = "[0-9]{1,9}[0-9]{1,9}[0-9]{1,9}"', "at most 2 parts"),
        ('reference_shape = "A|B|C|D|E|F|G|H|J"', "more than 8"),
    ],
)
def test_an_unusable_file_is_refused_with_a_reason(tmp_path, text, why):
    with pytest.raises(ContractError, match=why):
        load(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ContractError, match="cannot be read"):
        Contract.load(tmp_path / "missing.toml")


def test_the_register_says_where_each_point_comes_from(tmp_path):
    contract = load(tmp_path, 'view = "GET /shipments/{id}"')
    assert point(contract, "view") == (
        "view",
        "GET /shipments/{id}",
        "GET /orders/{id}",
        "assumed",
        "not in the interface",
        True,
    )
    assert point(contract, "partner_query")[3:] == ("documented", "§4 rule 1", False)


def test_every_point_has_a_basis_and_a_section():
    for each in Contract().points():
        assert each.basis in ("documented", "assumed")
        assert "§" in each.section or each.section == "not in the interface"


def test_the_interface_documents_these_points_and_no_others():
    documented = {each.name for each in Contract().points() if each.basis == "documented"}
    assert documented == {
        *(
            "export_origins",
            "cover_origins",
            "partner_query",
            "partner_field",
            "quote",
            "quote_contents",
            "book",
            "sender_email",
            "pickup_date",
        ),
        *("breakdown", "reference_shape", "events", "event_id", "event_type", "scan_time"),
        *("event_description", "location", "location_suburb", "location_state", "location_postcode"),
        "location_country",
    }


@pytest.mark.parametrize(
    ("shape", "read", "not_read"),
    [
        ("S[A-Za-z0-9]{5,99}", ["SQ7K2M", "S" * 100], ["S" * 101, "SQ7K2", "XQ7K2M", "SQ7K2-M", "SQ7K2\u0661"]),
        ("[0-9]{22}", ["9400100208303109505657", 9400100208303109505657], [True, 94001, 9.4, -1, 10**4000]),
        ("A{2}-[0-9]|B", ["AA-7", "B"], ["AA-77", "BB", "AA-7B", "aa-7"]),
    ],
)
def test_a_reference_is_read_by_the_contracts_format(shape, read, not_read):
    contract = Contract(reference_shape=shape)
    assert [contract.reference_in(value) for value in read] == [str(value) for value in read]
    assert [contract.reference_in(value) for value in not_read] == [""] * len(not_read)
    assert contract.reference_in(contract.reference_example) == contract.reference_example
    assert contract.reference_in(contract.nobodys_reference) == contract.nobodys_reference


@pytest.mark.parametrize(
    ("shape", "typed", "meant"),
    [
        ("S[A-Za-z0-9]{5,99}", "sq7k2m", "SQ7K2M"),
        ("S[A-Za-z0-9]{5,99}", "Sq7k2M", "Sq7k2M"),
        ("[a-z]{6}", "ABCDEF", "abcdef"),
        ("[a-z]{6}", "abcdef", "abcdef"),
        ("[A-Za-z]{6}", "abcDEF", "abcDEF"),
        ("[0-9]{6}", "12345", ""),
    ],
)
def test_a_typed_reference_is_converted_to_the_carriers_case(shape, typed, meant):
    assert Contract(reference_shape=shape).reference_typed(typed) == meant


@pytest.mark.parametrize("line", ["DELETE /orders/{id}", "GET /tracking?ref={reference}"])
def test_an_operation_without_its_id_or_reference_is_never_sent(line: str) -> None:
    with pytest.raises(OperationOff):
        Operation.parse(line).filled()


@pytest.mark.parametrize("name", ["", " ", ".", ".."])
def test_an_unsafe_id_is_never_put_into_a_path(name: str) -> None:
    with pytest.raises(OperationOff):
        Operation.parse("DELETE /orders/{id}").filled(order_id=name)
