"""How the project's programs are called."""

import os
from typing import NoReturn

from tools.dev.environment import PYTHON, ROOT

WORKER = "--pool=threads --concurrency=8 --without-gossip --without-mingle --loglevel=INFO"
GUNICORN = "-c python:shipping_portal.gunicorn_settings --graceful-timeout=8"


def module(line: str) -> list[str]:
    """Return the command that runs a Python module with these words."""
    return [PYTHON, "-m", *line.split()]


def manage_py(line: str) -> list[str]:
    return [PYTHON, "manage.py", *line.split()]


def exec_module(program: str, words: list[str]) -> NoReturn:
    """Become a Python module of this project: the process goes on as that."""
    os.chdir(ROOT)
    os.execv(PYTHON, [PYTHON, "-m", program, *words])  # noqa: S606  (no shell is wanted)
