"""Billing as operators see it: reports and how they are written, lines of money, words, disputes and credits."""

from shipping_portal.billing.admin import charges, columns, disputes, reports, words

__all__ = ["charges", "columns", "disputes", "reports", "words"]
