"""What grows: a ledger of 100,000 jobs, a source of 100,000 files or of 500 MB, beside small ones.

500 MB is the largest source that travels: what is larger is refused unread.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from functools import partial
from pathlib import Path

from launchers.core.model.jobs import SUCCEEDED
from launchers.core.records.entry import Entry
from launchers.core.records.ledger import Ledger
from tests.benchmarks.measure import cost_of, interleaved, print_costs, quiet_environment
from tests.places import ROOT

_JOBS, _FILES, _FILE_BYTES = 100_000, 100_000, 1024
_MIXED = 495_000_000  # bytes
_SCRIPT = "import horovod.tensorflow as hvd\nhvd.init()\n"
_BUDGETS = {
    "launch list, 100,000 jobs": "0.3",
    "launch status, 100,000 jobs": "0.3",
    "dry run, 100,000 files of 1 KB": "20",
    "dry run, 495 MB, half of it text": "25",
}


def run(runs: int) -> None:
    """Print the tables."""
    ours = [sys.executable, "-m", "launchers.cli.main"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = folder / "large", folder / "small"
        for home, jobs in ((large, _JOBS), (small, 10)):
            _ledger(home, jobs)
        measures = {
            f"launch {verb[0]}, {title}": partial(cost_of, [*ours, *verb], folder, _at(home))
            for verb in (["list"], ["status", "train-00000005-1"])
            for home, title in ((large, f"{_JOBS:,} jobs"), (small, "10 jobs"))
        }
        print_costs("An old ledger", interleaved(measures, runs), _BUDGETS)

        flags = ["--instances", "2", "--gpus", "4", "--dry-run"]
        sources = {"dry run, 100,000 files of 1 KB": _FILES, "dry run, 100 files of 1 KB": 100}
        commands = {}
        for label, count in sources.items():
            source = folder / f"source-{count}"
            _source(source, count)
            command = [*ours, "sagemaker", f"{source}/train.py", "--source", str(source), *flags]
            commands[label] = partial(cost_of, command, folder, _at(small))
        source = folder / "source-mixed"
        _mixed(source)
        command = [*ours, "sagemaker", f"{source}/train.py", "--source", str(source), *flags]
        commands["dry run, 495 MB, half of it text"] = partial(cost_of, command, folder, _at(small))
        print_costs("A large source", interleaved(commands, min(runs, 3)), _BUDGETS)


def _at(home: Path) -> dict[str, str]:
    return quiet_environment(LAUNCH_HOME=str(home), PYTHONPATH=str(ROOT))


def _ledger(home: Path, jobs: int) -> None:
    """A ledger with so many jobs that have succeeded, all alike."""
    home.mkdir()
    ledger = Ledger(home)
    ledger.add(
        Entry("train-00000000-1", "sagemaker", "train-00000000", 1, 8, "{}\n" * 500, SUCCEEDED)
    )
    with sqlite3.connect(ledger.path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(jobs)")]
        kept = [name for name in columns if name not in ("id", "name", "base", "created")]
        names = ", ".join(kept)
        connection.executemany(
            f"INSERT INTO jobs (name, base, created, {names})"
            f" SELECT ?, ?, ?, {names} FROM jobs WHERE name = 'train-00000000-1'",
            ((f"train-{n:08x}-1", f"train-{n:08x}", 1.7e9 + n) for n in range(1, jobs)),
        )


def _source(folder: Path, count: int) -> None:
    """So many small files of words in folders of a thousand, half of them Python."""
    draw = random.Random(5)
    words = [f"word{number}" for number in range(500)]
    for number in range(count - 1):
        place = folder / f"part{number // 1000}"
        place.mkdir(parents=True, exist_ok=True)
        line = " ".join(draw.choices(words, k=12))
        lines = "\n".join([f"# {line}"] * (_FILE_BYTES // (len(line) + 3) + 1))
        ending = "py" if number % 2 else "txt"
        (place / f"file{number}.{ending}").write_text(lines[:_FILE_BYTES])
    (folder / "train.py").write_text(_SCRIPT)


def _mixed(folder: Path) -> None:
    """Half words in files of 5 MB and of 100 KB, half random bytes in files of 50 MB."""
    draw = random.Random(7)
    words = [f"word{number}" for number in range(5000)]
    folder.mkdir()
    lines = [" ".join(draw.choices(words, k=12)) for _ in range(50_000)]
    for number in range(_MIXED // 2 // 5_000_000):
        draw.shuffle(lines)
        text = "\n".join(lines)[:5_000_000]
        if number % 2:
            (folder / f"large{number}.txt").write_text(text)
        else:
            for part in range(50):
                piece = text[part * 100_000 : (part + 1) * 100_000]
                (folder / f"part{number}-{part}.txt").write_text(piece)
    for number in range(5):
        (folder / f"weights{number}.bin").write_bytes(b"\0" + draw.randbytes(_MIXED // 10 - 1))
    (folder / "train.py").write_text(_SCRIPT)
