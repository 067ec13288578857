"""Exports of shops: their own headers, with rows made up for these tests."""

import csv
import io
from collections.abc import Mapping, Sequence

Row = Mapping[str, str]

SHOPIFY = (
    "Name,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Accepts Marketing,Currency,Subtotal,Shipping,"
    "Taxes,Total,Discount Code,Discount Amount,Shipping Method,Created at,Lineitem quantity,Lineitem name,"
    "Lineitem price,Lineitem compare at price,Lineitem sku,Lineitem requires shipping,Lineitem taxable,"
    "Lineitem fulfillment status,Billing Name,Billing Street,Billing Address1,Billing Address2,Billing Company,"
    "Billing City,Billing Zip,Billing Province,Billing Country,Billing Phone,Shipping Name,Shipping Street,"
    "Shipping Address1,Shipping Address2,Shipping Company,Shipping City,Shipping Zip,Shipping Province,"
    "Shipping Country,Shipping Phone,Notes,Note Attributes,Cancelled at,Payment Method,Payment Reference,"
    "Refunded Amount,Vendor,Outstanding Balance,Employee,Location,Device ID,Id,Tags,Risk Level,Source,"
    "Lineitem discount,Tax 1 Name,Tax 1 Value,Phone,Receipt Number,Duties,Billing Province Name,"
    "Shipping Province Name,Payment ID,Payment Terms Name,Next Payment Due At,Payment References"
)
WOOCOMMERCE = (
    "Order Number,Order Status,Order Date,Customer Note,First Name (Billing),Last Name (Billing),Company (Billing),"
    "Address 1&2 (Billing),City (Billing),State Code (Billing),Postcode (Billing),Country Code (Billing),"
    "Email (Billing),Phone (Billing),First Name (Shipping),Last Name (Shipping),Address 1&2 (Shipping),"
    "City (Shipping),State Code (Shipping),Postcode (Shipping),Country Code (Shipping),Payment Method Title,"
    "Cart Discount Amount,Order Subtotal Amount,Shipping Method Title,Order Shipping Amount,Order Refund Amount,"
    "Order Total Amount,Order Total Tax Amount,SKU,Item #,Item Name,Quantity (- Refund),Item Cost,Coupon Code,"
    "Discount Amount,Discount Amount Tax"
)
WOOCOMMERCE_UNDERSCORED = (
    "order_id,order_number,order_date,paid_date,status,shipping_total,order_total,payment_method,transaction_id,"
    "shipping_method,customer_email,billing_first_name,billing_last_name,billing_company,billing_email,billing_phone,"
    "billing_address_1,billing_address_2,billing_postcode,billing_city,billing_state,billing_country,"
    "shipping_first_name,shipping_last_name,shipping_company,shipping_phone,shipping_address_1,shipping_address_2,"
    "shipping_postcode,shipping_city,shipping_state,shipping_country,customer_note,order_notes"
)
ETSY = (
    "Sale Date,Order ID,Buyer User ID,Full Name,First Name,Last Name,Number of Items,Payment Method,Date Shipped,"
    "Street 1,Street 2,Ship City,Ship State,Ship Zipcode,Ship Country,Currency,Order Value,Coupon Code,Coupon Details,"
    "Discount Amount,Shipping Discount,Shipping,Sales Tax,Order Total,Status,Card Processing Fees,Order Net,"
    "Adjusted Order Total,Adjusted Card Processing Fees,Adjusted Net Order Amount,Buyer,Order Type,Payment Type,"
    "InPerson Discount,InPerson Location,SKU"
)
ETSY_ITEMS = (
    "Sale Date,Item Name,Buyer,Quantity,Price,Coupon Code,Coupon Details,Discount Amount,Shipping Discount,"
    "Order Shipping,Order Sales Tax,Item Total,Currency,Transaction ID,Listing ID,Date Paid,Date Shipped,Ship Name,"
    "Ship Address1,Ship Address2,Ship City,Ship State,Ship Zipcode,Ship Country,Order ID,Variations,Order Type,"
    "Listings Type,Payment Type,InPerson Discount,InPerson Location,VAT Paid by Buyer,SKU"
)
EBAY_AU = (
    "Sales record number,Order number,Buyer username,Buyer name,Buyer email,Buyer note,Buyer address 1,"
    "Buyer address 2,Buyer city,Buyer state,Buyer postcode,Buyer country,Buyer tax identifier name,"
    "Buyer tax identifier value,Post to name,Post to phone,Post to address 1,Post to address 2,Post to city,"
    "Post to state,Post to postcode,Post to country,Item number,Item title,Custom label,Sold via Promoted listings,"
    "Quantity,Sold for,Postage and handling,Item location,Item postcode,Item country,Total price,Payment method,"
    "Sale date,Paid on date,Post by date,Minimum estimated delivery date,Maximum estimated delivery date,"
    "Posted on date,Feedback left,Feedback received,My item note,PayPal transaction ID,Postage service,"
    "Tracking number,Transaction ID,Variation details,Global Shipping Program,Global Shipping reference ID,"
    "Click and Collect,Click and Collect reference number,eBay Plus"
)
EBAY_US = (
    "Sales Record Number,Order Number,Buyer Username,Buyer Name,Buyer Email,Buyer Note,Buyer Address 1,"
    "Buyer Address 2,Buyer City,Buyer State,Buyer Zip,Buyer Country,Buyer Tax Identifier Name,"
    "Buyer Tax Identifier Value,Ship To Name,Ship To Phone,Ship To Address 1,Ship To Address 2,Ship To City,"
    "Ship To State,Ship To Zip,Ship To Country,Item Number,Item Title,Custom Label,Sold Via Promoted Listings,"
    "Quantity,Sold For,Shipping And Handling,Item Location,Item Zip Code,Item Country,Total Price,Payment Method,"
    "Sale Date,Paid On Date,Ship By Date,Shipped On Date,Feedback Left,Feedback Received,My Item Note,"
    "Shipping Service,Tracking Number,Transaction ID,Variation Details,Global Shipping Program,eBay Plus"
)
EBAY_UK = EBAY_AU.replace("Post to state", "Post to county").replace("Posted on date", "Dispatched on date")
AMAZON = (
    "order-id,order-item-id,purchase-date,payments-date,reporting-date,promise-date,days-past-promise,buyer-email,"
    "buyer-name,buyer-phone-number,sku,product-name,quantity-purchased,quantity-shipped,quantity-to-ship,"
    "ship-service-level,recipient-name,ship-address-1,ship-address-2,ship-address-3,ship-city,ship-state,"
    "ship-postal-code,ship-country,is-business-order,purchase-order-number,price-designation"
)
# Header from memory: no authentic file was found.
SQUARE = (
    "Order,Order Date,Currency,Order Subtotal,Order Shipping Price,Order Tax,Order Total,Order Refunded Amount,"
    "Fulfillment Date,Fulfillment Type,Fulfillment Status,Channels,Fulfillment Location,"
    "Recipient Name,Recipient Email,Recipient Phone,Recipient Address,Recipient Address 2,Recipient Postal Code,"
    "Recipient City,Recipient Region,Recipient Country,"
    "Item Quantity,Item Name,Item SKU,Item Variation,Item Modifiers,Item Price,Item Total Price"
)
# Header from memory.
BIGCOMMERCE = (
    "Order ID,Customer ID,Customer Name,Customer Email,Customer Phone,Order Date,Order Status,Subtotal (inc tax),"
    "Order Total (inc tax),Total Quantity,Total Shipped,Date Shipped,Order Currency Code,Order Notes,"
    "Customer Message,Billing Name,Billing Street 1,Billing Street 2,Billing Suburb,Billing State,Billing Zip,"
    "Billing Country,Billing Phone,Billing Email,Shipping Name,Shipping First Name,Shipping Last Name,"
    "Shipping Company,Shipping Street 1,Shipping Street 2,Shipping Suburb,Shipping State,Shipping State Abbreviation,"
    "Shipping Zip,Shipping Country,Shipping Phone,Shipping Email,Product Details"
)
# Header from memory.
STARSHIPIT = (
    "Order Number,Date,Name,Email,Telephone,Company,Building,Street,Suburb,City,State,Postcode,Country,"
    "Delivery Instructions,Item Description,SKU,Quantity,Weight,Length,Width,Height"
)

