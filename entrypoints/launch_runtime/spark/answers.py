"""What executors have answered, and whether ranks can start on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from launch_runtime import lines

if TYPE_CHECKING:
    from launch_runtime.spark.settings import SparkJob
    from launch_runtime.spark.slots import Executor

# Where rank 0 writes, which runs on any executor: the folder in words, and its variable.
FOLDERS = {"checkpoint": "LAUNCH_CHECKPOINT_DIR", "model": "LAUNCH_MODEL_DIR"}
_MOST_NAMED = 4

# Strategy -> what its ranks cannot do without, as `a or b`. TorchDistributor hands rows over by
# Arrow and pandas (pyspark/ml/torch/distributor.py, 3.4 to 3.5).
_NEEDED = {
    "horovod": (("horovod",), ("tensorflow", "torch")),
    "torch": (("torch",), ("pandas",), ("pyarrow",)),
}
_TITLES = {"horovod": "Horovod", "tensorflow": "TensorFlow", "torch": "PyTorch"}
_TITLES.update(python="Python", pandas="pandas", pyarrow="pyarrow")
# The same on all: ranks exchange what these have made.
_COMPARED = ("horovod", "tensorflow", "torch")


class Answer(NamedTuple):
    """One executor's.

    Attributes:
        executor: Its id, "" where it cannot tell.
        host: Its own name.
        folder: In which it has our files, as one of ``job.folders``; "" where it has them nowhere.
        python: The version of the ranks' Python.
        executable: That Python's path there.
        versions: Library -> version, of those that are there.
        folders: Folder that rank 0 writes to -> why it could not do so there, or "".
        name_trouble: Why Gloo cannot work with the host's own name, or "".
        interface: By which it reaches the driver, or "".
        gpus: That Spark has given the task that asked.
        devices: GPUs that the host shows.
        trouble: Why the ranks' Python says nothing, or "".
    """

    executor: str
    host: str
    folder: str = ""
    python: str = ""
    executable: str = ""
    versions: Mapping[str, str] = {}
    folders: Mapping[str, str] = {}
    name_trouble: str = ""
    interface: str = ""
    gpus: Sequence[str] = ()
    devices: int = 0
    trouble: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"executor {self.executor} on {self.host}" if self.executor else self.host


class Executors(NamedTuple):
    """What they have said.

    Attributes:
        answers: One of each executor.
        folder: In which all have our files.
        python: The path of the ranks' Python, as it holds on all of them.
        interface: The network interface by which they and the driver reach each other; "" where its
            name is not the same on all of them.
        problem: Why no rank can be started, or "".
        fix: What to change then.
    """

    answers: Sequence[Answer] = ()
    folder: str = ""
    python: str = ""
    interface: str = ""
    problem: str = ""
    fix: str = ""

    @property
    def versions(self) -> dict[str, str]:
        """For the result file: Python's and the libraries', as the first executor has them."""
        if not self.answers:
            return {}
        return {"python": self.answers[0].python, **self.answers[0].versions}

    @property
    def words(self) -> str:
        """One line for people: how many executors have what."""
        names = [name for name in ("python", *_COMPARED) if self.versions.get(name)]
        has = ", ".join(f"{_TITLES[name]} {self.versions[name]}" for name in names)
        hosts = len({one.host for one in self.answers})
        count = lines.count(len(self.answers), "executor")
        return f"{count} on {lines.count(hosts, 'host')}, each with {has}"


_SHARED = "name a folder that the driver and all workers share, and that their users may write: "
FOLDER_FIXES = {
    "checkpoint": f"{_SHARED}--checkpoint PLACE, which may be one in an object store",
    "model": f"{_SHARED}--output-path PLACE",
}
_NAME_FIX = "add a line with the machine's name and its address in the network to its /etc/hosts"
_SAME_FIX = (
    "install the same on every worker, or give all executors one environment: --archive env.tgz"
)


def judged(
    answers: Sequence[Answer], job: SparkJob, expected: Sequence[Executor], interface: str = ""
) -> Executors:
    """The answers, with all that is wrong in one sentence.

    Args:
        interface: The driver's, by which executors reach it; "" where that is not known.
    """
    found: list[tuple[str, str]] = []
    silent = {one.name for one in expected if one.name != "driver"}
    silent -= {one.executor for one in answers}
    if silent and all(one.executor for one in answers):
        found.append((f"executor {lines.and_list(sorted(silent))} has not answered", ""))
    bare = [one for one in answers if not one.folder]
    if bare:
        folders = lines.and_list(list(job.folders))
        text = f"no guard.py on {_names(bare)}; looked in {folders}"
        found.append((text, "hand the code to executors as launch does: its archive in --archives"))
    whole = [one for one in answers if one.folder and not one.trouble]
    found += [(f"{one.name}: {one.trouble}", _SAME_FIX) for one in answers if one.trouble]
    found += _missing(whole, job.settings.strategy.name)
    found += _unequal(whole)
    found += _unwritable(answers, job.environment)
    # TorchDistributor tells all ranks one address; Horovod's Gloo asks each host for its own.
    if job.settings.strategy.name == "horovod" and job.settings.ranks > 1:
        named = [one for one in answers if one.name_trouble]
        found += [(f"{one.name}: {one.name_trouble}", _NAME_FIX) for one in named]
    fixes = list(dict.fromkeys(fix for _, fix in found if fix))
    return Executors(
        answers,
        folder=answers[0].folder if answers else "",
        python=_python(answers, job),
        interface=interface if {one.interface for one in answers} == {interface} else "",
        problem="; ".join(text for text, _ in found),
        fix="; ".join(fixes),
    )


def _unwritable(answers: Sequence[Answer], environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Folders in which rank 0 could write nothing, or nothing that the job's other machines see."""
    found = []
    for name, variable in FOLDERS.items():
        folder = environment.get(variable, "")
        without: dict[str, list[Answer]] = {}
        for one in answers:
            without.setdefault(one.folders.get(folder, ""), []).append(one)
        for why in sorted(filter(None, without)):
            text = f"the {name} folder {folder} {why} on {_names(without[why])}"
            found.append((text, FOLDER_FIXES[name]))
    return found


