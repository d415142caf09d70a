"""data-gpu: one rank trains on a GPU out of Parquet by picture_loader, out of the same JPEG files
by torchvision's ImageFolder and PyTorch's DataLoader, and on a batch that lies on the GPU already.

Needs an NVIDIA GPU, and a Python (TORCH, or this one) with torch and torchvision.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from launchers.machine.devices import visible_gpus
from tests.benchmarks.data.making import Made, made
from tests.benchmarks.data.racing import READERS
from tests.benchmarks.data.sizes import Sizes
from tests.benchmarks.measure import print_table, quiet_environment, with_spread
from tests.benchmarks.torchrun import python_with_torch
from tests.places import ENTRYPOINTS

MODELS = ("resnet50", "none")
GPU, FOLDER = "a batch on the GPU", "ImageFolder, {workers} workers"
COLUMNS = ["model", "data", "pictures/s", "of the GPU's own", "beside ImageFolder"]
COLUMNS += ["CPU s for 1,000"]
THREADS, WORKERS = "launch, threads", "launch, {workers} workers"


def run(sizes: Sizes) -> None:
    """Print the table, where there is a GPU. Blocks for minutes."""
    python = python_with_torch()
    if not visible_gpus() or not python:
        print("data-gpu: not measured, this machine shows no GPU or no torch", file=sys.stderr)
        return
    with made(sizes, sizes.converted) as places:
        rows = [row for model in MODELS for row in _rows(model, python, places, sizes)]
    print_table(
        f"One rank, pictures of 224 x 224, batch 256, bfloat16, on a GPU beside {sizes.workers} "
        f"cores, medians of {sizes.runs} rounds in turn",
        COLUMNS,
        rows,
    )


def _rows(model: str, python: str, places: Made, sizes: Sizes) -> list[list[str]]:
    half, all_ = str(max(1, sizes.workers // 2)), str(sizes.workers)
    ways = {
        GPU: ("gpu", "0"),
        FOLDER.format(workers=all_): ("folder", all_),
        THREADS: ("launch", "0"),
        WORKERS.format(workers=half): ("launch", half),
    }
    if model == "none":
        del ways[GPU]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(sizes.runs):
        for name, (origin, workers) in ways.items():
            words = ["--from", origin, "--workers", workers, "--model", model]
            found[name].append(_trained(python, places, words, sizes.seconds))
    rates = {name: [one["rate"] for one in all_of] for name, all_of in found.items()}
    folder = rates[FOLDER.format(workers=all_)]
    return [
        [
            model,
            name,
            f"{median(mine):,.0f}",
            _beside(mine, rates[GPU]) if GPU in rates and name != GPU else "",
            _beside(mine, folder) if name.startswith("launch") else "",
            f"{median([one['cpu'] for one in found[name]]):.3f}",
        ]
        for name, mine in rates.items()
    ]


def _beside(mine: list[float], others: list[float]) -> str:
    return with_spread([one / other for one, other in zip(mine, others, strict=True)])


def _trained(python: str, places: Made, words: list[str], seconds: float) -> dict[str, float]:
    place = places.images if "folder" in words else places.place
    done = subprocess.run(
        [python, str(READERS / "train_on_gpu.py"), str(place), *words, "--seconds", str(seconds)],
        env=quiet_environment(PYTHONPATH=str(ENTRYPOINTS)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))
