"""Running the tests beside a mutant, in a copy of the repository that holds it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.generate import Mutant

KILLED, SURVIVED, HUNG, NOT_RUN = "killed", "survived", "hung", "not run"
_SECONDS = 300
# All tests of a subject, with their lines noted, beside another's.
_REACHING_SECONDS = 1200
_OUTPUT = ".output"


def copy_of(root: Path, folder: Path) -> Path:
    """What git tracks of ``root``, and the files beside it that a mutant may not spoil."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    return folder


class UnhealthyError(Exception):
    """The tests fail without any mutant."""


Reached = Mapping[str, Mapping[int, list[str]]]
"""Module -> line, from 1 -> the tests that ran it, as pytest names them."""


def reached(copy: Path, modules: Sequence[str], tests: Sequence[str]) -> Reached:
    """Which tests run which lines, in pytest's own process; a test that only a fixture of its file
    may stand behind is named by its file.

    Raises:
        UnhealthyError: The tests fail.
    """
    from coverage import CoverageData

    words = [*(f"--cov={folder}" for folder in {str(Path(path).parent) for path in modules})]
    words += ["--cov-context=test", "--cov-report=", *tests]
    if _run(copy, words, _REACHING_SECONDS) != SURVIVED:
        raise UnhealthyError((copy / _OUTPUT).read_text("utf-8")[-3000:])
    data = CoverageData(str(copy / ".coverage"))
    data.read()
    return {
        path: {
            line: list(dict.fromkeys(_named(one) for one in contexts if one))
            for line, contexts in data.contexts_by_lineno(str(copy / path)).items()
        }
        for path in modules
    }


def _named(context: str) -> str:
    """``FILE::TEST|run`` -> the test; ``FILE::TEST|setup`` -> the file."""
    test, _, when = context.rpartition("|")
    return test if when == "run" else test.partition("::")[0]


def outcome(copy: Path, mutant: Mutant, tests: Sequence[str], first: Sequence[str] = ()) -> str:
    """Whether a test notices the mutant: ``killed``, ``survived``, or ``hung`` (which the suite's
    own time-outs notice, so that it counts as killed).

    Args:
        tests: All that may.
        first: Those of them that are likely to, which are run before; ``tests`` may be none then.
    """
    module = copy / mutant.path
    original = module.read_text("utf-8")
    module.write_text(mutant.source, "utf-8")
    try:
        end = _run(copy, first) if first else SURVIVED
        if tests and end in (SURVIVED, NOT_RUN):  # not: with the mutant a test has another name
            end = _run(copy, tests)
        return KILLED if end == NOT_RUN else end
    finally:
        module.write_text(original, "utf-8")


def _run(copy: Path, words: Sequence[str], seconds: float = _SECONDS) -> str:
    arguments = copy / ".arguments"
    arguments.write_text("".join(f"{word}\n" for word in words), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["-m", "not docker and not horovod and not pip_network and not storm"]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CI"},
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    # A group of its own: a mutant in the agent may leave ranks behind.
    process = subprocess.Popen(
        [*command, f"@{arguments}"],
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        (copy / _OUTPUT).write_text(f"no end after {seconds} s", "utf-8")
        return HUNG
    finally:
        _end(process)
    (copy / _OUTPUT).write_text(text, "utf-8")
    # 2: a module that cannot even be collected; 4: a conftest, or no test of such a name.
    ends = {0: SURVIVED, 1: KILLED, 2: KILLED, 4: NOT_RUN}
    if process.returncode in ends:
        return ends[process.returncode]
    raise RuntimeError(f"pytest exit {process.returncode}:\n{text[-2000:]}")


def _end(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
