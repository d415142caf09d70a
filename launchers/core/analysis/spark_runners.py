"""Where scripts and notebooks of a source tree leave their ranks to sparkdl's HorovodRunner, or to
spark-tensorflow-distributor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from launchers.core.analysis.notebooks import Notebook, read_notebook
from launchers.core.analysis.python_file import python_file
from launchers.core.model.problems import Problem
from launchers.core.source.texts import SEARCHED_BYTES, Bound, SourceTexts
from launchers.core.spark.catalogue import RULES

_SIGN = re.compile(rb"\bsparkdl\b|\bspark_tensorflow_distributor\b")
# The rest of sparkdl, pictures and transfer learning, starts no ranks.
_HOROVOD_RUNNER = re.compile(r"sparkdl\.(?:HorovodRunner\b|horovod\b)")
_MIRRORED_RUNNER = re.compile(r"spark_tensorflow_distributor\b")
_CLASSES = ("HorovodRunner", "MirroredStrategyRunner")
# A tree of many copies of one notebook is told of by its first ones.
_MOST = 20


class _Runner(NamedTuple):
    """One such use.

    Attributes:
        place: The file, with its line or its cell.
        name: The dotted name that is used.
        ranks: What it is told of the ranks (``np``, ``num_slots``); None where that is no number
            that is written out.
    """

    place: str
    name: str
    ranks: int | None


def problems_of_runners(texts: SourceTexts) -> list[Problem]:
    """A warning for each file of the tree that uses one, at its first call. Reads scripts and
    notebooks, parses those that have such a name; found out once a tree."""
    key = ("spark runners",)
    if key not in texts.known:
        texts.known[key] = [_problem(one) for one in _runners(texts)]
    found: list[Problem] = texts.known[key]
    return found


def _runners(texts: SourceTexts) -> list[_Runner]:
    found: list[_Runner] = []
    bound = Bound(SEARCHED_BYTES)
    for path in sorted(texts.paths):
        is_notebook = path.endswith(".ipynb")
        if not is_notebook and not path.endswith(".py"):
            continue
        content = texts.glance(path, SEARCHED_BYTES) if is_notebook else texts.read(path)
        if bound.reached(path, content) or len(found) == _MOST:
            break
        if _SIGN.search(content):
            notebook = read_notebook(content) if is_notebook else None
            if not is_notebook or notebook is not None:
                code = content if notebook is None else notebook.code
                found += list(_first_use(path, code, notebook))
    return found


def _first_use(path: str, code: bytes, notebook: Notebook | None) -> Iterator[_Runner]:
    """The first call of a runner in a file, or else what shows that it is imported."""
    file = python_file(code)
    if file.tree is None:
        # Not to be read by this Python: what its lines import.
        imported = (f"{one.module}.{name}" for one in file.near_imports for name in one.names)
        yield from [_Runner(path, name, None) for name in imported if _is_one(name)][:1]
        return
    calls = [
        (one.line, one.name, _ranks(one.call))
        for one in file.references
        if one.call is not None and _is_one(one.name) and one.name.endswith(_CLASSES)
    ]
    uses = [(line, name, None) for name, line in file.names.items() if _is_one(name)]
    for line, name, ranks in sorted(calls, key=_line)[:1] or sorted(uses, key=_line)[:1]:
        place = f"{path}:{line}" if notebook is None else f"{path}, cell {notebook.cell_of(line)}"
        yield _Runner(place, name, ranks)


def _line(use: tuple[int, str, int | None]) -> int:
    return use[0]


def _is_one(name: str) -> bool:
    return bool(_HOROVOD_RUNNER.match(name) or _MIRRORED_RUNNER.match(name))


def _ranks(call: ast.Call) -> int | None:
    """The first argument, or the one that has its name."""
    named = [one.value for one in call.keywords if one.arg in ("np", "num_slots")]
    for node in [*call.args[:1], *named]:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return None
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    return None


def _problem(runner: _Runner) -> Problem:
    ranks = runner.ranks
    many = f"--instances {ranks}" if ranks and ranks > 0 else "--instances N"
    line = f"`launch spark SCRIPT.py --master MASTER {many} --processes 1`"
    if _MIRRORED_RUNNER.match(runner.name):
        found = "MirroredStrategyRunner of spark-tensorflow-distributor"
        fix = f"Put what it runs into a script that trains by Horovod or PyTorch: {line}"
        return RULES["spark-mirrored-runner"].at(runner.place, found, fix=fix)
    if ranks is not None and ranks < 0:
        found = f"HorovodRunner(np={ranks}): {-ranks} processes on the driver, none on an executor"
        line = f"`launch local SCRIPT.py --processes {-ranks}` does that here, and {line}"
    else:
        said = "" if ranks is None else f"(np={ranks})"
        found = f"HorovodRunner{said}: sparkdl from PyPI runs main once, alone in the driver"
    fix = f"Put main with its imports and hvd.init() into a script: {line} runs it on executors"
    return RULES["spark-horovod-runner"].at(runner.place, found, fix=fix)
