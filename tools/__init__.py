"""Programs for developers, none of which the portal needs: what `./dev` starts."""
