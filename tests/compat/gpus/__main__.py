"""`make compat-gpus`: two ranks on one real GPU, over NCCL; good scripts, bad ones, and failures.

python -m tests.compat.gpus [NAME ...] [--python PYTHON] [--record FILE] [--logs DIR]
python -m tests.compat.gpus --docs FILE

Needs a machine with an NVIDIA GPU, and a Python with torch that was built for it. What --record
keeps in FILE, --docs writes into the docs' page, on whichever machine.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from launchers.machine.devices import visible_gpus
from tests.benchmarks.measure import quiet_environment
from tests.compat.gpus import table
from tests.compat.gpus.cases import BENEATH, Case, load
from tests.compat.jobs import launched
from tests.compat.strategies import environments
from tests.compat.strategies.cases import HERE as STRATEGIES
from tests.compat.strategies.runs import OURS, Found, copy_beneath, found_of
from tests.places import ENTRYPOINTS, ROOT

_PACKAGES = (
    "torch",
    "nvidia-nccl-cu13",
    "nvidia-nccl-cu12",
    "horovod",
    "accelerate",
    "transformers",
)
_PACKAGES += ("lightning", "jax")
_MAX_RUNTIME = "120s"


def main() -> int:
    """Print the table; 0 when every script that ran ended as it must."""
    asked = _arguments()
    if asked.docs:
        kept = json.loads(asked.docs.read_text())
        found = {case: _read(kept["found"].get(case.name, "not asked for")) for case in load()}
        table.write(table.text(found, kept["date"], kept["machine"], kept["versions"]))
        return 0
    gpus = visible_gpus()
    if not gpus:
        print("make compat-gpus: this machine shows no NVIDIA GPU.", file=sys.stderr)
        return 2
    cases = [case for case in load() if not asked.names or case.name in asked.names]
    with ThreadPoolExecutor(asked.jobs) as pool:
        ran = pool.map(lambda case: _one(case, asked.python, gpus[0], asked.logs), cases)
        found = dict(zip(cases, ran, strict=True))
    versions = environments.versions(asked.python, _PACKAGES)
    said = [f"{name} {version}" for name, version in versions.items()]
    today = datetime.date.today().isoformat()
    print(table.text(found, today, _machine(), said))
    if asked.record:
        kept = {case.name: _kept(one) for case, one in found.items()}
        answer = {"date": today, "machine": _machine(), "versions": said, "found": kept}
        asked.record.write_text(json.dumps(answer, indent=1))
    wrong = [
        c.name for c, one in found.items() if isinstance(one, Found) and not c.as_expected(one)
    ]
    for name in wrong:
        print(f"not as expected: {name}", file=sys.stderr)
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.gpus")
    parser.add_argument("names", nargs="*", help="only these scripts")
    parser.add_argument("--python", default=sys.executable, help="of the ranks; default: this one")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at a time, on the one GPU")
    parser.add_argument("--logs", type=Path, help="keep what each job printed in this folder")
    parser.add_argument("--record", type=Path, help="keep what came of each in this file")
    parser.add_argument("--docs", type=Path, help="write such a file's table; run nothing")
    asked = parser.parse_args()
    unknown = set(asked.names) - {case.name for case in load()}
    if unknown:
        parser.error(f"no script is called {', '.join(sorted(unknown))}; see scripts.yaml")
    if asked.docs and not asked.docs.exists():
        parser.error(f"--docs {asked.docs}: no such file; --record writes it")
    return asked


def _one(case: Case, python: str, gpu: str, logs: Path | None) -> Found | str:
    there = environments.versions(python, case.needs)
    lacking = [name for name in case.needs if name not in there]
    if lacking:
        return f"{', '.join(lacking)} is not installed"
    found = run(case, python, gpu)
    mark = "" if case.as_expected(found) else f"  (expected {case.expect} {case.says})"
    print(
        f"{case.name}: {found.state}{mark}, {found.seconds:.0f} s: {found.words[:300]}",
        file=sys.stderr,
        flush=True,
    )
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"{case.name}.log").write_text(f"{found.state}: {found.words}\n{found.log}")
    return found


def run(case: Case, python: str, gpu: str) -> Found:
    """Two hosts of one rank on one GPU. Blocks until the job has ended (120 s at most).

    Args:
        gpu: As CUDA_VISIBLE_DEVICES names it; both hosts are given it.
    """
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        ours = [*map(case.file.with_name, BENEATH), STRATEGIES / "scripts_torch" / "toy.py"]
        if case.ours:
            ours += ENTRYPOINTS.glob("train_*.py")
            copy_beneath(source)
        for file in (case.file, *ours):
            shutil.copy(file, source)
        return found_of(launched(_command(case, python), source, _environment(case, name, gpu)))


def _command(case: Case, python: str) -> list[str]:
    words = [sys.executable, "-m", "launchers.cli.main", "local", case.file.name, "--no-file"]
    words += ["--json", "--instances", "2", "--gpus", "1", "--strategy", case.strategy]
    words += ["--max-runtime", _MAX_RUNTIME, "--python", python, *case.flags]
    words += ["--pin-gpu", "none"] if case.shares else []
    return [*words, "--", *OURS, *case.ours] if case.ours else words


def _environment(case: Case, folder: str, gpu: str) -> dict[str, str]:
    return quiet_environment(
        LAUNCH_HOME=f"{folder}/home",
        PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        HOME=folder,
        # One for each of the two hosts, and both are the same.
        CUDA_VISIBLE_DEVICES=f"{gpu},{gpu}",
        NCCL_SOCKET_IFNAME="lo",
        HF_HUB_OFFLINE="1",
        **dict(case.environment),
    )


def _machine() -> str:
    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
    name, _, driver = (said or ["an NVIDIA GPU"])[0].partition(", ")
    return f"one {name}, driver {driver}, {os.cpu_count()} cores"


def _kept(one: Found | str) -> Any:
    return one if isinstance(one, str) else {**dataclasses.asdict(one), "log": ""}


def _read(kept: str | Mapping[str, Any]) -> Found | str:
    return kept if isinstance(kept, str) else Found(**kept)


if __name__ == "__main__":
    sys.exit(main())
