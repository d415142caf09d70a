"""Which variables a job may set by ``--env``, the same on every provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from launchers.core.catalogue import RULES
from launchers.core.model.document import whole_number
from launchers.core.model.problems import Problem
from launchers.core.records import nonce
from launchers.core.shipped import runtime
from launchers.core.spec import limits
from launchers.core.spec.job import PROOF_MODES
from launchers.core.strategies import FIRST, NAMES, VARIABLE, named
from launchers.core.strategies.strategy import Strategy

# What the launcher, the agent, the containers' toolkits or mpirun set; a user's value would
# change how many ranks start or which GPU they get.
_RESERVED_PREFIXES = ("LAUNCH_", "SM_", "OMPI_", "PMIX_")
_PROCESSES, _WORLD_SIZE = "LAUNCH_PROCESSES", "LAUNCH_WORLD_SIZE"
_RESERVED_NAMES = ("CUDA_VISIBLE_DEVICES", "HOROVOD_ELASTIC")


def is_reserved(name: str) -> bool:
    """Whether ``--env`` may not set ``name``."""
    if name.startswith(_RESERVED_PREFIXES) or name in _RESERVED_NAMES:
        return True
    return name.startswith("HOROVOD_") and name in runtime("horovod_names").ALL


def problems_in_names(
    environment: Mapping[str, str],
    path: str = "--env",
    free: Callable[[str], bool] = lambda name: False,
    strategy: Strategy | None = None,
) -> list[Problem]:
    """One problem for each reserved name, and one for each value that no environment can hold.

    Args:
        free: Names that this provider leaves to the user all the same.
        strategy: By what the job's ranks train; its own names are reserved as well.
    """
    problems = []
    for name, value in environment.items():
        if strategy is not None and strategy.reserves(name):
            found = f"a name that the launcher sets for each rank of {strategy.title}"
            fix = _INSTEAD.get(name, "leave it out: --instances and --processes say all of it")
            problems.append(RULES["env-reserved"].at(f"{path} {name}", found, fix=fix))
        elif is_reserved(name) and not free(name):
            problems.append(
                RULES["env-reserved"].at(
                    f"{path} {name}",
                    "a name that the launcher sets",
                    fix=_INSTEAD.get(name, "leave it out"),
                )
            )
        if name == "PATH" and path == "--env" and not value:
            problems.append(RULES["env-path"].at(f"{path} {name}", "an empty list of folders"))
        if "\0" in value:
            problems.append(RULES["env-nul"].at(f"{path} {name}", "a NUL character"))
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            problems.append(RULES["env-name"].at(f"{path} {name}", "not a variable's name"))
    return problems


def problems_in_proof(environment: Mapping[str, Any], path: str) -> list[Problem]:
    """What a document says of its proof, LAUNCH_PROOF, LAUNCH_STRATEGY with its LAUNCH_PROCESSES,
    and LAUNCH_NONCE, where it says it wrongly.

    No message carries the nonce.

    Args:
        path: Where the variables stand.
    """
    problems = []
    mode = environment.get("LAUNCH_PROOF", PROOF_MODES[0])
    if mode not in PROOF_MODES:
        problems.append(
            RULES["proof-mode"].at(
                f"{path}.LAUNCH_PROOF", repr(mode)[:60], "one of " + ", ".join(PROOF_MODES)
            )
        )
    strategy = environment.get(VARIABLE, FIRST)
    if strategy not in NAMES:
        problems.append(
            RULES["strategy-name"].at(
                f"{path}.{VARIABLE}", repr(strategy)[:60], "one of " + ", ".join(NAMES)
            )
        )
    elif named(strategy).one_a_host and (whole_number(environment.get(_PROCESSES)) or 1) > 1:
        problems.append(
            RULES["strategy-processes"].at(
                f"{path}.{_PROCESSES}",
                f"{environment[_PROCESSES]}, and {named(strategy).title} has one process a host",
                fix=f'set it to "1" or leave it out, and {_WORLD_SIZE} to hosts x GPUs',
            )
        )
    given = str(environment.get(nonce.VARIABLE, nonce.PLACEHOLDER))
    if given != nonce.PLACEHOLDER and not re.fullmatch(nonce.FORM, given):
        problems.append(RULES["nonce"].at(f"{path}.{nonce.VARIABLE}", "another text"))
    return problems


_INSTEAD = {
    "CUDA_VISIBLE_DEVICES": "use --gpus and --pin-gpu",
    "HOROVOD_SIZE": "use --instances and --processes",
    "LAUNCH_WORLD_SIZE": "use --instances and --processes",
    "LAUNCH_KERAS": "use --keras",
    "LAUNCH_STRATEGY": "use --strategy",
    "LAUNCH_PIN_GPU": "use --pin-gpu",
    "LAUNCH_PROOF": "use --proof",
    "LAUNCH_HANG_AFTER": "use --hang-after",
    "LAUNCH_HANG_ACTION": "use --hang-action",
    "LAUNCH_CHECKPOINT_DIR": "use --checkpoint",
    **{variable: f"use --limit {name}=TIME" for name, variable in limits.VARIABLES.items()},
}
