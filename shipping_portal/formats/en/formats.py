"""The admin works in UTC (settings.TIME_ZONE).

Senders' pages use their own zone, see `local_date`.
"""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
