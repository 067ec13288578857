"""Photos of a dispute: what kind of file it is by its first bytes, and the way its bytes are given out."""

import hashlib

from django.http import HttpResponse

from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import DisputePhoto

MOST_BYTES = 2_000_000
KINDS = {"jpg": "image/jpeg", "png": "image/png", "heic": "image/heic"}
HEIC_BRANDS = {b"heic", b"heix", b"mif1"}


class NotAPhoto(Exception):
    """Its words are for the sender."""


def photo_kind(content: bytes) -> str:
    """Return a name of KINDS by what is in the file, whatever it is called. Raises NotAPhoto."""
    if len(content) > MOST_BYTES:
        raise NotAPhoto(f"This photo is {len(content) / 1e6:.1f} MB. Send a copy of 2 MB or less.")
    if content.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content[4:8] == b"ftyp" and content[8:12] in HEIC_BRANDS:
        return "heic"
    raise NotAPhoto("This isn't a photo we can take. Send a JPEG, PNG or HEIC.")


def keep_photo(content: bytes, sender: Sender) -> DisputePhoto:
    """Store the bytes as they came. Raises NotAPhoto."""
    sha256 = hashlib.sha256(content).hexdigest()
    return DisputePhoto.objects.create(sender=sender, kind=photo_kind(content), sha256=sha256, content=content)


def download(photo: DisputePhoto) -> HttpResponse:
    """Give the bytes out as a file to keep: a browser neither shows them nor guesses what they are."""
    response = HttpResponse(bytes(photo.content), content_type=KINDS[photo.kind])
    response["Content-Disposition"] = f'attachment; filename="{photo}"'
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
