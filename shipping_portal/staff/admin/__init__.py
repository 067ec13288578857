"""Register the pages that combine several apps on the staff site, one module per subject."""

from shipping_portal.staff.admin import audit, carrier, charges, orders, recovery, senders
