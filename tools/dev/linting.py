"""`./dev lint`, and `./dev lock`, which writes what it checks."""

import os
import subprocess
import sys

from tools.dev.environment import ROOT, VENV, prepare


def lint(_: list[str]) -> None:
    """Run every linter, and name those that complain."""
    prepare("dev")
    templates = sorted(map(str, ROOT.glob("templates/**/*.html")))
    checks = {
        "ruff": ["ruff", "check"],
        "format": ["ruff", "format", "--check"],
        "mypy": ["mypy"],
        "imports": ["lint-imports"],
        "templates": ["djade", "--target-version=5.2", "--check", *templates],
    }
    env = {**os.environ, "TESTING": "1"}  # mypy's Django plugin loads the settings
    failed = [
        name
        for name, (program, *words) in checks.items()
        if subprocess.run([str(VENV / "bin" / program), *words], cwd=ROOT, env=env).returncode
    ]
    # A lock that names an index would send everybody to the index that its author's machine uses.
    grep = ["git", "grep", "--untracked", "--line-number", "-E", "index-url|find-links|https?:", "--", "requirements"]
    if subprocess.run(grep, cwd=ROOT).returncode != 1:  # 1 = not found
        failed.append("no address in a lock")
    sys.exit("Failed: " + ", ".join(failed) if failed else 0)


def lock(words: list[str]) -> None:
    """Write universal locks: Python 3.11.2 needs async-timeout, which a newer one's lock would leave out."""
    prepare("dev")
    every_python = "pip compile pyproject.toml --quiet --universal --python-version=3.11.2 --generate-hashes"
    no_place = "--no-header --no-annotate --no-emit-index-url --no-emit-find-links"
    # Each has those before it at the same versions: what a server, ./dev run, a server with a bucket for labels and
    # ./dev test need.
    locks = {
        "production": "--extra=postgres",
        "run": "--extra=postgres --group=run --constraint=requirements/production.txt",
        "production-s3": "--extra=postgres --extra=s3 --constraint=requirements/production.txt",
        "dev": (
            "--extra=postgres --extra=s3 --group=run --group=test --group=lint --constraint=requirements/run.txt"
            " --constraint=requirements/production-s3.txt"
        ),
    }
    for name, what in locks.items():
        into = f"--output-file=requirements/{name}.txt"
        uv = [str(VENV / "bin" / "uv"), *every_python.split(), *no_place.split(), *what.split(), into, *words]
        subprocess.run(uv, cwd=ROOT, check=True)
