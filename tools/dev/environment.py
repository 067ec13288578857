"""The virtual environment of this clone: .venv, with the packages of a file in requirements/."""

import contextlib
import fcntl
import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

from tools.dev.steps import begin_step, end_steps

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = str(VENV / "bin" / "python")


def prepare(lock: str) -> None:
    """Make .venv and install requirements/<lock>.txt into it, unless that very file is installed already."""
    file, stamp = ROOT / "requirements" / f"{lock}.txt", VENV / "installed.txt"
    # dev.txt holds all of run.txt at the same versions: with dev.txt installed, run.txt is too.
    locks = [file] if lock == "run" else [file, file.with_name("run.txt")]
    digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in locks]
    with file.open() as locked:
        # With two terminals in a fresh clone, the second waits for the first.
        fcntl.flock(locked, fcntl.LOCK_EX)
        make_venv()
        if stamp.exists() and digests[0] in stamp.read_text().split():
            return
        begin_step(f"Installing requirements/{lock}.txt; the first time this takes a minute")
        pip = [PYTHON, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
        if subprocess.run([*pip, "--require-hashes", "-r", str(file)]).returncode:
            sys.exit(f"requirements/{lock}.txt could not be installed. The lines above say why.")
        stamp.write_text("\n".join(digests))
        end_steps()


def make_venv() -> None:
    """Make .venv. Make it again when its Python is gone or too old, or when the folder was copied here."""
    old_enough = "import sys; sys.exit(sys.version_info < (3, 11))"
    with contextlib.suppress(OSError):
        was_made_here = str(VENV) in (VENV / "bin" / "activate").read_text()
        if was_made_here and subprocess.run([PYTHON, "-c", old_enough]).returncode == 0:
            return
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        sys.exit("This Python lacks its venv module. On Debian and Ubuntu: apt-get install python3-venv")
    begin_step("Making .venv")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    end_steps()


def package_folder(package: str) -> Path:
    """Return the folder of an installed package, found without importing it."""
    code = f"import importlib.util as u; print(u.find_spec({package!r}).submodule_search_locations[0])"
    return Path(subprocess.check_output([PYTHON, "-c", code], text=True).strip())
