"""Report on a sender's charges, scans and dates, and on parcels that may qualify for a refund."""