# Which column is which field, by the column's name.
MATCHES = {
    "Shopify": (SHOPIFY, {
        "receiver_name": "Shipping Name", "receiver_company": "Shipping Company",
        "receiver_country": "Shipping Country", "receiver_line1": "Shipping Address1",
        "receiver_line2": "Shipping Address2", "receiver_suburb": "Shipping City",
        "receiver_state": "Shipping Province", "receiver_postcode": "Shipping Zip", "receiver_email": "Email",
        "receiver_phone": "Shipping Phone", "description": "Lineitem name", "customer_reference": "Name",
        "item_1_value": "Lineitem price", "item_1_quantity": "Lineitem quantity",
    }),
    "WooCommerce": (WOOCOMMERCE, {
        "receiver_name": "First Name (Shipping)", "receiver_last_name": "Last Name (Shipping)",
        "receiver_country": "Country Code (Shipping)", "receiver_line1": "Address 1&2 (Shipping)",
        "receiver_suburb": "City (Shipping)", "receiver_state": "State Code (Shipping)",
        "receiver_postcode": "Postcode (Shipping)", "receiver_email": "Email (Billing)",
        "receiver_phone": "Phone (Billing)", "description": "Item Name", "customer_reference": "Order Number",
        "item_1_value": "Item Cost", "item_1_quantity": "Quantity (- Refund)",
    }),
    "WooCommerce, with underscores": (WOOCOMMERCE_UNDERSCORED, {
        "receiver_name": "shipping_first_name", "receiver_last_name": "shipping_last_name",
        "receiver_company": "shipping_company", "receiver_country": "shipping_country",
        "receiver_line1": "shipping_address_1", "receiver_line2": "shipping_address_2",
        "receiver_suburb": "shipping_city", "receiver_state": "shipping_state",
        "receiver_postcode": "shipping_postcode", "receiver_email": "customer_email",
        "receiver_phone": "shipping_phone", "customer_reference": "order_number",
    }),
    "Etsy": (ETSY, {
        "receiver_name": "Full Name", "receiver_country": "Ship Country", "receiver_line1": "Street 1",
        "receiver_line2": "Street 2", "receiver_suburb": "Ship City", "receiver_state": "Ship State",
        "receiver_postcode": "Ship Zipcode", "customer_reference": "Order ID",
    }),
    "Etsy, by item": (ETSY_ITEMS, {
        "receiver_name": "Ship Name", "receiver_country": "Ship Country", "receiver_line1": "Ship Address1",
        "receiver_line2": "Ship Address2", "receiver_suburb": "Ship City", "receiver_state": "Ship State",
        "receiver_postcode": "Ship Zipcode", "customer_reference": "Order ID", "description": "Item Name",
        "item_1_value": "Price", "item_1_quantity": "Quantity",
    }),
    "eBay AU": (EBAY_AU, {
        "receiver_name": "Post to name", "receiver_country": "Post to country",
        "receiver_line1": "Post to address 1", "receiver_line2": "Post to address 2",
        "receiver_suburb": "Post to city", "receiver_state": "Post to state",
        "receiver_postcode": "Post to postcode", "receiver_email": "Buyer email", "receiver_phone": "Post to phone",
        "description": "Item title", "customer_reference": "Order number", "item_1_quantity": "Quantity",
    }),
    "eBay UK": (EBAY_UK, {
        "receiver_name": "Post to name", "receiver_country": "Post to country",
        "receiver_line1": "Post to address 1", "receiver_line2": "Post to address 2",
        "receiver_suburb": "Post to city", "receiver_state": "Post to county",
        "receiver_postcode": "Post to postcode", "receiver_email": "Buyer email", "receiver_phone": "Post to phone",
        "description": "Item title", "customer_reference": "Order number", "item_1_quantity": "Quantity",
    }),
    "eBay US": (EBAY_US, {
        "receiver_name": "Ship To Name", "receiver_country": "Ship To Country",
        "receiver_line1": "Ship To Address 1", "receiver_line2": "Ship To Address 2",
        "receiver_suburb": "Ship To City", "receiver_state": "Ship To State",
        "receiver_postcode": "Ship To Zip", "receiver_email": "Buyer Email", "receiver_phone": "Ship To Phone",
        "description": "Item Title", "customer_reference": "Order Number", "item_1_quantity": "Quantity",
    }),
    "Amazon": (AMAZON, {
        "receiver_name": "recipient-name", "receiver_country": "ship-country", "receiver_line1": "ship-address-1",
        "receiver_line2": "ship-address-2", "receiver_suburb": "ship-city", "receiver_state": "ship-state",
        "receiver_postcode": "ship-postal-code", "receiver_email": "buyer-email",
        "receiver_phone": "buyer-phone-number", "description": "product-name", "customer_reference": "order-id",
        "item_1_quantity": "quantity-to-ship",
    }),
    "Square": (SQUARE, {
        "receiver_name": "Recipient Name", "receiver_country": "Recipient Country",
        "receiver_line1": "Recipient Address", "receiver_line2": "Recipient Address 2",
        "receiver_suburb": "Recipient City", "receiver_state": "Recipient Region",
        "receiver_postcode": "Recipient Postal Code", "receiver_email": "Recipient Email",
        "receiver_phone": "Recipient Phone", "description": "Item Name", "customer_reference": "Order",
        "item_1_value": "Item Price", "item_1_quantity": "Item Quantity",
    }),
    "BigCommerce": (BIGCOMMERCE, {
        "receiver_name": "Shipping Name", "receiver_company": "Shipping Company",
        "receiver_country": "Shipping Country", "receiver_line1": "Shipping Street 1",
        "receiver_line2": "Shipping Street 2", "receiver_suburb": "Shipping Suburb",
        "receiver_state": "Shipping State", "receiver_postcode": "Shipping Zip", "receiver_email": "Shipping Email",
        "receiver_phone": "Shipping Phone", "customer_reference": "Order ID",
    }),
    "Starshipit": (STARSHIPIT, {
        "receiver_name": "Name", "receiver_company": "Company", "receiver_country": "Country",
        "receiver_line1": "Street", "receiver_line2": "Building", "receiver_suburb": "Suburb",
        "receiver_state": "State", "receiver_postcode": "Postcode", "receiver_email": "Email",
        "receiver_phone": "Telephone", "delivery_choice": "Delivery Instructions",
        "description": "Item Description", "customer_reference": "Order Number", "item_1_quantity": "Quantity",
        "weight": "Weight", "length": "Length", "width": "Width", "height": "Height",
    }),
    "a file of one's own": ("Ship To Postcode,Ship To Suburb,Delivery Address,Deliver To Name,Receiver Phone", {
        "receiver_postcode": "Ship To Postcode", "receiver_suburb": "Ship To Suburb",
        "receiver_line1": "Delivery Address", "receiver_name": "Deliver To Name", "receiver_phone": "Receiver Phone",
    }),
    "another": ("Ship To Postal Code,Delivery City,Delivery State,To Name", {
        "receiver_postcode": "Ship To Postal Code", "receiver_suburb": "Delivery City",
        "receiver_state": "Delivery State", "receiver_name": "To Name",
    }),
    "a third": ("Delivery Postcode,Recipient", {
        "receiver_postcode": "Delivery Postcode", "receiver_name": "Recipient",
    }),
}  # fmt: skip


