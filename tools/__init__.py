"""Programs for developers, which `./dev` starts. The portal needs none of them."""
