"""``python -m tests.corpus.captures [FOLDER]``: an environment for each version of the SDK, made in
FOLDER from the package index where it is not there, and the requests of its calls, written anew.

Takes minutes and some GB; no test runs it. Verdicts are written by hand: a request without one
fails tests/corpus/test_verdicts.py.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

VERSIONS = ("2.100.0", "2.200.1", "2.257.7", "3.27.0")
HERE = Path(__file__).parent
CAPTURED = HERE.parent / "captured"


def environment(folder: Path, version: str) -> Path:
    """The Python that has this version."""
    python = folder / f"sm-{version}" / "bin" / "python"
    if not python.exists():
        venv.create(folder / f"sm-{version}", with_pip=True)
        # Older ones import pkg_resources.
        packages = [f"sagemaker=={version}", "setuptools<70"]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def main(folder: Path) -> None:
    """Capture the calls of every version."""
    for version in VERSIONS:
        python = environment(folder, version)
        into = CAPTURED / version
        into.mkdir(parents=True, exist_ok=True)
        for old in into.glob("*.json"):
            if old.name != "verdicts.json":
                old.unlink()
        print(version, flush=True)
        subprocess.run([python, HERE / "driver.py", version, into], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="sdks-")).resolve())
