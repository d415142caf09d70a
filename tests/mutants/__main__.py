"""`make mutants`: draw faults, run the tests beside each, print the score and what survived.

python -m tests.mutants [--seed N] [--count 60] [--subject guard] [--workers 2] [--show PATH]
"""

from __future__ import annotations

import argparse
import difflib
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.benchmarks.measure import print_table
from tests.mutants.generate import Mutant, mutant_at, places_of
from tests.mutants.subjects import SUBJECTS, Subject
from tests.mutants.trial import HUNG, KILLED, SURVIVED, copy_of, healthy, outcome

ROOT = Path(__file__).parents[2]
Drawn = tuple[Subject, Mutant]


def main() -> int:
    """Print the table; 1 where fewer than nine of ten mutants were noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--count", type=int, default=60, help="mutants to draw (default 60)")
    parser.add_argument("--subject", choices=[one.name for one in SUBJECTS], action="append")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    chosen = [one for one in SUBJECTS if not given.subject or one.name in given.subject]
    drawn, places = _drawn(given.seed, given.count, chosen)
    print(f"seed {given.seed}: {len(drawn)} of {places} places", file=sys.stderr, flush=True)
    ends = _tried(drawn, given.workers)
    for (_, mutant), end in zip(drawn, ends, strict=True):
        if end == SURVIVED:
            print(f"\nsurvived: {mutant}\n{_difference(mutant)}")
    return _score(given.seed, chosen, drawn, ends)


def _drawn(seed: int, count: int, subjects: list[Subject]) -> tuple[list[Drawn], int]:
    """The mutants to try, no two the same, and how many places there were to draw from."""
    pool = [
        (one, place) for one in subjects for path in one.modules for place in places_of(ROOT, path)
    ]
    random.Random(seed).shuffle(pool)
    drawn: dict[str, Drawn] = {}
    for subject, place in pool:
        if len(drawn) == count:
            break
        if (mutant := mutant_at(ROOT, place)) is not None:
            drawn.setdefault(mutant.path + mutant.source, (subject, mutant))
    return list(drawn.values()), len(pool)


def _tried(drawn: list[Drawn], workers: int) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="launch-mutants-") as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for index in range(workers):
            copies.put(copy_of(ROOT, Path(scratch, str(index))))

        def one(item: Drawn) -> str:
            subject, mutant = item
            copy = copies.get()
            try:
                end = outcome(copy, mutant, subject.tests)
            finally:
                copies.put(copy)
            print(f"{end:9} {mutant}", file=sys.stderr, flush=True)
            return end

        with ThreadPoolExecutor(workers) as pool:
            for subject in {subject.name: subject for subject, _ in drawn}.values():
                copy = copies.get()
                if not healthy(copy, subject.tests):
                    raise SystemExit(f"the tests of {subject.name} fail without any mutant")
                copies.put(copy)
            return list(pool.map(one, drawn))


def _difference(mutant: Mutant) -> str:
    before = (ROOT / mutant.path).read_text("utf-8").splitlines()
    lines = difflib.unified_diff(before, mutant.source.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _score(seed: int, chosen: list[Subject], drawn: list[Drawn], ends: list[str]) -> int:
    rows = []
    for name in [*(one.name for one in chosen), "all"]:
        of_it = [
            end for (one, _), end in zip(drawn, ends, strict=True) if name in (one.name, "all")
        ]
        noticed = sum(end in (KILLED, HUNG) for end in of_it)
        share = f"{noticed / len(of_it):.2f}" if of_it else "-"
        rows.append([name, str(len(of_it)), str(noticed), str(of_it.count(HUNG)), share])
    print_table(
        f"Mutants, seed {seed}", ["subject", "drawn", "noticed", "by a hang", "share"], rows
    )
    return 0 if float(rows[-1][-1]) >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
