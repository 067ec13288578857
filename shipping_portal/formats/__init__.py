"""How Django's own pages, above all the desk's, write times: one form, with its zone."""
