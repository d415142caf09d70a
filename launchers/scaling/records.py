"""A study's folder: what it was asked for and every run as it stands, written whole after each
change, so that a kill at any moment loses nothing but the run that was under way."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from launchers.core.credentials.elsewhere import masked_arguments, without_credentials
from launchers.core.model.problems import LaunchError, Problem
from launchers.core.paths import at_home, writing
from launchers.core.records.ledger import data_folder
from launchers.core.records.lock import process_lock
from launchers.scaling.catalogue import RULES
from launchers.scaling.results import Epoch, Run, Size

STATE = "study.json"
# What a study writes beside it in the end.
RESULTS_JSON, RESULTS_CSV = "results.json", "results.csv"
PAGE, PICTURE = "report.html", "report.png"
_VERSION = 1
_FIX = "name another folder with --output"
# The setting that holds the script's own arguments.
ARGUMENTS = "--"


@dataclass(frozen=True)
class Record:
    """What is kept of a study.

    Attributes:
        settings: What was asked for, by flag (:attr:`StudyPlan.settings`).
        source: Digest of the Python files that ran.
        command: The first command line, without credentials.
        begun: ISO 8601, UTC.
        runs: In the order in which they start.
        files: Digests of the source's files as the study began (:func:`contents.digests_of`).
        changed: Those that have changed since, as far as runs may have read them.
    """

    name: str
    settings: Mapping[str, str]
    source: str
    command: str
    begun: str
    machine: str = ""
    cores: int | None = None
    runs: tuple[Run, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()


@dataclass
class StudyFolder:
    """Where a study lies.

    Attributes:
        record: As it was read or written last; None before.
    """

    path: Path
    record: Record | None = field(default=None)

    @property
    def state(self) -> Path:
        """The file of the record."""
        return self.path / STATE

    def read(self) -> Record | None:
        """The record; None where there is none yet.

        Raises:
            LaunchError: The file cannot be read, or is none of ours.
        """
        try:
            self.record = _from_json(json.loads(self.state.read_text("utf-8")))
        except FileNotFoundError:
            self.record = None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            found = error.strerror if isinstance(error, OSError) else "no state of a study"
            raise LaunchError(RULES["scaling-state"].at(str(self.state), str(found))) from None
        return self.record

    def check(self) -> None:
        """Look whether the study may write here; changes nothing.

        Raises:
            LaunchError: Files are there that no study wrote, and that this one would overwrite; or
                the record is none of ours.
        """
        if not self.path.is_dir() or self.read() is not None:
            return
        names = (RESULTS_JSON, RESULTS_CSV, PAGE, PICTURE)
        there = [path for path in map(self.path.joinpath, names) if os.path.lexists(path)]
        if there:
            found = "a file that is already there"
            raise LaunchError(RULES["scaling-exists"].at(str(path), found) for path in there)

    def write(self, record: Record) -> None:
        """Put the record in place of the one before; a reader finds one of the two, whole.

        Raises:
            LaunchError: The folder takes no file.
        """
        value = {"version": _VERSION, **dataclasses.asdict(record)}
        write_whole(self.state, json.dumps(value, indent=1) + "\n")
        self.record = record

    def put(self, run: Run) -> None:
        """Keep how a run stands now."""
        assert self.record is not None
        runs = tuple(run if same_run(run, one) else one for one in self.record.runs)
        self.write(replace(self.record, runs=runs))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else works on this study meanwhile.

        Raises:
            LaunchError: Somebody does.
        """

        def refuse() -> None:
            raise LaunchError(RULES["scaling-running"].at(str(self.path), "another one at work"))

        with writing(self.path, _FIX):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:16]
        with process_lock(f"study-{place}", refuse):
            yield


def place_of(name: str, given: str | None, travels: Path | None) -> Path:
    """Where a study lies: ``--output``, else a folder of its own in the user's data folder.

    Args:
        given: ``--output``.
        travels: The source, where it is sent with each job.

    Raises:
        LaunchError: The study would travel with it.
    """
    if given is None:
        return data_folder() / "studies" / name
    folder = at_home(given).absolute()
    if travels is not None and folder.resolve().is_relative_to(travels.resolve()):
        raise LaunchError(RULES["scaling-output"].at("--output", f"{given}, in {travels}"))
    return folder


def same_run(one: Run, other: Run) -> bool:
    """Whether both are the same point of the grid and the same repeat."""
    return (one.size, one.repeat) == (other.size, other.repeat)


def differences(record: Record, settings: Mapping[str, str]) -> list[Problem]:
    """What keeps a command line from going on with a study that another one began."""
    return [
        RULES["scaling-another"].at(name, _shown(name, settings), _shown(name, record.settings))
        for name in dict.fromkeys((*record.settings, *settings))
        if record.settings.get(name) != settings.get(name)
    ]


def other_sizes(record: Record, sizes: Iterable[Size]) -> list[Problem]:
    """What keeps the same command line from going on where it makes other sizes of the study than
    it did, as on a machine with other GPUs."""
    before, now = {run.size for run in record.runs}, set(sizes)
    if before == now:
        return []
    found, expected = (
        ", ".join(sorted({f"{one.instances} x {one.processes}" for one in each}))
        for each in (now, before)
    )
    return [RULES["scaling-another"].at("sizes", found, expected)]


def _shown(name: str, settings: Mapping[str, str]) -> str:
    """A setting for a message, without credentials."""
    text = settings.get(name, "not given")
    if name == ARGUMENTS and name in settings:
        text = shlex.join(masked_arguments(shlex.split(text)))
    return without_credentials(text)


def write_whole(path: Path, text: str) -> None:
    """Write a file of its owner's alone, so that a reader finds the old one or the new one.

    Raises:
        LaunchError: It cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path, _FIX):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)


def _from_json(value: Any) -> Record:
    if value["version"] != _VERSION:
        raise ValueError
    # A study that an earlier release began has none of these.
    value = {"files": {}, "changed": [], **value}
    fields = {one.name: value[one.name] for one in dataclasses.fields(Record)}
    fields["settings"], fields["files"] = dict(value["settings"]), dict(value["files"])
    fields["runs"] = tuple(_run(one) for one in value["runs"])
    fields["changed"] = tuple(value["changed"])
    texts = (*fields["files"].values(), *fields["changed"])
    if not isinstance(value["changed"], list) or not all(isinstance(one, str) for one in texts):
        raise ValueError
    return Record(**fields)


def _run(value: Mapping[str, Any]) -> Run:
    size = value["size"]
    variant = tuple((str(name), str(text)) for name, text in size["variant"])
    epochs = tuple(Epoch(**one) for one in value["epochs"])
    return Run(**{**value, "size": Size(**{**size, "variant": variant}), "epochs": epochs})
