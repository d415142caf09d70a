"""Running the tests beside a mutant, in a copy of the repository that holds it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.generate import Mutant
from tests.processes import descendants

KILLED, SURVIVED, HUNG, NOT_RUN = "killed", "survived", "hung", "not run"
# All tests of a subject, with their lines noted, beside another's.
_REACHING_SECONDS = 1200
# A mutant's tests hang when they take longer than all of them took without it, and as much again
# beside what else this machine does.
_HANGING = 2.0
_LEAST_SECONDS = 30.0


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


@dataclass(frozen=True)
class Reached:
    """What the tests of a subject do without a mutant.

    Attributes:
        lines: Module -> line, from 1 -> the tests that ran it, as pytest names them.
        seconds: That all of them took.
    """

    lines: Mapping[str, Mapping[int, list[str]]]
    seconds: float


class Stopped(Exception):  # noqa: N818 - no fault
    """Somebody ended the trial."""


class Trial:
    """A copy of the repository in which one mutant after the other is tried.

    Args:
        copy: Its folder.
    """

    def __init__(self, copy: Path):
        self._copy = copy
        self._process: subprocess.Popen[str] | None = None
        self._is_over = False

    def reached(self, modules: Sequence[str], tests: Sequence[str]) -> Reached:
        """Which tests run which lines, in pytest's own process; a test that only a fixture of its
        file may stand behind is named by its file.

        Raises:
            UnhealthyError: The tests fail.
        """
        from coverage import CoverageData

        words = [*(f"--cov={folder}" for folder in {str(Path(path).parent) for path in modules})]
        words += ["--cov-context=test", "--cov-report=", *tests]
        begin = time.monotonic()
        end, output = self._run(words, _REACHING_SECONDS)
        seconds = time.monotonic() - begin
        if end != SURVIVED:
            raise UnhealthyError(output[-3000:])
        data = CoverageData(str(self._copy / ".coverage"))
        data.read()
        lines = {
            path: {
                line: list(dict.fromkeys(_named(one) for one in contexts if one))
                for line, contexts in data.contexts_by_lineno(str(self._copy / path)).items()
            }
            for path in modules
        }
        return Reached(lines, seconds)

    def outcome(
        self,
        mutant: Mutant,
        tests: Sequence[str],
        first: Sequence[str] = (),
        seconds: float = 0.0,
    ) -> str:
        """Whether a test notices the mutant: ``killed``, ``survived``, or ``hung`` (which the
        suite's own time-outs notice, so that it counts as killed).

        Args:
            tests: All that may.
            first: Those of them that are likely to, which are run before; ``tests`` may be none
                then.
            seconds: That all take without the mutant.
        """
        limit = max(_LEAST_SECONDS, _HANGING * seconds)
        module = self._copy / mutant.path
        original = module.read_text("utf-8")
        module.write_text(mutant.source, "utf-8")
        try:
            end = self._run(first, limit)[0] if first else SURVIVED
            if tests and end in (SURVIVED, NOT_RUN):  # not: with the mutant a test has another name
                end = self._run(tests, limit)[0]
            return KILLED if end == NOT_RUN else end
        finally:
            module.write_text(original, "utf-8")

    def end(self) -> None:
        """End what runs, from another thread or a signal's handler; nothing is run any more."""
        self._is_over = True
        if self._process is not None:
            _end(self._process)

    def _run(self, words: Sequence[str], seconds: float) -> tuple[str, str]:
        """How pytest ended, and what it printed."""
        if self._is_over:
            raise Stopped
        self._process = process = _pytest(self._copy, words)
        if self._is_over:  # meanwhile
            _end(process)
        try:
            text, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return HUNG, f"no end after {seconds} s"
        finally:
            _end(process)
        if self._is_over:
            raise Stopped
        # 2: a module that cannot even be collected; 4: a conftest, or no test of such a name.
        ends = {0: SURVIVED, 1: KILLED, 2: KILLED, 4: NOT_RUN}
        if process.returncode in ends:
            return ends[process.returncode], text
        raise RuntimeError(f"pytest exit {process.returncode}:\n{text[-2000:]}")


def _named(context: str) -> str:
    """``FILE::TEST|run`` -> the test; ``FILE::TEST|setup`` -> the file."""
    test, _, when = context.rpartition("|")
    return test if when == "run" else test.partition("::")[0]


def _pytest(copy: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    arguments = copy / ".arguments"
    arguments.write_text("".join(f"{word}\n" for word in words), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["-m", "not docker and not horovod and not pip_network and not storm"]
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CI"},
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen(
        [*command, f"@{arguments}"],
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[str]) -> None:
    """End pytest with all it started, sessions of their own too: a mutant in the agent may leave
    ranks behind, which pytest is the parent of, as tests/processes.py makes it."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)  # it starts no more
        while living := [pid for pid, command in descendants(process.pid).items() if command]:
            for pid in living:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
