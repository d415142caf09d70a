"""What Spark unpacks beside its executors, made from little: the bundle, and an environment."""

from __future__ import annotations

import os
import sys
import sysconfig
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.places import ENTRYPOINTS


def bundle(path: Path) -> Path:
    """Our own files at the root, as in a job's bundle, without a user's tree."""
    with tarfile.open(path, "w:gz") as tar:
        for name in ("guard.py", "launch_runtime"):
            tar.add(ENTRYPOINTS / name, name)
    return path


def environment(path: Path, packages: Sequence[Path] = ()) -> Path:
    """What venv-pack makes of this environment, but for its packages: these lie where they are.

    Args:
        path: To be written; .tgz.
        packages: More folders of them.
    """
    folder = path.with_suffix("")
    site = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    real = os.path.realpath(sys.executable)
    (folder / "bin" / "python").symlink_to(real)
    (folder / "pyvenv.cfg").write_text(f"home = {os.path.dirname(real)}\n")
    listed = [sysconfig.get_paths()["purelib"], *map(str, packages)]
    (site / "packages.pth").write_text("".join(f"{folder}\n" for folder in listed))
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, ".")
    return path