def export(header: str | Sequence[str], *rows: Row, delimiter: str = ",") -> bytes:
    """Return a file with this header. Cells a row doesn't name are blank."""
    names, text = header.split(",") if isinstance(header, str) else header, io.StringIO()
    unknown = {name for row in rows for name in row} - set(names)
    assert not unknown, unknown
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([names, *([row.get(name, "") for name in names] for row in rows)])
    return text.getvalue().encode()


HOBART = ("4 Sample Street", "Hobart", "TAS", "7000", "AU")
OREGON = ("4 Sample Street", "Portland", "OR", "97205", "US")


def _shopify(number: str, name: str, place: tuple[str, ...]) -> Row:
    street, suburb, state, postcode, country = place
    return {
        "Name": f"#{number}", "Email": "noor@example.net", "Financial Status": "paid",
        "Fulfillment Status": "unfulfilled", "Currency": "AUD", "Lineitem quantity": "1", "Lineitem name": "Mug",
        "Lineitem price": "32.00", "Shipping Name": name, "Shipping Address1": street, "Shipping City": suburb,
        "Shipping Zip": f"'{postcode}", "Shipping Province": state, "Shipping Country": country,
    }  # fmt: skip


def _woocommerce(number: str, name: str, place: tuple[str, ...]) -> Row:
    first, _, last = name.partition(" ")
    street, suburb, state, postcode, country = place
    return {
        "Order Number": number, "Order Status": "Processing", "Email (Billing)": "noor@example.net",
        "First Name (Shipping)": first, "Last Name (Shipping)": last, "Address 1&2 (Shipping)": street,
        "City (Shipping)": suburb, "State Code (Shipping)": state, "Postcode (Shipping)": postcode,
        "Country Code (Shipping)": country, "Item Name": "Mug", "Quantity (- Refund)": "1", "Item Cost": "32.00",
    }  # fmt: skip


