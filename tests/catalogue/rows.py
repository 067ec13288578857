"""The rows of the catalogue, by number, and how a test says which one it is for.

B is the booking and quote form, W the webhook, R what a carrier replies, A the admin and accounts. The id of a test
begins with its row's number, such as `B10-fullwidth digits`; test_rows.py fails for a row that no test names.
"""

from typing import Any

import pytest

ROWS = {
    "B1": "NUL in a text",
    "B2": "a name of invisible characters",
    "B3": "a second line in a one-line field",
    "B4": "a lone surrogate",
    "B5": "a long address line",
    "B6": "an address line that repeats the place",
    "B7": "contact and company the same",
    "B8": "a weight that is no amount",
    "B9": "a weight that takes long to compute",
    "B10": "digits that are no ASCII digits",
    "B11": "a decimal comma",
    "B12": "too many digits",
    "B13": "a measure that is missing or none",
    "B14": "a pickup day that is not on offer",
    "B15": "a pickup day in another notation",
    "B16": "a postcode with a leading zero",
    "B17": "a postcode with blanks, letters or other digits",
    "B18": "a suburb and a postcode that don't belong together",
    "B19": "a country that is unknown or in small letters",
    "B20": "a parcel abroad without the receiver's phone or e-mail",
    "B21": "Extra Cover outside Australia",
    "B22": "a service that was not quoted",
    "B23": "an e-mail address that cannot work",
    "B24": "a phone number that is none",
    "B25": "instructions that are too long or look like code",
    "B26": "somebody else's quote",
    "B27": "an old quote",
    "B28": "a price in the post",
    "B29": "columns in the post",
    "B30": "a field sent twice",
    "B31": "a forged post",
    "B32": "one form pressed again",
    "B33": "a body that is too large",
    "B34": "a body that is no form",
    "B35": "another host's name",
    "B36": "a next page elsewhere",
    "B37": "an odd address of a parcel",
    "B38": "a GET where only a POST acts",
    "B39": "sort, filter and page keys of one's own",
    "B40": "a search that means something to a database",
    "B41": "a parcel to its own start",
    "B42": "dangerous goods not acknowledged",
    "B43": "an account turned off in the middle",
    "B44": "a compressed body",
    "W1": "no credentials, or wrong ones",
    "W2": "the secret in the query",
    "W3": "another method than POST",
    "W4": "a body that is no object",
    "W5": "text and numbers no database stores",
    "W6": "a body nested without end",
    "W7": "a number of 5,000 digits",
    "W8": "a key said twice",
    "W9": "another encoding",
    "W10": "a body too long, or one that lies about its length",
    "W11": "another content type",
    "W12": "an event id in another notation",
    "W13": "an event id that is none",
    "W14": "a reference that is none",
    "W15": "a reference nobody knows",
    "W16": "a reference of another account",
    "W17": "one event a hundred times in parallel",
    "W18": "one event id with two contents",
    "W19": "a scan time in another notation",
    "W20": "a leap second",
    "W21": "a scan time off the calendar",
    "W22": "a scan from the future",
    "W23": "an event type nobody knows, or none",
    "W24": "a place that is missing or odd",
    "W25": "members nobody knows",
    "W26": "a description made to be more than text",
    "W27": "scans out of order",
    "W28": "a scan after the cancellation",
    "W29": "5,000 events at once",
    "W30": "an address that is only claimed",
    "R1": "a reference that another order has",
    "R2": "a reference that is none",
    "R3": "an order that comes back cancelled",
    "R4": "a price that is none",
    "R5": "a label's address that is not the carrier's",
    "R6": "a file that is no label",
    "R7": "an error with a script in it",
    "R8": "too many products, none, or estimates that can't be true",
    "R9": "too many scans, or another parcel's",
    "R10": "headers without end, a cookie, an odd wait",
    "A1": "read-only fields in a post of the desk",
    "A2": "deleting a fact",
    "A3": "a bulk act on very many orders",
    "A4": "a case without the permission",
    "A5": "a lookup through the password",
    "A6": "a reference that cannot be right for an unclear order",
    "A7": "two operators at once",
    "A8": "formulas in an export",
    "A9": "a name or address made to be mistaken for another, a huge password",
    "A10": "a password that only looks long",
    "A11": "a code of the second factor that is used up, late or too long",
    "A12": "a copied session cookie",
    "A13": "a new password for an unknown address",
    "A14": "a sender at the desk's door",
}

# Tested where what they are about is tested, with its long set-up: file and test.
ELSEWHERE = {
    "A6": ("tests/desk/test_resolving.py", "test_a_reference_that_cannot_be_right_is_refused"),
    "A7": ("tests/test_races.py", "test_of_two_operators_at_once_one_decides"),
}

# Not in the portal, and why.
SETTLED = {
    "A8": "The portal writes no CSV yet; exports come with the import of parcels, and this row with them."
}


def rows(names: str, *cases: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Parametrises a test with catalogue rows: each case is its row's number, a few words, and the values."""
    return pytest.mark.parametrize(
        names, [pytest.param(*values, id=f"{row}-{words}") for row, words, *values in cases]
    )
