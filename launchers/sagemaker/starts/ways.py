"""The ways of starting that AWS's toolkits know, and which image knows which (ways.json)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from launchers.core.model.document import at
from launchers.sagemaker.document import hyperparameter
from launchers.sagemaker.tables import images

_FILE = Path(__file__).with_name("ways.json")
_MODULE_VARIABLE = "SAGEMAKER_TRAINING_MODULE"


class Way(NamedTuple):
    """One way of starting.

    Attributes:
        name: Its key in ways.json.
        flag: The hyperparameter that switches it on.
        title: What starts the processes, for a message.
        processes: On each host: ``each`` as many as the request says, else one a GPU; ``gpus`` one
            a GPU whatever it says; ``one`` a single one.
        python_only: It refuses a program that is no Python file.
        since: The framework's version whose image first has it; empty where all have it.
        strategy: By which its processes join, where a rehearsal can watch that; empty for Horovod.
    """

    name: str
    flag: str
    title: str
    processes: str
    python_only: bool = False
    since: str = ""
    strategy: str = ""


@lru_cache(maxsize=1)
def _table() -> Any:
    return json.loads(_FILE.read_bytes())


@lru_cache(maxsize=1)
def ways() -> dict[str, Way]:
    """Every way by its name."""
    return {name: Way(name, **row) for name, row in _table()["ways"].items()}


def switched_on(document: object) -> list[Way]:
    """The ways whose flag is true for Python, as the toolkit asks."""
    return [way for way in ways().values() if hyperparameter(document, way.flag)]


def strategy_of(document: object) -> str:
    """By what the processes of the first way that is on are meant to join; empty for Horovod."""
    return next((way.strategy for way in switched_on(document)), "")


def module_of(document: object) -> str | None:
    """Whose framework module the image has: ``pytorch``, ``tensorflow``, or empty for the bare
    toolkit; None where that is not known.

    AWS's images name it in SAGEMAKER_TRAINING_MODULE, and a request may do so itself.
    """
    named = at(document, "Environment", _MODULE_VARIABLE)
    if isinstance(named, str):
        known: dict[str, str] = _table()["module_names"]
        return known.get(named.partition(".")[0]) if named else ""
    uri = at(document, "AlgorithmSpecification", "TrainingImage")
    image = images.parse(uri) if isinstance(uri, str) else None
    if image is None or image.unfit.startswith("an image for"):
        return None
    return next((name for name in ("pytorch", "tensorflow") if name in image.framework), None)


def known_to(module: str) -> list[Way]:
    """The ways that a framework module obeys; of several, the first that is switched on counts."""
    return [ways()[name] for name in _table()["modules"][module]]
