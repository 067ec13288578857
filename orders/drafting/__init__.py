"""Take what a sender types: the parcel's form and rules, pasted addresses, sizes and drafts."""
