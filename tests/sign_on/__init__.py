"""Sign-on at the partner, against a real OpenID provider."""
