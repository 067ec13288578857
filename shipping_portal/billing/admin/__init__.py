"""Show billing to operators: reports, profiles, lines, terms, disputes and credits."""

from shipping_portal.billing.admin import charges, columns, disputes, reports, words
