"""What the laptop's side knows of a strategy. Data alone; the rank's half is
``entrypoints/launch_runtime/strategies``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from launchers.core.model.image_needs import ImageNeeds
from launchers.core.shipped import runtime


@dataclass(frozen=True)
class Use:
    """One library, or part of one, by whose use in the source a strategy is known.

    Attributes:
        title: What people call it.
        marks: Regular expressions of dotted names; code that uses one, or what lies below it,
            uses this.
        joins: The same, of what joins a world where code uses it, apart from importing it.
        instead: What to do with a script that uses it where another strategy's ranks are started;
            empty where the general words say it all.
        by_import: An import of it says as much as a call that joins.
        own_devices: It gives each rank its GPU itself, where a line imports this (a regular
            expression of what follows ``import`` or ``from``).
        yields: It trains by another strategy where the source imports one, or what has its name.
        one_host: What to do with it on several hosts, where it joins the devices of one alone.
    """

    title: str
    marks: tuple[str, ...]
    joins: tuple[str, ...] = ()
    instead: str = ""
    by_import: bool = False
    own_devices: str = ""
    yields: bool = False
    one_host: str = ""

    def shown_by(self, names: Iterable[str]) -> str:
        """The first of these dotted names that shows it, or an empty string."""
        return _first(self.marks, names, r"(?:\.|$)")

    def joined_by(self, names: Iterable[str]) -> str:
        """The first of these dotted names, of what is called, that joins; or an empty string."""
        return _first(self.joins, names, "$") if self.joins else ""


@dataclass(frozen=True)
class Strategy:
    """One way to train on several ranks, as plan, rules and documents need to know it.

    Attributes:
        name: The word of `--strategy`, and the name of its module.
        title: What people call it.
        joining: The call by which a rank joins, as it is said to people.
        bring_in: What to do with a script that has no strategy yet, in the imperative.
        uses: What source uses it; the more telling ones first.
        words: What a file must hold before it is parsed for :attr:`Use.joins`; matches at least
            wherever one of these is called.
        cannot: Parts of the same library that no job is started for, with what to do instead.
        mention: A word that shows it wherever it stands in code, if weakly (a setting, a flag).
        library: What the ranks' Python must have, as people call it; empty for nothing.
        package: The same as a name of its package (`pip install NAME`).
        install: What to do where it is missing, besides naming another Python.
        names: The module of ``entrypoints/launch_runtime`` whose ``ALL`` has the variables by which
            its ranks are told their places; `--env` may not set them in its jobs.
        reserved: Other such variables.
        settles_keras: Whether its ranks' Keras is decided in the plan, as the rank's half says too.
        starts: Dotted names, as in :attr:`Use.marks`, of what starts ranks by itself, where the
            launcher has started them already.
        launchers: A regular expression of what does so by a command.
        launcher_words: The same, of arguments of such a command that people give to the script.
        one_a_host: Whether a host runs one process for all its GPUs, with a replica of the model on
            each; else one process for each.
        fit: Which Keras its ``fit()`` needs on several hosts, ``2``; empty where any does.
        local_rank: By which word a script that picks its own GPU knows which; bytes of its code.
        picks_device: By which calls it does so.
        image: What an image must hold, for `launch image check`; None for its package alone. (For
            Horovod launchers/image/needs.py has the table.)
        gives_way: Variables by which ranks that wait leave the cores to others, for a machine
            with fewer cores than ranks.
    """

    name: str
    title: str
    joining: str = ""
    bring_in: str = ""
    uses: tuple[Use, ...] = ()
    words: str = ""
    cannot: tuple[Use, ...] = ()
    mention: str = ""
    library: str = ""
    package: str = ""
    install: str = ""
    names: str = ""
    reserved: tuple[str, ...] = ()
    settles_keras: bool = False
    starts: tuple[str, ...] = ()
    launchers: str = ""
    launcher_words: str = ""
    one_a_host: bool = False
    fit: str = ""
    local_rank: str = "local_rank"
    picks_device: str = (
        r"set_visible_devices|visible_device_list|set_device|torch\.device|\.cuda\("
        r"|CUDA_VISIBLE_DEVICES"
    )
    image: ImageNeeds | None = None
    gives_way: Mapping[str, str] = field(default_factory=dict)

    def processes(self, asked: int | None, gpus: int) -> int:
        """Processes of a host.

        Args:
            asked: ``--processes``.
            gpus: Of the host.
        """
        return asked or (1 if self.one_a_host else gpus) or 1

    def world_size(self, instances: int, processes: int, gpus: int) -> int:
        """Ranks of a job, or replicas where a process has one on each of its GPUs."""
        return instances * processes * (max(gpus, 1) if self.one_a_host else 1)

    @property
    def counts(self) -> str:
        """What its world size counts."""
        return "replica" if self.one_a_host else "rank"

    def reserves(self, name: str) -> bool:
        """Whether a variable says a rank's place."""
        return name in self.reserved or (bool(self.names) and name in runtime(self.names).ALL)

    def mentioned_in(self, text: bytes) -> bool:
        """Whether its word stands there."""
        return self._mention is not None and bool(self._mention.search(text))

    def started_by(self, names: Iterable[str]) -> str:
        """The first of these dotted names that starts ranks by itself, or an empty string."""
        return _first(self.starts, names, r"(?:\.|$)") if self.starts else ""

    def is_word(self, text: str) -> bool:
        """Whether ``text`` is its word and nothing else."""
        return self._mention is not None and bool(
            self._mention.fullmatch(text.encode("utf-8", "replace"))
        )

    @cached_property
    def may_join(self) -> re.Pattern[bytes]:
        """What a file that holds a call or an import that joins has somewhere."""
        return re.compile(self.words.encode(), re.IGNORECASE)

    @cached_property
    def _mention(self) -> re.Pattern[bytes] | None:
        return re.compile(self.mention.encode(), re.IGNORECASE) if self.mention else None


def _first(marks: tuple[str, ...], names: Iterable[str], end: str) -> str:
    pattern = re.compile(rf"(?:{'|'.join(marks)}){end}")
    return next((name for name in names if pattern.match(name)), "")
