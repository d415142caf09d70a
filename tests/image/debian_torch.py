"""A small base image that has PyTorch: Debian's own, taken from this machine as apt installed it.

`python -m tests.image.debian_torch` makes it; CI does so before the tests. An `apt-get install` in
a layer took 2:13 and 1.27 GB, since OpenCV, FFmpeg and their drivers come along; this takes the
packages' own files and the libraries that they link, over Debian's base image: 0:39 and 0.7 GB.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from launchers.docker.engine import engine

BASE = "debian:bookworm-slim"
TAG = "launch-debian-torch:bookworm"
PACKAGES = (
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "python3-astunparse",
    "python3-minimal",
    "python3-numpy",
    "python3-six",
    "python3-torch",
    "python3-typing-extensions",
    "python3.11-minimal",
)
_LEFT_OUT = re.compile(r"/usr/share/(doc|man|lintian)/|/__pycache__/|/torch/(test|include)/")
_DOCKERFILE = (
    f"FROM {BASE}\nADD layer.tar /\nRUN ldconfig && python3 -c 'import torch.distributed'\n"
)


def make() -> str:
    """Make the image, or take its layers from the engine's cache; gives its name.

    Raises:
        SystemExit: This machine has no such packages.
    """
    files = {path for path in _said(["dpkg", "-L", *PACKAGES]) if not _LEFT_OUT.search(path)}
    # The base has its own version of the C library.
    own = {path for path in _said(["dpkg", "-L", "libc6"]) if ".so" in path}
    compiled = [path for path in files if ".so" in path and Path(path).is_file()]
    linked = set(re.findall(r"=> (/\S+)", "\n".join(_said(["ldd", *compiled], check=False))))
    files |= linked - own - {path.removeprefix("/usr") for path in own}
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, content in (("Dockerfile", _DOCKERFILE.encode()), ("layer.tar", _layer(files))):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    context.seek(0)
    with closing(engine()) as client:
        client.images.build(fileobj=context, custom_context=True, tag=TAG, rm=True, forcerm=True)
    return TAG


def _layer(files: Iterable[str]) -> bytes:
    """A tar of these files and links of this machine, each below its real folder."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for name in sorted(_with_targets(files)):
            archive.add(name, name.lstrip("/"), recursive=False)
    return layer.getvalue()


def _with_targets(files: Iterable[str]) -> set[str]:
    """The files by the path that leads through no link (/lib is one), and what links lead to."""
    found: set[str] = set()
    for file in files:
        path = Path(file)
        if path.is_dir() or not path.exists():
            continue
        path = path.parent.resolve() / path.name
        while str(path) not in found:
            found.add(str(path))
            if path.is_symlink():
                target = path.parent / path.readlink()
                path = target.parent.resolve() / target.name
    return found


def _said(command: list[str], check: bool = True) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{done.stderr.strip()}: apt-get install python3-torch (Debian 12)")
    return done.stdout.splitlines()


if __name__ == "__main__":
    print(make())
