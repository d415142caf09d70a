"""`make mutants`: draw faults, run the tests beside each, print the score and what survived.

python -m tests.mutants [--seed N ...] [--count 60] [--subject guard] [--workers 2] [--quick]
"""

from __future__ import annotations

import argparse
import difflib
import random
import signal
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import FrameType

from tests.benchmarks.measure import print_table
from tests.mutants.generate import Mutant, mutant_at, places_of
from tests.mutants.subjects import SUBJECTS, Subject
from tests.mutants.trial import (
    HUNG,
    SURVIVED,
    Reached,
    Stopped,
    Trial,
    UnhealthyError,
    copy_of,
)

ROOT = Path(__file__).parents[2]
Drawn = tuple[Subject, Mutant]


def main() -> int:
    """Print a table a seed; 1 where fewer than nine of ten mutants were noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    any_seed = random.SystemRandom().randrange(10_000)
    parser.add_argument("--seed", type=int, nargs="+", default=[any_seed])
    parser.add_argument("--count", type=int, default=60, help="to draw by each seed (default 60)")
    parser.add_argument("--subject", choices=[one.name for one in SUBJECTS], action="append")
    parser.add_argument("--module", help="draw only from modules with this in their path")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run the tests that reach the place; another might notice what they miss",
    )
    given = parser.parse_args()
    chosen = [one for one in SUBJECTS if not given.subject or one.name in given.subject]
    drawn = {seed: _drawn(seed, given.count, chosen, given.module or "") for seed in given.seed}
    once = list(
        {mutant: (subject, mutant) for all_ in drawn.values() for subject, mutant in all_}.values()
    )
    try:
        found = _tried(once, given.workers, given.quick)
    except Stopped:
        print("stopped", file=sys.stderr)
        return 130
    ends = dict(zip((one for _, one in once), found, strict=True))
    for mutant, end in ends.items():
        if end == SURVIVED:
            print(f"\nsurvived: {mutant}\n{_difference(mutant)}")
    for seed, all_ in drawn.items():
        _print_score(f"seed {seed}", chosen, all_, ends)
    everything = [one for all_ in drawn.values() for one in all_]
    if len(drawn) > 1:
        _print_score(f"{len(drawn)} seeds", chosen, everything, ends)
    return 0 if _noticed([ends[mutant] for _, mutant in everything]) >= 0.9 else 1


def _drawn(seed: int, count: int, subjects: list[Subject], named: str) -> list[Drawn]:
    """The mutants to try, no two the same; says how many places there were to draw from."""
    paths = [(one, path) for one in subjects for path in one.modules if named in path]
    pool = [(one, place) for one, path in paths for place in places_of(ROOT, path)]
    random.Random(seed).shuffle(pool)
    drawn: dict[str, Drawn] = {}
    for subject, place in pool:
        if len(drawn) == count:
            break
        if (mutant := mutant_at(ROOT, place)) is not None:
            drawn.setdefault(mutant.path + mutant.source, (subject, mutant))
    print(f"seed {seed}: {len(drawn)} of {len(pool)} places", file=sys.stderr, flush=True)
    return list(drawn.values())


def _tried(drawn: list[Drawn], workers: int, quick: bool) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="launch-mutants-") as scratch:
        all_ = [Trial(copy_of(ROOT, Path(scratch, str(index)))) for index in range(workers)]
        trials: SimpleQueue[Trial] = SimpleQueue()
        for trial in all_:
            trials.put(trial)

        def stop(number: int, frame: FrameType | None) -> None:
            for trial in all_:
                trial.end()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)

        def lines_of(subject: Subject) -> Reached:
            trial = trials.get()
            try:
                return trial.reached(subject.modules, subject.tests)
            except UnhealthyError as error:
                said = f"the tests of {subject.name} fail without any mutant:\n{error}"
                raise SystemExit(said) from None
            finally:
                trials.put(trial)

        def one(item: Drawn) -> str:
            subject, mutant = item
            found = tests_of[subject.name]
            lines = found.lines[mutant.path]
            first = {test: None for line in mutant.lines(ROOT) for test in lines.get(line, ())}
            tests = () if quick else subject.tests
            trial = trials.get()
            try:
                end = trial.outcome(mutant, tests, list(first), found.seconds)
            finally:
                trials.put(trial)
            print(f"{end:9} {mutant}", file=sys.stderr, flush=True)
            return end

        with ThreadPoolExecutor(workers) as pool:
            subjects = {subject.name: subject for subject, _ in drawn}
            tests_of = dict(zip(subjects, pool.map(lines_of, subjects.values()), strict=True))
            return list(pool.map(one, drawn))


def _difference(mutant: Mutant) -> str:
    before = (ROOT / mutant.path).read_text("utf-8").splitlines()
    lines = difflib.unified_diff(before, mutant.source.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _print_score(
    title: str, chosen: list[Subject], drawn: list[Drawn], ends: Mapping[Mutant, str]
) -> None:
    rows = []
    for name in [*(one.name for one in chosen), "all"]:
        of_it = [ends[mutant] for one, mutant in drawn if name in (one.name, "all")]
        share = f"{_noticed(of_it):.2f}" if of_it else "-"
        noticed = str(len(of_it) - of_it.count(SURVIVED))
        rows.append([name, str(len(of_it)), noticed, str(of_it.count(HUNG)), share])
    print_table(f"Mutants, {title}", ["subject", "drawn", "noticed", "by a hang", "share"], rows)


def _noticed(ends: list[str]) -> float:
    return 1 - ends.count(SURVIVED) / len(ends) if ends else 1.0


if __name__ == "__main__":
    sys.exit(main())
