"""Call the carrier: accounts and contracts, the entry point to each call, rates and waiting."""
