"""The words for places, by country."""

PLACE = ("receiver_suburb", "receiver_state", "receiver_postcode")
LABELS = {
    "AU": ("Suburb", "State", "Postcode"),
    "CA": ("City", "Province", "Postal code"),
    "US": ("City", "State", "ZIP code"),
    "GB": ("Town or city", "County", "Postcode"),
    "FR": ("City", "State or province", "Postcode"),
    "ZZ": ("City", "State or province", "Postcode"),
}
ASKED = {
    "AU": ("Enter the suburb.", "Enter the postcode.", "Leave out the suburb and postcode."),
    "CA": ("Enter the city.", "Enter the postal code.", "Leave out the city and postal code."),
    "US": ("Enter the city.", "Enter the ZIP code.", "Leave out the city and ZIP code."),
    "GB": ("Enter the town or city.", "Enter the postcode.", "Leave out the town or city and postcode."),
    "FR": ("Enter the city.", "Enter the postcode.", "Leave out the city and postcode."),
    "ZZ": ("Enter the city.", "Enter the postcode.", "Leave out the city and postcode."),
}
