"""The scripts of `make compat-gpus`, and what must come of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.compat.strategies.runs import Found

HERE = Path(__file__).parent
# Of the files beside the scripts: what they import.
BENEATH = ("gpu_toy.py", "one_gpu.py", "one_gpu_horovod.py")
EXPECTATIONS = ("succeeded", "refused", "failed")


@dataclass(frozen=True)
class Case:
    """One script, run by two hosts of one rank on the same GPU.

    Attributes:
        name: Its file's name in ``scripts``, without ``.py``.
        form: What it does.
        strategy: What `--strategy` says.
        script: Its file's name, where several cases run it.
        needs: Packages without which it is left out.
        expect: ``succeeded``; ``refused``: the job fails because its ranks trained apart or on one
            GPU; ``failed``: by what happened to a rank.
        says: A regular expression that the reason must match.
        shares: Whether the ranks share the GPU by wish (``--pin-gpu none``).
        flags: More of `launch local`.
        environment: Variables of the ranks.
        ours: Arguments of one of our shared scripts, which it runs then.
    """

    name: str
    form: str
    strategy: str = "torch"
    needs: tuple[str, ...] = ()
    expect: str = "succeeded"
    says: str = ""
    shares: bool = True
    flags: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    ours: tuple[str, ...] = ()
    script: str = ""

    @property
    def file(self) -> Path:
        """Where the script lies."""
        return HERE / "scripts" / f"{self.script or self.name}.py"

    def as_expected(self, found: Found) -> bool:
        """Whether what came of it is what must come, and for the right reason."""
        return found.state == self.expect and bool(re.search(self.says, found.words))


def load(path: Path = HERE / "scripts.yaml") -> tuple[Case, ...]:
    """The cases, in the file's order.

    Raises:
        ValueError: An outcome that does not exist, or a name used twice.
    """
    cases = tuple(map(_case, yaml.safe_load(path.read_text())["cases"]))
    names = [case.name for case in cases]
    for case in cases:
        if case.expect not in EXPECTATIONS:
            raise ValueError(f"{case.name}: {case.expect} is not known")
        if names.count(case.name) > 1:
            raise ValueError(f"{case.name}: used twice")
    return cases


def _case(entry: dict[str, Any]) -> Case:
    given = {**entry, "environment": tuple(sorted(entry.get("environment", {}).items()))}
    lists = {name: tuple(entry.get(name, ())) for name in ("needs", "flags", "ours")}
    return Case(**{**given, **lists})
