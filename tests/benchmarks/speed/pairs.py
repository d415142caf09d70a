"""training-pairs: the shared script beside its peers, in pairs whose order alternates.

What is compared is the pace of steady steps, not start-up: images a second of the epochs after the
first. Two ranks have two cores, whatever else the machine has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from launchers.image.names import default_tag
from tests.benchmarks.measure import median, print_table, with_spread
from tests.benchmarks.speed import jobs, load
from tests.benchmarks.speed.work import RANKS, Asked, Work, write_pictures

Arm = Callable[[Path], float]  # from an empty folder to images a second
PLAIN = Path(__file__).with_name("plain_keras.py")
_HAS_MPI = "import horovod.tensorflow as hvd, sys; sys.exit(not hvd.mpi_built())"


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        ours: What the ratio speaks of.
        theirs: What it is beside.
        budget: The least ratio; empty where it is only stated.
        arms: Both, in this order.
    """

    ours: str
    theirs: str
    budget: str
    arms: tuple[Arm, Arm]


def run(asked: Asked) -> None:
    """Print the table, each row as soon as it is measured to stderr, too. Blocks for long."""
    pairs = 1 if asked.smoke else asked.pairs
    averages, seen, table = os.getloadavg(), list[float](), []
    with tempfile.TemporaryDirectory(prefix="launch-speed-") as name:
        folder = Path(name)
        write_pictures(folder / "data", asked.work.pictures)
        for one in asked.rows or ROWS:
            row = ROWS[one](asked.work, folder / "data")
            if row is None:
                continue
            table.append(cells(row, paired(row.arms, pairs, folder, seen)))
            print(f"{one}: {', '.join(table[-1])}", file=sys.stderr)
    if not table:
        return
    print_table(
        f"{asked.work.title}: images a second of the epochs after the first, medians of {pairs} "
        f"pair{'s' * (pairs > 1)} whose order alternates",
        ["ours", "beside", "ours, images/s", "theirs, images/s", "ratio", "at least"],
        table,
    )
    print(f"\n{load.said(averages, seen)}", flush=True)


def paired(
    arms: Sequence[Arm], pairs: int, folder: Path, seen: list[float]
) -> list[tuple[float, float]]:
    """The rates of both arms, a pair a round; every other round begins with the second.

    Args:
        arms: Two.
        pairs: How many rounds.
        folder: Below it each run has a folder of its own, which is removed.
        seen: Gets what others did in the second before each run.
    """
    found = []
    for number in range(pairs):
        rates = [0.0, 0.0]
        for place in (0, 1) if number % 2 == 0 else (1, 0):
            seen.append(load.others())
            run_folder = folder / f"run-{number}-{place}"
            run_folder.mkdir()
            rates[place] = arms[place](run_folder)
            shutil.rmtree(run_folder)
        found.append((rates[0], rates[1]))
    return found


def cells(row: Row, rates: Sequence[tuple[float, float]]) -> list[str]:
    """A row of the table; of each pair ``rates`` has ours and theirs."""
    ours, theirs = (median(column) for column in zip(*rates, strict=True))
    ratios = [mine / other for mine, other in rates]
    digits = 0 if min(ours, theirs) >= 100 else 2
    spread = with_spread(ratios)
    rounded = [f"{rate:,.{digits}f}" for rate in (ours, theirs)]
    return [row.ours, row.theirs, *rounded, spread, row.budget]


def _steady(job: jobs.Job) -> float:
    return jobs.steady(jobs.metrics_of(job)[0])


def _beside_plain(work: Work, data: Path) -> Row:
    def plain(folder: Path) -> float:
        metrics = folder / "metrics.json"
        words = [sys.executable, str(PLAIN), str(data), "--metrics", str(metrics)]
        words += ["--model", work.model, "--side", str(work.side)]
        words += ["--batch", str(work.batch), "--epochs", str(work.epochs)]
        return _steady(jobs.Job(words, jobs.bare_environment(folder), folder))

    def ours(folder: Path) -> float:
        return _steady(jobs.launched(folder, 1, work.arguments(data)))

    return Row("launch local, 1 rank", "plain Keras script", "0.98", (ours, plain))


def _beside_two_alone(work: Work, data: Path) -> Row:
    cores = two_cores()

    def alone(folder: Path) -> float:
        # As many steps of an epoch as a rank of two has.
        words = work.arguments(data, work.pictures // RANKS)
        both = [jobs.on_cores(jobs.alone(folder / str(core), words), [core]) for core in cores]
        return sum(map(jobs.steady, jobs.metrics_of(*both)))

    budget = "" if work.model == "cnn" else "0.90"
    beside = "2 processes alone, a core each, together"
    return Row("launch local, 2 ranks", beside, budget, (_launched(work, data), alone))


def _beside_horovodrun(work: Work, data: Path) -> Row:
    cores = two_cores()

    def bare(folder: Path) -> float:
        job = jobs.by_horovodrun(folder, RANKS, work.arguments(data))
        return _steady(jobs.on_cores(job, cores))

    return Row("launch local, 2 ranks", "horovodrun", "0.98", (_launched(work, data), bare))


def _mpi_beside_gloo(work: Work, data: Path) -> Row | None:
    cores, words = two_cores(), work.arguments(data)
    if _runs([sys.executable, "-c", _HAS_MPI]):

        def by_mpi(folder: Path) -> float:
            return _steady(jobs.on_cores(jobs.by_mpirun(folder, RANKS, words), cores))

        def by_gloo(folder: Path) -> float:
            return _steady(jobs.on_cores(jobs.by_horovodrun(folder, RANKS, words), cores))

        return Row("mpirun, 2 ranks", "horovodrun --gloo", "", (by_mpi, by_gloo))
    image = default_tag()
    if not _runs(["docker", "image", "inspect", image]):
        print(
            "mpi: not measured. It needs a Horovod that was built with HOROVOD_WITH_MPI=1 in "
            f"{sys.executable}, or Docker and the image {image} (`launch image build`).",
            flush=True,
        )
        return None

    def contained(starter: Sequence[str]) -> Arm:
        return lambda folder: _steady(jobs.in_image(image, starter, folder, words, data, cores))

    arms = (
        contained(["mpirun", *jobs.mpi(RANKS)]),
        contained(["horovodrun", *jobs.gloo(RANKS)]),
    )
    return Row(f"mpirun in {image}, 2 ranks", "horovodrun --gloo there", "", arms)


def _launched(work: Work, data: Path) -> Arm:
    cores = two_cores()

    def ours(folder: Path) -> float:
        return _steady(jobs.on_cores(jobs.launched(folder, RANKS, work.arguments(data)), cores))

    return ours


def two_cores() -> list[int]:
    """A core for each of two ranks.

    Raises:
        SystemExit: This process may use one alone.
    """
    cores = sorted(os.sched_getaffinity(0))[:RANKS]
    if len(cores) < RANKS:
        raise SystemExit(f"training-pairs: found {len(cores)} core; expected {RANKS} or more.")
    return cores


def _runs(words: Sequence[str]) -> bool:
    try:
        return not subprocess.run(words, capture_output=True, check=False).returncode
    except FileNotFoundError:
        return False


ROWS: dict[str, Callable[[Work, Path], Row | None]] = {
    "plain": _beside_plain,
    "cores": _beside_two_alone,
    "horovodrun": _beside_horovodrun,
    "mpi": _mpi_beside_gloo,
}
