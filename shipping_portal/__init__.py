"""Wire the portal and its own apps."""

VERSION = "0.17.0"  # in the User-Agent; pyproject.toml, the image and CHANGELOG.md say the same
