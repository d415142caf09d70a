"""What every data table begins with: the pictures, and the same as a place of Parquet."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.data.pictures import SIDE, cached_pictures, write_pictures
from tests.benchmarks.data.sizes import SMALL, Sizes
from tests.benchmarks.measure import peer, quiet_environment
from tests.places import ENTRYPOINTS

# The newest that runs with the last pyarrow that petastorm works with, and the TensorFlow of ours.
_PETASTORM = ("petastorm==0.12.1", "pyarrow==14.0.2", "numpy<2", "setuptools<70", "pillow")


@dataclass(frozen=True)
class Made:
    """Where the pictures are: ``images`` class folders, ``train`` a folder of Parquet files."""

    images: Path
    place: Path

    @property
    def train(self) -> Path:
        """Of the only split."""
        return self.place / "train"


@contextlib.contextmanager
def made(sizes: Sizes, count: int, side: int = SIDE) -> Iterator[Made]:
    """Both, for as long as the context lasts; the pictures are kept in the cache, but small ones.

    Their file size is such that there are several files, several row groups each.
    """
    with tempfile.TemporaryDirectory(prefix="launch-data-") as name:
        images, place = Path(name, "images"), Path(name, "place")
        if count <= SMALL:
            write_pictures(images, count, side, processes=1)
        else:
            images = cached_pictures(count, side)
        convert(images, place, "--workers", str(sizes.workers))
        yield Made(images, place)


@dataclass(frozen=True)
class Conversion:
    """Seconds of a conversion: from the moment when its workers were up, and before that."""

    seconds: float
    starting: float


def convert(images: Path, place: Path, *arguments: str) -> Conversion:
    """Run ``convert_images.py``; its files hold 16 MiB of originals.

    Raises:
        RuntimeError: It failed; what it said is in the message.
    """
    words = [sys.executable, str(ENTRYPOINTS / "convert_images.py"), str(images), str(place)]
    words += ["--events", "json", "--file-size", "16MiB", *arguments]
    begin, ready, ended = time.perf_counter(), 0.0, 0.0
    lines: list[str] = []
    with subprocess.Popen(
        words,
        env=quiet_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout
        for line in running.stdout:
            lines.append(line)
            event = json.loads(line)
            if event["event"] == "ready":
                ready = time.perf_counter()
            if event["event"] == "result":
                ended = time.perf_counter()
    if running.returncode or not ready:
        raise RuntimeError(
            f"{' '.join(words)}: exit {running.returncode}\n{''.join(lines)[-2000:]}"
        )
    return Conversion(ended - ready, ready - begin)


def petastorm() -> str:
    """The Python of petastorm's own environment, made once."""
    import tensorflow as tf

    return str(peer("petastorm", *_PETASTORM, f"tensorflow-cpu=={tf.__version__}"))
