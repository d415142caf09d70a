"""Measuring whole commands: CPU seconds and wall time of a process and all its children."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# What a followed log's program ends with: seconds since `start`, and the peak memory in MB.
_FIGURES = """
import resource, sys, time
wall = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
open(sys.argv[1], "w").write(f"{wall} {peak}")
"""
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "launch" / "peers"


@dataclass(frozen=True)
class Cost:
    """What one run of a command took, in seconds; children that it waited for are counted in."""

    cpu: float
    wall: float


def cost_of(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Cost:
    """Run ``command`` once.

    Raises:
        RuntimeError: It did not exit with 0; its stderr is in the message.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall)


def interleaved(measures: Mapping[str, Callable[[], Cost]], runs: int) -> dict[str, list[Cost]]:
    """Each measure ``runs`` times in turn, after one run of each that is not counted.

    In turn, because this keeps a machine's changing speed from favouring one of them.
    """
    for measure in measures.values():
        measure()
    costs: dict[str, list[Cost]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            costs[name].append(measure())
    return costs


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def with_spread(ratios: Sequence[float]) -> str:
    """Their median, and the least and the largest: ``0.98 (0.95 to 1.02)``."""
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def quiet_environment(**changes: str) -> dict[str, str]:
    """The environment with compiled .pyc files allowed and no accounts in it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
        and not name.startswith(("AWS_", "LAUNCH_", "GOOGLE_", "CLOUDSDK_"))
    }
    return {**kept, "AWS_CONFIG_FILE": os.devnull, **changes}


def peer(name: str, *requirements: str) -> Path:
    """The Python of a virtual environment with a peer's packages, made once and kept in the
    user's cache folder. Needs pip's index the first time."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"installing {', '.join(requirements)} for the comparison", file=sys.stderr)
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True
        )
        subprocess.run(
            [sys.executable, "-m", "pip", "-q", "--python", python, "install", *requirements],
            check=True,
        )
        (folder / "complete").write_text("")
    return python


def machine() -> str:
    """What the figures were measured on, in a line."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def print_costs(
    title: str, costs: Mapping[str, Sequence[Cost]], budgets: Mapping[str, str]
) -> None:
    """The table of what :func:`interleaved` gave: medians, with the budgets in CPU seconds."""
    rows = [
        [
            label,
            f"{median([one.cpu for one in found]):.2f}",
            f"{median([one.wall for one in found]):.2f}",
            budgets.get(label, ""),
        ]
        for label, found in costs.items()
    ]
    print_table(title, ["command", "CPU s", "wall s", "budget, CPU s"], rows)


def print_followed(
    title: str,
    programs: Mapping[str, str],
    lines: int,
    folder: Path,
    environment: Mapping[str, str],
    runs: int,
) -> None:
    """The table of programs that print a log of ``lines`` lines.

    Args:
        programs: Label -> a program that sets ``start`` before it begins to read.
        folder: Where the programs run.
    """
    result, script = folder.parent / "figures", folder.parent / "follow.py"
    rows = []
    for label, program in programs.items():
        script.write_text(program + _FIGURES)
        found = []
        for _ in range(runs):
            cost_of([sys.executable, str(script), str(result)], folder, environment)
            found.append([float(word) for word in result.read_text().split()])
        wall = median([one[0] for one in found])
        peak = median([one[1] for one in found])
        rows.append([label, f"{lines / wall:,.0f}", f"{wall:.1f}", f"{peak:.0f}"])
    print_table(title, ["command", "lines/s", "wall s", "peak memory, MB"], rows)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table, as the README quotes it."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()
