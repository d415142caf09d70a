"""The locked requirements in `requirements/*.lock`: one version and its hashes for every package
that the ranges allow, so that `make demo` installs the same tomorrow.

Each file holds what its group needs beyond the groups that it builds on.
`python -m infra.refresh.locks` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = "requirements"
# pip and the build of the launcher; the build of Horovod; the launcher; its extras; the SageMaker
# SDK and what runs in a rank; the development tools, and what the tests of dask and spark take.
BUILD, HOROVOD, LAUNCHER = "build", "horovod", "launcher"
AWS, GCP, DATA, DASK, SPARK, SCALING = "aws", "gcp", "data", "dask", "spark", "scaling"
TRAINING, DEVELOPMENT = "training", "dev"
# What `make environment` installs.
ENVIRONMENT = (BUILD, LAUNCHER, AWS, GCP, DATA, TRAINING)


class Locked(NamedTuple):
    """One package of a lock.

    Attributes:
        name: In the index's spelling.
        version: The one version.
        marker: For which Pythons and systems; empty for all.
        text: Its lines in the file, as pip reads them.
    """

    name: str
    version: str
    marker: str
    text: str

    def where(self, marker: str) -> Locked:
        """The same for those that ``marker`` names."""
        pinned = f"{self.name}=={self.version}"
        named = f"{pinned} ; {marker}" if marker else pinned
        return self._replace(marker=marker, text=named + self.text[len(pinned) :])


def file_of(root: Path, group: str) -> Path:
    """The lock of ``group`` in the clone ``root``."""
    return root / FOLDER / f"{group}.lock"


def read(root: Path, *groups: str) -> list[Locked]:
    """The packages of these groups, each once."""
    texts = (file_of(root, group).read_text("utf-8") for group in groups)
    return list(dict.fromkeys(package for text in texts for package in parse(text)))


def parse(text: str) -> Iterator[Locked]:
    """The packages of a lock's ``text``.

    Raises:
        ValueError: Something else than ``NAME==VERSION ; MARKER`` and hashes.
    """
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    for block in re.findall(r"^\S.*\n(?:[ \t].*\n)*", "".join(lines), re.MULTILINE):
        first = block.splitlines()[0].rstrip("\\ ")
        found = re.fullmatch(r"([a-z0-9-]+)==([^\s;]+)(?: ; (.*))?", first)
        if found is None:
            raise ValueError(f"no pinned requirement: {first}")
        yield Locked(found[1], found[2], found[3] or "", block)


def write_part(file: Path, packages: Iterable[Locked]) -> list[str]:
    """Writes ``packages`` into ``file`` and gives pip's words that install exactly these."""
    file.write_text("".join(package.text for package in packages), "utf-8")
    return ["--require-hashes", "--requirement", str(file)]