def _ebay(number: str, name: str, place: tuple[str, ...], to: str = "Post to", zip_code: str = "postcode") -> Row:
    street, suburb, state, postcode, country = place
    row = {
        "Sales record number": number, "Order number": f"12-{number}-67890", "Buyer email": "0a1b2c@members.example",
        f"{to} name": name, f"{to} address 1": street, f"{to} city": suburb, f"{to} state": state,
        f"{to} {zip_code}": postcode, f"{to} country": {"AU": "Australia", "US": "United States"}[country],
        "Item number": f"3344{number}", "Item title": "Mug", "Quantity": "1", "Paid on date": "19-Nov-26",
        "Transaction ID": f"77{number}",
    }  # fmt: skip
    return {name: text for name, text in row.items() if text}


def _ebay_uk(number: str, name: str, place: tuple[str, ...]) -> Row:
    return {part.replace("Post to state", "Post to county"): text for part, text in _ebay(number, name, place).items()}


def _ebay_us(number: str, name: str, place: tuple[str, ...]) -> Row:
    row = _ebay(number, name, place, "Ship to", "zip")
    return {part if part == "Transaction ID" else part.title(): text for part, text in row.items()}


def _etsy(number: str, name: str, place: tuple[str, ...]) -> Row:
    street, suburb, state, postcode, country = place
    return {
        "Sale Date": "11/19/26", "Order ID": number, "Full Name": name, "First Name": name.split()[0],
        "Last Name": name.split()[-1], "Street 1": street, "Ship City": suburb, "Ship State": state,
        "Ship Zipcode": postcode, "Ship Country": {"AU": "Australia", "US": "United States"}[country],
    }  # fmt: skip


