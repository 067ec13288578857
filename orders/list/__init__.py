"""The list of parcels: views, tabs, search and export."""