def _missing(answers: Sequence[Answer], strategy: str) -> list[tuple[str, str]]:
    """Libraries that ranks of the strategy need and that are not there."""
    found = []
    for choice in _NEEDED.get(strategy, ()):
        without = [one for one in answers if not any(name in one.versions for name in choice)]
        if without:
            titles = " or ".join(_TITLES[name] for name in choice)
            pythons = lines.and_list(sorted({one.executable for one in without})[:_MOST_NAMED])
            found.append((f"no {titles} on {_names(without)} (Python {pythons})", _SAME_FIX))
    return found


def _unequal(answers: Sequence[Answer]) -> list[tuple[str, str]]:
    """Versions that are not the same everywhere; of Python's the first two numbers count."""
    found = []
    for name in ("python", *_COMPARED):
        having: dict[str, list[Answer]] = {}
        for one in answers:
            text = ".".join(one.python.split(".")[:2]) if name == "python" else ""
            having.setdefault(text or one.versions.get(name, "none"), []).append(one)
        if len(having) > 1:
            parts = [f"{version} on {_names(group)}" for version, group in having.items()]
            found.append((f"{_TITLES[name]} is not the same: {', '.join(parts)}", _SAME_FIX))
    return found


def _python(answers: Sequence[Answer], job: SparkJob) -> str:
    """What starts a rank on every executor: the given path, else the one that all have."""
    paths = {one.executable for one in answers if one.executable}
    return job.executable or (paths.pop() if len(paths) == 1 else "")


def _names(answers: Sequence[Answer]) -> str:
    words = [one.name for one in answers[:_MOST_NAMED]]
    if len(answers) > _MOST_NAMED:
        words.append(f"{len(answers) - _MOST_NAMED} more")
    return lines.and_list(words)
