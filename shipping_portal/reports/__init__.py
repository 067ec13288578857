"""Reports: what a sender's own charges, scans and dates teach, and which parcels may qualify for a refund."""
