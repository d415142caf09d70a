"""The scripts of `make compat-strategies`: what each follows, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.places import ENTRYPOINTS

HERE = Path(__file__).parent
EXPECTATIONS = ("succeeded", "refused")


@dataclass(frozen=True)
class Case:
    """One script.

    Attributes:
        name: Its file's name in ``scripts_STACK``, without ``.py``.
        form: The public script or page that it was written after, or the mistake that it makes.
        stack: Which environment runs it.
        strategy: What `--strategy` says.
        processes: Ranks on each of the two hosts.
        needs: Packages without which it is left out.
        expect: ``succeeded``, or ``refused``: the job fails because its ranks trained apart.
        environment: Variables of the ranks.
        script: The file's name, where it isn't the case's: the same script on another stack.
        ours: Whether it is one of our shared scripts, with what lies beneath them.
        note: What a reader of the table should know.
    """

    name: str
    form: str
    stack: str = "torch"
    strategy: str = "torch"
    processes: int = 1
    needs: tuple[str, ...] = ()
    expect: str = "succeeded"
    environment: tuple[tuple[str, str], ...] = ()
    script: str = ""
    ours: bool = False
    note: str = ""

    @property
    def file(self) -> Path:
        """Where the script lies; stacks of one framework (``torch``, ``torch-2.13``) share it."""
        folder = ENTRYPOINTS if self.ours else HERE / f"scripts_{self.stack.partition('-')[0]}"
        return folder / f"{self.script or self.name}.py"


@dataclass(frozen=True)
class Stack:
    """An environment: what pip installs, and what is tried once that is there."""

    requirements: tuple[str, ...] = ()
    afterwards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """All scripts, their environments, and forms that are not run, each with the reason."""

    cases: tuple[Case, ...]
    stacks: dict[str, Stack]
    not_run: tuple[tuple[str, str], ...]


def load(path: Path = HERE / "scripts.yaml") -> Catalogue:
    """The catalogue, in the file's order.

    Raises:
        ValueError: An outcome or a stack that does not exist, or a name used twice.
    """
    document = yaml.safe_load(path.read_text())
    stacks = {name: _stack(entry or {}) for name, entry in document["stacks"].items()}
    cases = tuple(_case(entry) for entry in document["cases"])
    names = [case.name for case in cases]
    for case in cases:
        if case.expect not in EXPECTATIONS or case.stack not in stacks:
            raise ValueError(f"{case.name}: {case.expect} or {case.stack} is not known")
        if names.count(case.name) > 1:
            raise ValueError(f"{case.name}: used twice")
    not_run = tuple((entry["form"], entry["why"]) for entry in document["not_run"])
    return Catalogue(cases, stacks, not_run)


def _stack(entry: dict[str, Any]) -> Stack:
    return Stack(tuple(entry.get("requirements", ())), tuple(entry.get("afterwards", ())))


def _case(entry: dict[str, Any]) -> Case:
    given = {**entry, "needs": tuple(entry.get("needs", ()))}
    given["environment"] = tuple(sorted(entry.get("environment", {}).items()))
    return Case(**given)
