"""`make compat`: public Horovod scripts under `launch local`, as they are and without their care.

    python -m tests.compat [NAME ...] [--scripts DIR] [--torch PYTHON] [--variants ...] [--docs]

Each script runs on two hosts of one rank: as it is, with the wrapping taken out, with the broadcast
taken out. A good one must succeed, one whose ranks train apart must fail.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from tests.compat import page, table
from tests.compat.jobs import Outcome, edited, run
from tests.compat.manifest import VARIANTS, Script, load
from tests.compat.repositories import NotThereError, text_of
from tests.compat.table import Results, as_expected, print_results


def main() -> int:
    """Print the table; 0 when everything came as a reader of the scripts expects."""
    asked = _arguments()
    results, is_of_today = Results(), True
    work: list[tuple[Script, dict[str, str], str]] = []
    for script in load():
        if asked.names and not any(part in script.name for part in asked.names):
            continue
        if script.framework == "torch" and not asked.torch:
            results.left_out[script.name] = "no Python with Horovod's torch binding (TORCH=PYTHON)"
            continue
        try:
            sources = _sources(script, asked.scripts)
        except NotThereError as reason:
            results.left_out[script.name] = str(reason)
            continue
        for variant in script.expect:
            known = results.recorded(asked.record, script, variant)
            if known:
                results.add(script, variant, known)
                is_of_today = False
            elif variant in asked.variants:
                work.append((script, sources, variant))

    def one(task: tuple[Script, dict[str, str], str]) -> tuple[Script, str, Outcome]:
        script, sources, variant = task
        python = asked.torch if script.framework == "torch" else None
        return script, variant, run(script, edited(script, sources, variant), python, asked.images)

    with ThreadPoolExecutor(asked.jobs) as pool:
        for script, variant, outcome in pool.map(one, work):
            results.add(script, variant, outcome)
            if asked.record:
                results.keep(asked.record)
            _say(script, variant, outcome, asked.logs)
    print_results(results)
    is_whole = not (asked.names or results.left_out) and len(asked.variants) == len(VARIANTS)
    if asked.docs and not (is_whole and is_of_today):
        print("--docs: not all scripts ran just now; the page keeps its table", file=sys.stderr)
    elif asked.docs:
        page.put(table.text(results, _versions(asked.torch)), table.BEGIN, table.END)
    return 1 if results.surprises() else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compat")
    parser.add_argument("names", nargs="*", help="only scripts with one of these in their name")
    parser.add_argument("--scripts", type=Path, help="a folder with OWNER+NAME.git copies")
    parser.add_argument("--torch", help="a Python with torch and Horovod's torch binding")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--images", type=int, default=512, help="made-up images of a data set")
    parser.add_argument("--docs", action="store_true", help="write the table into the docs' page")
    parser.add_argument("--jobs", type=int, default=1, help="jobs at the same time")
    parser.add_argument("--logs", type=Path, help="keep what each job printed in this folder")
    parser.add_argument(
        "--record", type=Path, help="keep what came of each in this file; what it has is not rerun"
    )
    return parser.parse_args()


def _versions(torch: str | None) -> list[str]:
    """``package version`` of both Pythons, as far as they have the package."""
    packages = ("tensorflow", "tf-keras", "horovod", "torch")
    code = (
        "from importlib.metadata import version, PackageNotFoundError as E\n"
        f"for name in {packages!r}:\n    try: print(name, version(name))\n    except E: pass"
    )
    said: dict[str, None] = {}
    for python in filter(None, (sys.executable, torch)):
        done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
        said.update(dict.fromkeys(done.stdout.splitlines()))
    return list(said)


def _sources(script: Script, copies: Path | None) -> dict[str, str]:
    return {
        PurePosixPath(path).name: text_of(script.repository, script.commit, path, copies)
        for path in (script.path, *script.files)
    }


def _say(script: Script, variant: str, outcome: Outcome, logs: Path | None) -> None:
    expected = script.expect[variant]
    mark = "" if as_expected(expected, outcome) else f"  (expected {expected})"
    print(
        f"{script.name}, {variant}: {outcome.state}{mark}, {outcome.seconds:.0f} s: "
        f"{outcome.words[:300]}",
        file=sys.stderr,
        flush=True,
    )
    if logs:
        logs.mkdir(parents=True, exist_ok=True)
        name = f"{script.name}--{variant}.log".replace(" ", "_").replace(",", "")
        (logs / name).write_text(f"{outcome.state}: {outcome.words}\n{outcome.log}")


if __name__ == "__main__":
    sys.exit(main())
