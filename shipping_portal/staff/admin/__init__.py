"""Register the pages that join several apps, by noun, on the staff site."""

from shipping_portal.staff.admin import audit, carrier, charges, orders, recovery, senders