def _amazon(number: str, name: str, place: tuple[str, ...]) -> Row:
    street, suburb, state, postcode, country = place
    return {
        "order-id": f"250-{number}-1234567", "order-item-id": f"99{number}", "buyer-email": "x@marketplace.example",
        "recipient-name": name, "ship-address-1": street, "ship-city": suburb.upper(), "ship-state": state,
        "ship-postal-code": postcode, "ship-country": country, "product-name": "Mug", "quantity-purchased": "1",
        "quantity-to-ship": "1",
    }  # fmt: skip


BELOW = b"\r\n%d,record(s) downloaded, from 1-Nov-26 to 20-Nov-26\r\nSeller ID : quillmugs\r\n"
# The header, a row of it, the sign between its cells, and what the shop writes below its orders.
SEVEN = {
    "Shopify": (SHOPIFY, _shopify, ",", b""),
    "WooCommerce": (WOOCOMMERCE, _woocommerce, ",", b""),
    "eBay Australia": (EBAY_AU, _ebay, ",", BELOW),
    "eBay UK": (EBAY_UK, _ebay_uk, ",", BELOW),
    "eBay US": (EBAY_US, _ebay_us, ",", BELOW),
    "Etsy": (ETSY, _etsy, ",", b""),
    "Amazon": (AMAZON, _amazon, "\t", b""),
}


def orders_of(shop: str, count: int, place: tuple[str, ...] = HOBART) -> bytes:
    """Return this shop's export with this many orders, each to a different name."""
    header, row, delimiter, below = SEVEN[shop]
    rows = [row(str(10_001 + at), f"Noor Tamsin{chr(97 + at % 26)}", place) for at in range(count)]
    return export(header, *rows, delimiter=delimiter) + (below % count if below else b"")
