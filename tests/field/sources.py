"""The sources that describe each export's columns, and the places where its receivers live."""

SOURCES = {
    "bigcommerce_orders.csv": ("AU", "https://docs.shift.hypaapps.com/docs/guides/orders/template"),
    "wix_orders.csv": ("AU", "https://support.starshipit.com/hc/en-us/articles/204503255-CSV-file-integration"),
    "squarespace_orders.csv": ("US", "https://help.infinitecatalog.com/article/85-squarespace"),
    "magento_orders.csv": ("AU", "https://github.com/magento/magento2/issues/39355"),
    "magento_grid.csv": ("AU", "https://github.com/magento/magento2/issues/39355"),
    "prestashop_orders.csv": ("CA", "https://github.com/DaraniShri/prestashop"),
    "ecwid_orders.csv": ("US", "https://api-docs.ecwid.com/reference/person-object"),
    "tiktok_orders.csv": ("US", "https://github.com/jeffpham2906/JP-Manager"),
    "walmart_orders.xlsx": (
        "US",
        "https://marketplacelearn.walmart.com/ca/guides/Order%20management/Order%20status/manage-order-status---acknowledge-ship-or-cancel-orders",
    ),
    "faire_orders.csv": ("US", "https://www.faire.com/support/articles/360019493092"),
    "lightspeed_customers.csv": ("AU", "https://ecom-support.lightspeedhq.com/hc/en-us/articles/360016065014"),
    "starshipit_template.csv": (
        "AU",
        "https://support.starshipit.com/hc/en-us/articles/204503255-CSV-file-integration",
    ),
    "sendle_fields.csv": ("AU", "https://developers.sendle.com/reference/prepare-form-url"),
    "australia_post_template.csv": ("AU", "https://auspost.com.au/help-and-support/sending-parcels-online-csv-upload"),
    "google_contacts.csv": ("AU", "https://github.com/owncloud-archive/contacts/issues/819"),
    "outlook_contacts.csv": ("US", "https://github.com/michalbe/csv2vcard"),
    "thunderbird_contacts.csv": ("CA", "https://github.com/owncloud-archive/contacts/issues/1108"),
    "mailchimp_audience.csv": ("AU", "https://mailchimp.com/developer/marketing/docs/account-exports/"),
    "xero_contacts.csv": ("AU", "https://help.xero.com/us/Contacts_Import"),
    "teapplix_orders.csv": ("US", "https://teapplix.com/help/?page_id=3930"),
    "own_bars_between_cells.txt": ("CA", ""),
    "own_shop_words_together.csv": ("AU", "https://pastebin.com/raw/b8C0Cdm2"),
    "woocommerce_customer_order_export.csv": ("US", "https://pastebin.com/GyL9anNk"),
    "spiffy_orders.csv": (
        "AU",
        "https://www.spiffystores.com.au/kb/index.php?diff=cur&oldid=4708&title=Downloading_Your_Orders",
    ),
    "own_city_state_zip_in_a_cell.csv": (
        "US",
        "https://help.tokenoftrust.com/article/761-can-i-provide-my-own-monthly-order-extracts",
    ),
    "own_title_above_the_header.xlsx": ("AU", ""),
    "own_title_with_commas.csv": ("AU", ""),
    "own_subtotals_between.csv": ("AU", ""),
    "own_pounds_and_ounces_in_a_cell.csv": ("US", ""),
    "own_weights_in_words.csv": ("AU", ""),
    "own_pounds_and_ounces_in_two_columns.csv": ("US", ""),
    "own_ounces.csv": ("US", ""),
    "own_grams_and_millimetres.csv": ("AU", ""),
    "own_decimal_commas.csv": ("AU", ""),
    "own_unicode_text.txt": ("AU", ""),
    "own_cr_line_ends.csv": ("AU", ""),
    "own_windows_letters.csv": ("CA", ""),
    "own_last_name_first.csv": ("US", ""),
    "own_last_name_first_unsaid.csv": ("US", ""),
    "own_surname_first.csv": ("AU", ""),
    "own_phones_without_zeros.csv": ("AU", ""),
    "own_postcodes_without_zeros.csv": ("AU", ""),
    "own_zips_as_numbers.xlsx": ("US", ""),
    "own_address_in_a_cell.csv": ("AU", ""),
    "own_address_on_lines.csv": ("AU", ""),
    "own_receivers_abroad.csv": ("AU", ""),
    "own_post_boxes.csv": ("AU", ""),
    "own_web_form.csv": ("AU", ""),
    "shopify_canada.csv": ("CA", "https://github.com/laplace-live/shopify-csv-converter"),
    "etsy_united_states.csv": ("US", "https://help.etsy.com/hc/en-us/articles/360000343508"),
    "amazon_united_states.txt": ("US", "https://sellercentral.amazon.com/gp/help/external/200547170"),
    "ebay_united_states.csv": ("US", "https://github.com/eugenmihailescu/ebay-purchase-report/issues/11"),
    "paypal_activity.csv": (
        "AU",
        "https://developer.paypal.com/api/nvp-soap/paypal-payments-standard/admin/download-history/",
    ),
    "gumroad_sales.csv": ("US", "https://github.com/antiwork/gumroad/pull/336"),
    "big_cartel_orders.csv": (
        "US",
        "https://help.shopify.com/en/manual/migrating-to-shopify/import-store-app/big-cartel",
    ),
    "pirate_ship_template.csv": (
        "US",
        "https://support.pirateship.com/en/articles/1804193-what-are-rubber-stamps-and-how-do-i-use-them",
    ),
    "shopify_customers.csv": ("US", "https://matrixify.app/documentation/customers/"),
    "depop_sales.csv": ("US", ""),
    "own_ticks.csv": ("AU", ""),
    "own_ticks_and_holds.csv": ("US", ""),
    "own_questions_of_a_form.csv": ("AU", ""),
    "eventbrite_attendees.csv": ("AU", ""),
    "own_carriers_template.csv": ("AU", ""),
    "bandcamp_orders.csv": ("AU", ""),
    "stamps_template.csv": ("US", ""),
    "own_french_names.csv": ("CA", ""),
    "own_reasons.csv": ("AU", ""),
    "own_dates_in_streets.csv": ("AU", ""),
    "own_marks.csv": ("AU", ""),
    "myob_customers.csv": ("AU", ""),
    "stripe_payments.csv": ("US", ""),
    "patreon_members.csv": ("US", ""),
}
PLACES = """country,suburb,state,postcode
AU,Fitzroy,VIC,3065
AU,Brunswick,VIC,3056
AU,Hobart,TAS,7000
AU,Sydney,NSW,2000
AU,Darwin City,NT,0800
AU,Mount Eliza,VIC,3930
AU,St Kilda,VIC,3182
AU,Parramatta,NSW,2150
AU,Fremantle,WA,6160
AU,Toowoomba City,QLD,4350
AU,Glenelg,SA,5045
AU,Braddon,ACT,2612
AU,Alice Springs,NT,0870
AU,O'Connor,ACT,2602
AU,Surry Hills,NSW,2010
AU,West End,QLD,4101
AU,Byron Bay,NSW,2481
AU,Ballarat Central,VIC,3350
US,Portland,OR,97205
US,Boston,MA,02118
US,Newark,NJ,07102
US,Austin,TX,78701
US,Saint Louis,MO,63101
US,Brooklyn,NY,11201
US,Burlington,VT,05401
US,Chicago,IL,60614
US,Denver,CO,80205
US,Seattle,WA,98101
US,Winston Salem,NC,27101
US,Salt Lake City,UT,84101
US,Fort Collins,CO,80521
US,Hartford,CT,06103
US,Providence,RI,02903
CA,Ottawa,ON,K1P 5M7
CA,Toronto,ON,M5V 2T6
CA,Montréal,QC,H3G 1Z5
CA,Vancouver,BC,V6T 1Z4
CA,Halifax,NS,B3H 4R2
CA,Calgary,AB,T2P 2M5
CA,Sherbrooke,QC,J1K 2R1
"""
