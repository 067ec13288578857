"""Format the admin's times in the operators' zone (settings.TIME_ZONE), always named.

Senders' pages use their own zone; see `local_date`.
"""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = r"j M Y, H:i T"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
