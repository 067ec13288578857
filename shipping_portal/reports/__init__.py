"""Reports: what a sender's own charges, scans and dates show, and which parcels may qualify for a refund."""
