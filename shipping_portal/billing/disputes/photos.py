"""Store a dispute's photos, identified by their first bytes, without camera metadata."""

import hashlib
import re

from django.http import HttpResponse

from shipping_portal.accounts.models import Sender
from shipping_portal.billing.models import DisputePhoto

MOST_BYTES = 2_000_000
# HEIC is no longer accepted
KINDS = {"jpg": "image/jpeg", "png": "image/png", "heic": "image/heic"}
PNG = b"\x89PNG\r\n\x1a\n"
# What a decoder needs. Other chunks or segments may tell where, when and by whom a photo was taken.
CHUNKS = {
    b"IHDR",
    b"PLTE",
    b"IDAT",
    b"IEND",
    b"tRNS",
    b"gAMA",
    b"cHRM",
    b"sRGB",
    b"iCCP",
    b"sBIT",
    b"pHYS",
    b"bKGD",
}
PICTURE_ENDS, SCAN_BEGINS, COMMENT = 0xD9, 0xDA, 0xFE
NOTES = range(0xE1, 0xF0)  # these are APP1 to APP15
COLOURS = {0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
NEXT_MARKER = re.compile(rb"\xff(?![\x00\xd0-\xd7\xff])")  # inside scan data these aren't markers


class NotAPhoto(Exception):
    """Raised if the file isn't a photo. The text is for the sender."""


def strip_photo(content: bytes) -> tuple[str, bytes]:
    """Return the kind (by content, not name) and the picture without metadata. Raises NotAPhoto."""
    if len(content) > MOST_BYTES:
        raise NotAPhoto(f"This photo is {len(content) / 1e6:.1f} MB. Send a copy of 2 MB or less.")
    try:
        if content.startswith(b"\xff\xd8\xff"):
            return "jpg", _strip_jpeg(content)
        if content.startswith(PNG):
            return "png", _strip_png(content)
    except (IndexError, ValueError) as error:
        raise NotAPhoto(
            "This photo is damaged or cut off. Open it, save it as a JPEG, and send that."
        ) from error
    raise NotAPhoto("This isn't a photo we can take. Send a JPEG or PNG.")


def _strip_jpeg(content: bytes) -> bytes:
    """Copy the picture's segments. Data after its end, such as a video, is left out."""
    kept, at = [content[:2]], 2
    while (marker := _read_marker(content, at)) != PICTURE_ENDS:
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4])
        if end < at + 4:
            raise ValueError("a segment without a length")
        if marker == SCAN_BEGINS:
            found = NEXT_MARKER.search(content, end)
            if found is None:
                raise ValueError("a scan without an end")
            end = found.start()
        if marker != COMMENT and (
            marker not in NOTES or content.startswith(COLOURS.get(marker, b"-"), at + 4)
        ):
            kept.append(content[at:end])
        at = end
    return b"".join([*kept, b"\xff\xd9"])


def _read_marker(content: bytes, at: int) -> int:
    if content[at] != 0xFF:
        raise ValueError("no marker where one has to be")
    return content[at + 1]


def _strip_png(content: bytes) -> bytes:
    kept, at, name = [PNG], len(PNG), b""
    while name != b"IEND":
        end = at + 12 + int.from_bytes(content[at : at + 4])
        name = content[at + 4 : at + 8]
        if end > len(content):
            raise ValueError("a chunk beyond the end")
        if name in CHUNKS:
            kept.append(content[at:end])
        at = end
    return b"".join(kept)


def keep_photo(content: bytes, sender: Sender) -> DisputePhoto:
    """Store the picture. Raises NotAPhoto."""
    kind, picture = strip_photo(content)
    return DisputePhoto.objects.create(
        sender=sender, kind=kind, sha256=hashlib.sha256(picture).hexdigest(), content=picture
    )


def photo_download(photo: DisputePhoto) -> HttpResponse:
    """Send the bytes as a download: a browser neither displays them nor guesses their type."""
    response = HttpResponse(bytes(photo.content), content_type=KINDS[photo.kind])
    response["Content-Disposition"] = f'attachment; filename="{photo}"'
    return response
