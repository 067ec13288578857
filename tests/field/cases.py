"""The outcome of each row of each file: ready, left out for a reason, or waiting for a field or column.

People and streets are made up. `source` is the public thread or page that reports the case, if we know one.
"""

from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """A file: the account that imports it, where the case is reported, and the outcome of its rows by order number."""

    account: str
    source: str
    rows: dict[str, str]


CASES = {
    "shopify_plain.csv": Case(
        "AU",
        "",
        {
            "#N100": "ready",
            "#N101": "ready",
            "#N102": "ready",
            "#N103": "ready",
            "#N104": "ready",
            "#N105": "ready",
            "#N106": "ready",
            "#N107": "ready",
            "#N108": "ready",
            "#N109": "ready",
            "#N110": "ready",
            "#N111": "ready",
            "#N112": "ready",
            "#N113": "ready",
            "#N114": "ready",
            "#N115": "ready",
            "#N116": "ready",
            "#N117": "ready",
            "#N118": "ready",
            "#N119": "ready",
        },
    ),
    "woocommerce_plain.csv": Case(
        "AU",
        "",
        {
            "N200": "ready",
            "N201": "ready",
            "N202": "ready",
            "N203": "ready",
            "N204": "ready",
            "N205": "ready",
            "N206": "ready",
            "N207": "ready",
            "N208": "ready",
            "N209": "ready",
            "N210": "ready",
            "N211": "ready",
            "N212": "ready",
            "N213": "ready",
            "N214": "ready",
            "N215": "ready",
            "N216": "ready",
            "N217": "ready",
            "N218": "ready",
            "N219": "ready",
        },
    ),
    "square_plain.csv": Case(
        "AU",
        "",
        {
            "N300": "ready",
            "N301": "ready",
            "N302": "ready",
            "N303": "ready",
            "N304": "ready",
            "N305": "ready",
            "N306": "ready",
            "N307": "ready",
            "N308": "ready",
            "N309": "ready",
            "N310": "ready",
            "N311": "ready",
            "N312": "ready",
            "N313": "ready",
            "N314": "ready",
            "N315": "ready",
            "N316": "ready",
            "N317": "ready",
            "N318": "ready",
            "N319": "ready",
        },
    ),
    "ebay_au_plain.csv": Case(
        "AU",
        "",
        {
            "N400": "ready",
            "N401": "ready",
            "N402": "ready",
            "N403": "ready",
            "N404": "ready",
            "N405": "ready",
            "N406": "ready",
            "N407": "ready",
            "N408": "ready",
            "N409": "ready",
            "N410": "ready",
            "N411": "ready",
            "N412": "ready",
            "N413": "ready",
            "N414": "ready",
            "N415": "ready",
            "N416": "ready",
            "N417": "ready",
            "N418": "ready",
            "N419": "ready",
        },
    ),
    "etsy_plain.csv": Case(
        "AU",
        "",
        {
            "N500": "ready",
            "N501": "ready",
            "N502": "ready",
            "N503": "ready",
            "N504": "ready",
            "N505": "ready",
            "N506": "ready",
            "N507": "ready",
            "N508": "ready",
            "N509": "ready",
            "N510": "ready",
            "N511": "ready",
            "N512": "ready",
            "N513": "ready",
            "N514": "ready",
            "N515": "ready",
            "N516": "ready",
            "N517": "ready",
            "N518": "ready",
            "N519": "ready",
        },
    ),
    "amazon_plain.txt": Case(
        "US",
        "",
        {
            "N600": "ready",
            "N601": "ready",
            "N602": "ready",
            "N603": "ready",
            "N604": "ready",
            "N605": "ready",
            "N606": "ready",
            "N607": "ready",
            "N608": "ready",
            "N609": "ready",
            "N610": "ready",
            "N611": "ready",
            "N612": "ready",
            "N613": "ready",
            "N614": "ready",
            "N615": "ready",
            "N616": "ready",
            "N617": "ready",
            "N618": "ready",
            "N619": "ready",
        },
    ),
    "own_units_below.csv": Case(
        "US",
        "",
        {
            "UB1": "ready: Ada Elm; 1 Notional St; Seattle WA 98101 US; c900@example.net; 1.5 lb 10 x 8 x 4 in",
            "UB2": "ready: Ben Ivy; 2 Specimen Ave; Denver CO 80202 US; c901@example.net; 0.5 lb 10 x 8 x 2 in",
        },
    ),
    "own_web_page_signs.csv": Case(
        "AU",
        "",
        {
            "WP1": "ready: Pat O'Brien; Salt & Pepper; 1 Notional St, Unit 4; Fitzroy VIC 3065 AU; c902@example.net",
            "WP2": "ready: Zoë Elm; 2/14 Specimen Rd; Brunswick VIC 3056 AU; c903@example.net",
        },
    ),
    "own_title_and_groups.csv": Case(
        "AU", "", {"TG1": "ready: Ada Elm; 1 Notional St; Fitzroy VIC 3065 AU; c904@example.net; 1.1 kg 12 x 9 x 4 cm"}
    ),
    "own_plain.csv": Case(
        "AU",
        "",
        {
            "N700": "ready",
            "N701": "ready",
            "N702": "ready",
            "N703": "ready",
            "N704": "ready",
            "N705": "ready",
            "N706": "ready",
            "N707": "ready",
            "N708": "ready",
            "N709": "ready",
            "N710": "ready",
            "N711": "ready",
            "N712": "ready",
            "N713": "ready",
            "N714": "ready",
            "N715": "ready",
            "N716": "ready",
            "N717": "ready",
            "N718": "ready",
            "N719": "ready",
        },
    ),
    "shopify_gift_cards_and_pickup.csv": Case(
        "AU",
        "https://github.com/myparcelnl/woocommerce/issues/636",
        {
            "#N1": "ready",
            "#N2": "left out: Needs no parcel.",
            "#N3": "left out: Needs no parcel.",
            "#N4": "left out: Needs no parcel.",
            "#N5": "left out: Needs no parcel.",
            "#N6": "ready",
        },
    ),
    "shopify_mixed_order.csv": Case(
        "AU",
        "https://github.com/woocommerce/woocommerce-ios/pull/16127",
        {"#N11": "ready", "#N12": "ready", "#N13": "left out: Needs no parcel.", "#N14": "left out: Needs no parcel."},
    ),
    "square_fulfilments.csv": Case(
        "AU",
        "",
        {
            "N21": "ready",
            "N22": "left out: Needs no parcel.",
            "N23": "left out: Needs no parcel.",
            "N24": "left out: Needs no parcel.",
            "N25": "ready",
            "N26": "left out: Needs no parcel.",
        },
    ),
    "woocommerce_local_pickup.csv": Case(
        "AU",
        "https://github.com/myparcelnl/woocommerce/issues/1235",
        {"N31": "ready", "N32": "left out: Needs no parcel.", "N33": "left out: Needs no parcel."},
    ),
    "woocommerce_virtual.csv": Case(
        "AU",
        "https://github.com/myparcelnl/woocommerce/issues/492",
        {"N41": "ready", "N42": "left out: Needs no parcel.", "N43": "left out: Needs no parcel."},
    ),
    "ebay_click_and_collect.csv": Case("AU", "", {"N51": "ready", "N52": "left out: Needs no parcel."}),
    "etsy_in_person.csv": Case("AU", "", {"N61": "ready", "N62": "left out: Needs no parcel."}),
    "etsy_downloads.csv": Case("AU", "", {"N71": "ready", "N72": "left out: Needs no parcel."}),
    "amazon_fulfilled_by_amazon.txt": Case(
        "US",
        "https://sellercentral.amazon.com/gp/help/external/200547170",
        {"N81": "ready", "N82": "left out: Needs no parcel.", "N83": "left out: Needs no parcel."},
    ),
    "shopify_in_another_currency.csv": Case(
        "AU",
        "https://github.com/woocommerce/woocommerce/issues/31830",
        {"#N1": "waits: item_1_value", "#N2": "waits: item_1_origin", "#N3": "ready"},
    ),
    "own_signs_in_cells.csv": Case(
        "AU",
        "https://github.com/magento/magento2/issues/31891",
        {
            "N1": "ready",
            "N2": "ready",
            "N3": "waits: item_1_value",
            "N4": "waits: item_1_value",
            "N5": "ready",
            "N6": "waits: item_1_value",
            "N7": "ready",
            "N8": "waits: item_1_value",
        },
    ),
    "own_currency_in_the_header.csv": Case(
        "AU", "https://github.com/myparcelnl/magento/issues/495", {"N1": "waits: item_1_value", "N2": "ready"}
    ),
    "own_value_without_a_quantity.csv": Case("AU", "", {"N1": "waits: item_1_quantity", "N2": "ready"}),
    "amazon_price_of_a_line.txt": Case(
        "AU",
        "https://sellercentral-europe.amazon.com/gp/help/external/help.html?itemID=201648780",
        {"N1": "ready", "N2": "ready", "N3": "waits: item_1_value", "N4": "waits: item_1_value"},
    ),
    "amazon_third_lines.txt": Case(
        "US", "", {"N1": "waits: receiver_line1", "N2": "ready", "N3": "ready", "N4": "waits: receiver_line2"}
    ),
    "own_fourth_line.csv": Case("AU", "", {"N1": "waits: Address 4", "N2": "ready"}),
    "own_dimensions_in_a_cell.csv": Case(
        "AU",
        "",
        {
            "N1": "ready",
            "N2": "ready",
            "N3": "ready",
            "N4": "ready",
            "N5": "ready",
            "N6": "ready",
            "N7": "ready",
            "N8": "waits: length_cm",
            "N9": "waits: length_cm",
            "N10": "waits: length_cm",
        },
    ),
    "own_numbers_of_parcels.csv": Case(
        "AU",
        "",
        {
            "N1": "waits: Number of parcels",
            "N2": "ready",
            "N3": "ready",
            "N4": "ready",
            "N5": "waits: Number of parcels",
        },
    ),
    "own_terms.csv": Case(
        "AU",
        "",
        {"N1": "ready", "N2": "ready", "N3": "ready", "N4": "ready", "N5": "ready", "N6": "waits: delivery_choice"},
    ),
    "own_pickup_days.csv": Case("AU", "", {"N1": "waits: Pickup date", "N2": "ready"}),
    "own_columns_nobody_knows.csv": Case(
        "AU",
        "",
        {
            "N1": "ready",
            "N2": "waits: Zorble",
            "N3": "waits: Gate code",
            "N4": "waits: Insured amount",
            "N5": "waits: Fragile",
            "N6": "ready",
            "N7": "ready",
            "N8": "waits: Second phone",
        },
    ),
    "shopify_notes.csv": Case("AU", "", {"#N1": "ready", "#N2": "waits: Notes"}),
    "ebay_without_emails.csv": Case(
        "AU",
        "",
        {"N1": "ready", "N2": "waits: receiver_email", "N3": "waits: receiver_email", "N4": "waits: receiver_email"},
    ),
    "own_total_row.csv": Case(
        "AU", "", {"N1": "ready", "N2": "ready", "": "left out: This row holds a sum, so it isn't a parcel."}
    ),
    "own_sum_in_the_first_column.csv": Case(
        "AU", "", {"N1": "ready", "Summe": "left out: This row holds a sum, so it isn't a parcel.", "N3": "ready"}
    ),
    "own_one_right_answer.csv": Case(
        "AU",
        "",
        {
            "N1": "waits: receiver_company",
            "N2": "waits: receiver_line2",
            "N3": "waits: receiver_suburb",
            "N4": "ready",  # a dash says that there is no company
        },
    ),
    "own_quantities_of_a_spreadsheet.csv": Case(
        "AU",
        "",
        {
            "QS1": "waits: item_1_value",
            "QS2": "ready: Ben Ivy; 2 Specimen Ave; Portland OR 97205 US; d2@example.net; tel 35550142; 1 Mug at 20.00 from AU",
            "QS3": "waits: item_1_value",
            "QS4": "ready: Dee Fir; 4 Specimen Ave; Fitzroy VIC 3065 AU; d4@example.net",
        },
    ),
    "amazon_price_of_a_line_resaved.txt": Case(
        "AU",
        "",
        {
            "AQ1": "ready: Ben Iris; 4 Fictive Street; Portland OR 97205 US; p1@marketplace.example; tel 35550142; 3 Mug at 20.00 from AU",
            "AQ2": "ready: Cleo Pine; 5 Placeholder Street; Portland OR 97205 US; p2@marketplace.example; tel 35550142; 1 Mug at 20.00 from AU",
            "AQ3": "waits: item_1_value",
        },
    ),
    "own_postcodes_abroad_without_zeros.csv": Case(
        "AU",
        "",
        {
            "PA1": "ready: Ada Elm; 1 Queen St; Auckland 0610 NZ; e1@example.net; tel 11234567; 1 Mug at 20.00 from AU",
            "PA2": "ready: Ben Ivy; Hauptstr. 2; Dresden 01067 DE; e2@example.net; tel 11234567; 1 Mug at 20.00 from AU",
            "PA3": "ready: Cal Oak; 3 rue Basse; Bourg-en-Bresse 01000 FR; e3@example.net; tel 23456789; 1 Mug at 20.00 from AU",
            "PA4": "ready: Dee Fir; Via Alta 4; Roma RM 00186 IT; e4@example.net; tel 61234567; 1 Mug at 20.00 from AU",
            "PA5": "ready: Eve Ash; 5 Marina Blvd; Singapore 018956 SG; e5@example.net; tel 61234567; 1 Mug at 20.00 from AU",
            "PA6": "ready: Flo Yew; Calle Mayor 6; Barcelona 08001 ES; e6@example.net; tel 31234567; 1 Mug at 20.00 from AU",
            "PA7": "ready: Gus Bay; Dorfweg 7; Bern 3011 CH; e7@example.net; tel 11234567; 1 Mug at 20.00 from AU",
            "PA8": "ready: Hal Elm; 8 Calle Uno; Mexico CDMX 06000 MX; e8@example.net; tel 12345678; 1 Mug at 20.00 from AU",
        },
    ),
    "own_words_of_software.csv": Case(
        "AU",
        "",
        {
            "WS1": "ready: Ada Elm; 1 Notional St; Fitzroy VIC 3065 AU; f1@example.net",
            "WS2": "ready: Ben Ivy; 2 Notional St; Fitzroy VIC 3065 AU; f2@example.net",
            "WS3": "waits: receiver_company",
            "WS4": "waits: receiver_line2",
            "WS5": "waits: receiver_name",
            "WS6": "waits: receiver_name",
            "WS7": "ready: Flo Null; 7 Notional St; Fitzroy VIC 3065 AU; f7@example.net",
            "WS8": "waits: receiver_line2",
            "WS9": "ready: Hal Elm; 9 Notional St; Fitzroy VIC 3065 AU; f9@example.net",
        },
    ),
    "own_one_reading.csv": Case(
        "AU",
        "",
        {
            "OR1": "ready: Ada Elm; 1 Notional St; Fitzroy VIC 3065 AU; g1@example.net; 1.5 kg 12 x 9 x 4 cm",
            "OR2": "ready: Ben Ivy; 2 Notional St; Fitzroy VIC 3065 AU; g2@example.net; 1.5 kg 12 x 9 x 4 cm",
            "OR3": "ready: Cal Oak; 3 Notional St; Fitzroy VIC 3065 AU; g3@example.net; 1.25 kg 12 x 9 x 4 cm",
            "OR4": "waits: weight_kg",
            "OR5": "ready: Eve Ash; 5 Notional St; Portland OR 97205 US; g5@example.net; tel 35550142; 1 kg 12 x 9 x 4 cm; 1 Mug at 20.00 from GB",
            "OR6": "waits: item_1_origin",
            "OR7": "ready: Gus Bay; 7 Notional St; Portland OR 97205 US; g7@example.net; tel 35550142; 1 kg 12 x 9 x 4 cm; 1 Mug at 20.00 from VN",
            "OR8": "waits: receiver_email",
            "OR9": "ready: Ivy Oak; 9 Notional St; Fitzroy VIC 3065 AU; i9@example.net; 0.8 kg 12 x 9 x 4 cm",
        },
    ),
    "own_letters_of_sides.csv": Case(
        "AU",
        "",
        {
            "LS1": "ready: Ada Elm; 1 Notional St; Fitzroy VIC 3065 AU; h1@example.net; 1 kg 30 x 20 x 10 cm",
            "LS2": "ready: Ben Ivy; 2 Notional St; Fitzroy VIC 3065 AU; h2@example.net; 1 kg 30 x 20 x 10 cm",
            "LS3": "ready: Cal Oak; 3 Notional St; Fitzroy VIC 3065 AU; h3@example.net; 1 kg 30 x 20 x 10 cm",
            "LS4": "ready: Dee Fir; 4 Notional St; Fitzroy VIC 3065 AU; h4@example.net; 1 kg 30 x 20 x 10 cm",
            "LS5": "ready: Eve Ash; 5 Notional St; Fitzroy VIC 3065 AU; h5@example.net; 1 kg 30 x 20 x 10 cm",
            "LS6": "ready: Flo Yew; 6 Notional St; Fitzroy VIC 3065 AU; h6@example.net; 1 kg 30 x 20 x 10 cm",
        },
    ),
}


def _exports() -> dict[str, Case]:
    """Read what becomes of exports of shops, carriers and address books, and of sheets that people type.

    A line names a file, whose account takes it and the page or thread its shape is from; each line below is a row: its
    order number, or another cell of it, and what becomes of it. `ready` and `asked` spell out what goes on the label:
    name; company; lines; place; email; the last digits of the phone; instructions; measures but the saved size's;
    what customs get. `asked` is ready, but its measures are asked about before it is booked. `ready by hand` has
    one reading too, and still waits.
    """
    found: dict[str, Case] = {}
    rows: dict[str, str] = {}
    for line in (Path(__file__).parent / "exports.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            number, verdict = line[1:].split("\t")
            rows[number] = verdict
        else:
            name, account, source = line.split(" ")
            rows = {}
            found[name] = Case(account, source, rows)
    return found


EXPORTS = _exports()
