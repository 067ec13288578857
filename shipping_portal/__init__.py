"""The wiring of the portal, and the apps that are its own."""

VERSION = "0.6.0"  # in the User-Agent; pyproject.toml, the image and CHANGELOG.md say the same
