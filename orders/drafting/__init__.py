"""What a sender types: the form of a parcel, its fields and rules, pasted addresses, kept sizes
and drafts.
"""
