"""The commands of the README."""

TYPED = {
    "receiver_name": "Noor Tamsin",
    "receiver_country": "AU",
    "receiver_line1": "4 Sample Street",
    "receiver_suburb": "Hobart",
    "receiver_state": "TAS",
    "receiver_postcode": "7000",
    "receiver_email": "noor.tamsin@example.net",
    "delivery_choice": "none",
    "description": "Boxed ceramic mugs",
    "weight_kg": "2.4",
    "length_cm": "32",
    "width_cm": "24",
    "height_cm": "11",
}
