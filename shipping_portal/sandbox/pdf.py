"""One-page PDF files of text and filled rectangles (ISO 32000-1), repeatable byte for byte."""


class Page:
    """A page in points, origin at the bottom left."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._marks: list[str] = []

    def text(self, x: float, y: float, size: float, words: str, *, bold: bool = False) -> None:
        """Write ``words`` with the baseline starting at (x, y)."""
        font = "F2" if bold else "F1"
        self._marks.append(f"BT /{font} {size:g} Tf {x:.2f} {y:.2f} Td ({_escaped(words)}) Tj ET")

    def bar(self, x: float, y: float, width: float, height: float) -> None:
        """Fill a black rectangle."""
        self._marks.append(f"{x:.3f} {y:.3f} {width:.3f} {height:.3f} re f")

    def file(self, title: str) -> bytes:
        """Return the whole file. It has no date or random id, so equal pages give equal bytes."""
        content = "\n".join(self._marks).encode("cp1252")
        fonts = "/F1 5 0 R /F2 6 0 R"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.width:g} {self.height:g}] "
            f"/Resources << /Font << {fonts} >> >> /Contents 4 0 R >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            _font("Helvetica"),
            _font("Helvetica-Bold"),
            f"<< /Title ({_escaped(title)}) >>".encode("cp1252"),
        ]
        return _assembled(objects)


def _font(name: str) -> bytes:
    return (
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
    )


def _assembled(objects: list[bytes]) -> bytes:
    raw = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    offsets = []
    for number, entry in enumerate(objects, start=1):
        offsets.append(len(raw))
        raw += b"%d 0 obj\n%s\nendobj\n" % (number, entry)
    start = len(raw)
    raw += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    raw += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size, info = len(objects) + 1, len(objects)
    raw += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (size, info)
    return raw + b"startxref\n%d\n%%%%EOF\n" % start


def _escaped(words: str) -> str:
    """Return text safe inside a PDF string.

    Letters outside the font's alphabet may vanish, as the carrier warns.
    """
    kept = words.encode("cp1252", "replace").decode("cp1252")
    kept = "".join(letter if letter.isprintable() else " " for letter in kept)
    return kept.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
