"""Files as senders upload them."""


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2) + content


SCAN = segment(0xDA, b"\x01") + b"a picture \xff\x00 \xff\xd0 goes on" + segment(0xDA, b"\x02") + b"and on"
JPEG = b"\xff\xd8" + segment(0xE0, b"JFIF\0") + segment(0xE2, b"ICC_PROFILE\0colours") + SCAN + b"\xff\xd9"
