"""List the normalised names that shops, spreadsheets and people give our fields.

The first name found in a file is used.

A receiver's column may also say whose it is: “Ship to city”, “City (Shipping)”. Names of measures
are without units.
"""

from shipping_portal.importing.headings import split_words

LAST_FIRST = "name last first"  # “Name (Last, First)”
# A blank name for a weight means a column named only by its unit, such as “kg”.
TABLE = """
receiver_name: name, full name, recipient name, recipient, receiver, contact name, customer name,
    attention to, attn, attention, first name, firstname, given name, given names, buyer name,
    deliver to, ship to, send to, addressee, retailer name, to, who, customer, contact, name last
    first, nom complet, destinataire, nom du destinataire, prenom, nom, buyer first name, customer
    first name, guest name, attendee name, member name, donor name, client name, client, consignee,
    consignee name, recipients name
receiver_last_name: last name, lastname, surname, family name, nom de famille, nom, buyer last
    name, customer last name, co last name
receiver_company: company name, company, business name, organization name, organisation,
    organization, organisation name, organization 1 name, entreprise, societe, compagnie, nom de l
    entreprise
receiver_country: country, country code, country name, country id, country region, pays
receiver_line1: address 1, address 1 2, address line 1, line 1, street 1, street address, street,
    address one, address, adresse, adresse 1, adresse ligne 1, rue, addr 1, addr,
    street address line 1
receiver_line3: address 3, address line 3, line 3, street 3
receiver_line2: address 2, address line 2, line 2, address two, street 2, unit, building, unit
    number, apt, apartment, suite, flat, apt suite, apt suite etc, apartment suite etc, apartment
    unit etc, adresse 2, adresse ligne 2, appartement, complement d adresse, address line 2
    district neighborhood, addr 2, street address line 2
receiver_suburb: suburb, city, town, suburb town, suburb city, town city, city town, town suburb,
    city suburb, suburb or town, town or suburb, suburb or city, city or suburb, town or city,
    city or town, locality, ville, municipalite
receiver_state: state, state code, state name, state or province code, state or province, state
    province, state region, state territory, state or territory, state county, state abbreviation,
    province, province code, region, region code, county, state province region county territory
    prefecture republic, state terr
receiver_postcode: postcode, post code, postal code, zip code, zipcode, zip, zip postal code, zip
    postcode, postal, p code, pcode, pc, code postal, zip postal
receiver_email: email, e mail, email address, customer email, buyer email, contact email, primary
    email, e mail 1 value, e mail address, mail, email billing, billing email, courriel, adresse
    courriel, adresse de courriel, adresse e mail, e mail addr, email addr
receiver_phone: phone, phone number, telephone, mobile, mobile number, contact number, telephone
    number, phone mobile, mobile phone, phone 1 value, home phone, buyer phone number, customer
    phone number, customer phone, phone billing, billing phone, contact phone, contact phone
    number, cell phone, cell, phone no, mobile no, tel, tel no, contact no, daytime phone, numero
    de telephone, cellulaire, phone no 1, ph, ph no, mob, mob no
receiver_instructions: delivery instructions, instructions, delivery note, delivery notes,
    delivery special instruction 1, customer note, notes, customer notes, notes from customer,
    special instructions, shipping instructions, driver instructions, courier instructions,
    delivery comments, instructions de livraison
delivery_choice: delivery instructions, instructions, delivery note
description: whats inside, contents, lineitem name, item name, item title, product name, item
    description, parcel contents, goods, description, item, product, products, what, what would
    you like to order, what would you like, order items, items ordered, content, contents
    description, description of contents, description of goods, contenu
customer_reference: your order number, order number, order no, order id, sales record number,
    order name, order reference, order ref, customer reference, sender reference 1, increment id,
    invoice number, po number, backer number, reference, ref, order, customer ref, numero de
    commande, no de commande, commande, name, ord no, ref no, reference no
weight: weight, , ship weight, shipping weight, total weight, weight value, combined product
    weight, item weight, lineitem weight, product weight, unit weight, poids, wt
length: length, item length, l, longueur, len
width: width, item width, w, largeur, wid
height: height, item height, depth, h, hauteur, ht, hgt
weight_unit: weight unit, weight units, unit of weight
size_unit: dimension unit, dimensions unit, dimension units, dimensions units, unit of dimensions,
    size unit, size units, units, length unit, unit of measures
dimensions: dimensions, dimension, dims, box size, box dimensions, package size, package
    dimensions, parcel size, parcel dimensions, l x w x h, lxwxh, lwh, l w h, size l x w x h,
    dimensions l x w x h, dimensions lxwxh, size lxwxh, size
ounces: ounces, oz, weight oz, weight ounces
pickup_day: pickup date, pickup day, pick up date, pick up day, collection date, collection day
address: full address, whole address, mailing address, city state zip, city state and zip, city
    state zip code, city state postcode, suburb state postcode
currency: currency, order currency, currency code, order currency code, presentment currency
authority_to_leave: authority to leave, atl, safe to leave, leave unattended, can be left
signature_required: signature required, signature on delivery, signature, signature confirmation,
    requires signature, sign on delivery
cover_amount: extra cover, extra cover up to, insured value, insurance
item_1_description: customs description
item_1_value: customs value, item value, value, unit price, item unit price, lineitem price, item
    price, item cost, product price, price each, wholesale price, price
item_1_quantity: lineitem quantity, item quantity, quantity refund, quantity to ship, quantity
    purchased, product quantity, quantity, qty, item qty, product qty, quantite
item_1_origin: country of origin, origin, made in
item_1_hs_code: tariff code, harmonized code
"""


def _read_table(text: str) -> dict[str, tuple[str, ...]]:
    """Return the names by our field.

    A line that begins with a space continues the line above.
    """
    lines = (line.partition(": ") for line in text.replace("\n    ", " ").strip().splitlines())
    return {name: split_words(words) for name, _, words in lines}


SYNONYMS = _read_table(TABLE)
