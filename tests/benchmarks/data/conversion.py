"""data-conversion: pictures resized with one augmented copy each, by each engine beside a plain
loop in one process; and copied as they are. Start-up is in a column of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from tests.benchmarks.data.making import Conversion, convert
from tests.benchmarks.data.pictures import cached_pictures, write_pictures
from tests.benchmarks.data.racing import READERS
from tests.benchmarks.data.sizes import SMALL, Sizes
from tests.benchmarks.measure import print_table, quiet_environment, with_spread
from tests.places import ENTRYPOINTS

LOOP = "plain loop"
SIDE = 224
GOALS = {"process": "1.7 x the loop", "dask": "0.8 x process", "spark": "0.8 x process"}


def run(sizes: Sizes) -> dict[str, dict[str, list[float]]]:
    """Print both tables; gives pictures a second by engine."""
    with tempfile.TemporaryDirectory(prefix="launch-data-") as name:
        images = Path(name, "images")
        if sizes.converted <= SMALL:
            write_pictures(images, sizes.converted, processes=1)
        else:
            images = cached_pictures(sizes.converted)
        changed = ["--size", str(SIDE), "--augment", "crop,flip", "--copies", "1"]
        loop = ["--size", str(SIDE), "--copies", "1"]
        engines = ["process", "dask", "spark"] if sizes.peers else ["process"]
        workers = ["--workers", str(sizes.workers)]

        def by(engine: str, arguments: list[str]) -> Callable[[], Conversion]:
            words = ["--engine", engine, *workers, *arguments]
            return lambda: convert(images, _free(Path(name, "place")), *words)

        def looped(arguments: list[str]) -> Callable[[], Conversion]:
            return lambda: _by_loop(images, Path(name, "loop.parquet"), arguments)

        ways = {LOOP: looped(loop), **{engine: by(engine, changed) for engine in engines}}
        resized = _table(f"resized to {SIDE}, one augmented copy", ways, sizes)
        ways = {LOOP: looped([]), "process": by("process", [])}
        copied = _table("copied as they are", ways, sizes)
    return {"conversion, resized with a copy": resized, "conversion, copied": copied}


def _free(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return place


def _by_loop(images: Path, out: Path, arguments: list[str]) -> Conversion:
    words = [sys.executable, str(READERS / "plain_loop.py"), str(images), str(out), *arguments]
    environment = quiet_environment(PYTHONPATH=str(ENTRYPOINTS))
    said = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    return Conversion(json.loads(said.stdout)["seconds"], 0.0)


def _table(
    what: str, ways: Mapping[str, Callable[[], Conversion]], sizes: Sizes
) -> dict[str, list[float]]:
    found: dict[str, list[Conversion]] = {name: [] for name in ways}
    for _ in range(sizes.runs):
        for name, way in ways.items():
            found[name].append(way())
    rates = {name: [sizes.converted / one.seconds for one in all_] for name, all_ in found.items()}
    rows = [
        [
            name,
            f"{median(rates[name]):,.0f}",
            f"{min(rates[name]):,.0f} to {max(rates[name]):,.0f}",
            *(_beside(rates[name], rates[other], name == other) for other in (LOOP, "process")),
            f"{median([one.starting for one in found[name]]):.1f}",
            GOALS.get(name, "") if what.startswith("resized") else "",
        ]
        for name in ways
    ]
    columns = ["way", "originals/s", "spread", "beside the loop", "beside process", "start-up, s"]
    print_table(
        f"{sizes.converted:,} pictures {what}, {sizes.workers} workers, "
        f"medians of {sizes.runs} rounds in turn",
        [*columns, "goal"],
        rows,
    )
    return rates


def _beside(ours: list[float], theirs: list[float], same: bool) -> str:
    if same:
        return ""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return with_spread(ratios)
