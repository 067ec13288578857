"""How Django's own pages, above all the admin's, write times: one form, with its zone."""
