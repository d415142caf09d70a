"""data-resnet: two ranks train ResNet50 on Parquet and on files, in turn: pictures a second, and
the share of a step that waits for data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.data.making import Made, made
from tests.benchmarks.data.racing import QUIET, READERS
from tests.benchmarks.data.sizes import SMALL, Sizes
from tests.benchmarks.measure import median, print_table, quiet_environment, with_spread
from tests.places import ENTRYPOINTS

RANKS = 2


def run(sizes: Sizes) -> None:
    """Print the table."""
    found: dict[str, list[dict[str, float]]] = {"parquet": [], "files": []}
    side, batch = (32, 8) if sizes.pictures <= SMALL else (224, 16)
    with made(sizes, sizes.pictures) as places:
        for _ in range(sizes.runs):
            for origin, all_ in found.items():
                words = ["--side", str(side), "--batch", str(batch), "--steps", str(sizes.steps)]
                all_.append(_trained(places, origin, words))
    rows = []
    for origin, all_ in found.items():
        rates = [one["rate"] for one in all_]
        ratios = [mine / one["rate"] for mine, one in zip(rates, found["files"], strict=True)]
        rows.append(
            [
                origin,
                f"{median(rates):.1f}",
                "" if origin == "files" else with_spread(ratios),
                f"{1000 * median([one['step'] for one in all_]):.0f}",
                f"{100 * median([one['waited'] for one in all_]):.2f} %",
            ]
        )
    print_table(
        f"{RANKS} ranks train ResNet50 at {side} x {side}, batch {batch} each, Horovod over Gloo, "
        f"no GPU, medians of {sizes.runs} rounds in turn",
        ["data", "pictures/s", "beside files", "step, ms", "of which it waits for data"],
        rows,
    )


def _trained(places: Made, origin: str, words: list[str]) -> dict[str, float]:
    horovodrun = shutil.which("horovodrun", path=os.path.dirname(sys.executable))
    assert horovodrun, "horovodrun is not beside this Python"
    place = places.place if origin == "parquet" else places.images
    with tempfile.TemporaryDirectory(prefix="launch-data-") as name:
        figures = Path(name, "figures.json")
        command = [horovodrun, "--gloo", "-np", str(RANKS), "-H", f"localhost:{RANKS}"]
        command += [sys.executable, str(READERS / "train_resnet.py"), str(place)]
        environment = quiet_environment(
            **QUIET,
            PYTHONPATH=str(ENTRYPOINTS),
            TF_USE_LEGACY_KERAS="1",
            FIGURES=str(figures),
            PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        )
        done = subprocess.run(
            [*command, "--from", origin, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not figures.exists():
            raise RuntimeError(f"{origin}: {(done.stdout + done.stderr)[-3000:]}")
        return dict(json.loads(figures.read_text()))
