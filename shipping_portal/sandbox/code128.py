"""Code 128, set B (ISO/IEC 15417): the bars on this carrier's own labels."""

START_B, STOP = 104, 106

# Widths of bar, space, bar, space, bar, space for the values 0 to 105; the stop has a seventh,
# closing bar.
WIDTHS = (
    "212222",
    "222122",
    "222221",
    "121223",
    "121322",
    "131222",
    "122213",
    "122312",
    "132212",
    "221213",
    "221312",
    "231212",
    "112232",
    "122132",
    "122231",
    "113222",
    "123122",
    "123221",
    "223211",
    "221132",
    "221231",
    "213212",
    "223112",
    "312131",
    "311222",
    "321122",
    "321221",
    "312212",
    "322112",
    "322211",
    "212123",
    "212321",
    "232121",
    "111323",
    "131123",
    "131321",
    "112313",
    "132113",
    "132311",
    "211313",
    "231113",
    "231311",
    "112133",
    "112331",
    "132131",
    "113123",
    "113321",
    "133121",
    "313121",
    "211331",
    "231131",
    "213113",
    "213311",
    "213131",
    "311123",
    "311321",
    "331121",
    "312113",
    "312311",
    "332111",
    "314111",
    "221411",
    "431111",
    "111224",
    "111422",
    "121124",
    "121421",
    "141122",
    "141221",
    "112214",
    "112412",
    "122114",
    "122411",
    "142112",
    "142211",
    "241211",
    "221114",
    "413111",
    "241112",
    "134111",
    "111242",
    "121142",
    "121241",
    "114212",
    "124112",
    "124211",
    "411212",
    "421112",
    "421211",
    "212141",
    "214121",
    "412121",
    "111143",
    "111341",
    "131141",
    "114113",
    "114311",
    "411113",
    "411311",
    "113141",
    "114131",
    "311141",
    "411131",
    "211412",
    "211214",
    "211232",
    "2331112",
)


def values(text: str) -> list[int]:
    """Return the symbol values of ``text``: start, characters, check, stop.

    Raises ValueError outside set B.
    """
    if not text or any(not " " <= letter <= "\x7f" for letter in text):
        raise ValueError("Code 128 set B holds the characters from space to DEL only.")
    body = [ord(letter) - 32 for letter in text]
    check = (START_B + sum(place * value for place, value in enumerate(body, start=1))) % 103
    return [START_B, *body, check, STOP]


def modules(text: str) -> str:
    """Return the bars (1) and spaces, module by module, without the quiet zones."""
    pattern = ""
    for value in values(text):
        for place, width in enumerate(WIDTHS[value]):
            pattern += ("1" if place % 2 == 0 else "0") * int(width)
    return pattern
