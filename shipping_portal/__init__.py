"""Wire the portal and its own apps."""

VERSION = "0.18.0"  # in the User-Agent; pyproject.toml, the image and CHANGELOG.md say the same
