"""The commands of `./dev`. Modules that `./dev run` needs use only the standard library: no .venv exists yet."""
