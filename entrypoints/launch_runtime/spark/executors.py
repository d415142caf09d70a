"""Asks every executor once, before the first rank: whether all have what the ranks need.

A worker without Horovod, or with another TensorFlow than the others, fails minutes later and in
words of its own; a folder that is not shared, or not theirs to write to, fails at the job's end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence

from launch_runtime import lines
from launch_runtime.host import network
from launch_runtime.spark.answers import FOLDER_FIXES, FOLDERS, Answer, Executors, judged

if TYPE_CHECKING:
    from launch_runtime.spark.settings import SparkJob
    from launch_runtime.spark.slots import Executor, Slots

ASK_SECONDS = 120.0  # a folder of a dead file server never answers
_TRIES = 3  # Spark places tasks where it likes: usually on every free slot


def look_at_executors(
    session: Any, job: SparkJob, say: Callable[[str], None], slots: Slots, driver_address: str
) -> Executors:
    """Asks all executors at once; blocks for the seconds in which their Pythons start.

    Args:
        session: Spark's.
        job: What its ranks need.
        say: Is told what was found.
        slots: From :func:`slots.await_slots`.
        driver_address: By which executors reach the driver.

    Returns:
        What they have, with a problem where the ranks cannot start.
    """
    # TorchDistributor starts torchrun by the Python of the task itself.
    executable = "" if job.settings.strategy.name == "torch" else job.executable
    several = len({one.host for one in slots.executors}) > 1
    try:
        with contextlib.ExitStack() as marked:
            folders = {name: job.environment.get(FOLDERS[name], "") for name in FOLDERS}
            markers = {
                folder: marked.enter_context(_marked(name, folder))
                for name, folder in folders.items()
                # An object store has no folders to share, and none is looked at.
                if folder and "://" not in folder
            }
            question = _question(list(job.folders), markers, executable, several, driver_address)
            answers = _asked(session.sparkContext, question, slots.executors)
    except _AskError as error:
        return Executors(problem=str(error), fix=error.fix)
    interface = network.interface_of(driver_address) or ""
    found = judged(answers, job, slots.executors, interface)
    if not found.problem:
        say(found.words)
    return found


class _AskError(Exception):
    """The executors could not be asked; the text says why."""

    def __init__(self, text: str, fix: str):
        super().__init__(text)
        self.fix = fix


def _question(
    folders: Sequence[str],
    markers: Mapping[str, str],
    executable: str,
    several: bool,
    driver_address: str,
) -> Callable[[Any], Iterator[str]]:
    """What runs on executors. A function in a function, which Spark sends whole: they have our
    modules in a folder, and not on their path."""

    def ask(rows: Any) -> Iterator[str]:
        import importlib
        import json
        import os
        import socket
        import sys

        for folder in folders:
            if os.path.isfile(os.path.join(folder, "guard.py")):
                break
        else:
            name = os.path.basename(os.getcwd())
            yield json.dumps(
                {"executor": name if name.isdigit() else "", "host": socket.gethostname()}
            )
            return
        # Ahead of everything while we look, and gone again: it has an agent.py and a folder lib.
        sys.path.insert(0, os.path.abspath(folder))
        try:
            probe = importlib.import_module("launch_runtime.spark.probe")
            found = probe.look(markers, executable, several, driver_address)
            yield json.dumps({**found, "folder": folder})
        finally:
            sys.path.remove(os.path.abspath(folder))

    return ask


def _asked(
    context: Any, question: Callable[[Any], Iterator[str]], expected: Sequence[Executor]
) -> list[Answer]:
    """One answer of each executor, by name; again where Spark has left one out.

    Raises:
        _AskError: A task has failed, or none has ended in time.
    """
    tasks = max(1, sum(one.slots for one in expected))
    wanted = {one.name for one in expected if one.name != "driver"}
    known: dict[tuple[str, str], Answer] = {}
    for _ in range(_TRIES):
        # As many tasks as slots, all offered at once: no executor stays without one.
        for text in _collected(context, question, tasks):
            found = Answer(**json.loads(text))
            known[(found.executor, found.host)] = found
        if wanted <= {one.executor for one in known.values()}:
            break
    return [known[key] for key in sorted(known)]


def _collected(context: Any, question: Callable[[Any], Iterator[str]], tasks: int) -> Sequence[str]:
    results: list[Sequence[str]] = []
    errors: list[Exception] = []

    def collect() -> None:
        try:
            rows = context.parallelize(range(tasks), tasks).mapPartitions(question)
            results.append(rows.collect())
        except Exception as error:
            errors.append(error)

    asking = threading.Thread(target=collect, daemon=True)
    asking.start()
    asking.join(ASK_SECONDS)
    if errors:
        raise _AskError(*why_failed(errors[0]))
    if not results:
        context.cancelAllJobs()
        raise _AskError(
            f"not every executor has answered in {ASK_SECONDS:g} s",
            "see the executors' own logs; a folder of a file server that is gone, or a host that "
            "the driver cannot reach, holds them up",
        )
    return results[0]


def why_failed(error: BaseException) -> tuple[str, str]:
    """Why a Spark job has failed, in one line, and what to change; "" where nobody knows."""
    text = str(getattr(error, "java_exception", None) or error)
    place = re.search(r"\((?P<host>[^()\s]+) executor (?P<name>[^()\s]+)\)", text)
    where = f"executor {place['name']} on {place['host']}: " if place else ""
    versions = re.search(r"different version:? \(?(?P<worker>[\d., ()]+?)\)? than", text)
    if "PYTHON_VERSION_MISMATCH" in text or versions:
        worker = f" {versions['worker'].replace(', ', '.').strip('( )')}" if versions else ""
        problem = (
            f"{where}the executors' Python{worker} has another minor version than the driver's; "
            "expected the same"
        )
        fix = (
            "start the driver by the workers' minor version of Python, or give the executors one "
            "environment: --archive env.tgz"
        )
        return problem, fix
    program = re.search(r'Cannot run program "([^"]+)"', text)
    if program:
        return (
            f"{where}there is no Python {program[1]}",
            "name one that every worker has, or give them one: --archive env.tgz",
        )
    said = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in said if re.match(r"[\w.]*(Error|Exception)\b", line)]
    own = [line for line in causes if not line.startswith(("org.apache.spark", "py4j"))]
    picked = (own or causes or said or [type(error).__name__])[0]
    return lines.one_line(f"{where}{picked}"), ""


@contextlib.contextmanager
def _marked(name: str, folder: str) -> Iterator[str]:
    """A file in a folder that executors can look for.

    Raises:
        _AskError: The driver itself cannot write there.
    """
    marker = os.path.join(os.path.abspath(folder), f".launch-{secrets.token_hex(8)}")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(marker, "xb"):
            pass
    except OSError as error:
        what = f"the {name} folder {folder} cannot be written by the driver: {error.strerror}"
        raise _AskError(what, FOLDER_FIXES[name]) from None
    try:
        yield marker
    finally:
        with contextlib.suppress(OSError):
            os.remove(marker)
