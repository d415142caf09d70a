"""What `.venv` is, as written in it: so that a second `make` knows whether anything is to do."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

STATE_FILE = "launch-environment.json"
READY, UNFINISHED = "ready", "unfinished"
# A digest of requirements that no file has.
NOTHING = ""


class ForeignEnvironmentError(Exception):
    """The folder `.venv` holds something that this program did not make."""


@dataclass(frozen=True)
class State:
    """One environment; two equal ones need no work.

    Attributes:
        status: Whether the packages below are all there.
        python: The full version of its Python.
        base: The interpreter that it was made with.
        folder: Where it was made; its commands name that place.
        packages: Digest of requirements.txt as it was installed.
        tools: The same of requirements-dev.txt, or NOTHING.
    """

    status: str
    python: str
    base: str
    folder: str
    packages: str = NOTHING
    tools: str = NOTHING


def read(folder: Path) -> State | None:
    """The state of the environment in ``folder``, or None where there is none.

    Raises:
        ForeignEnvironmentError: There is something that this program did not make.
    """
    if not folder.exists() and not folder.is_symlink():
        return None
    try:
        return State(**json.loads((folder / STATE_FILE).read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        raise ForeignEnvironmentError(
            f"folder: {folder} was not made by `make`; expected none, or its own; "
            f"move it away, or remove it: rm -r {folder}"
        ) from None
    except (ValueError, TypeError):
        return State(UNFINISHED, "", "", str(folder))


def write(folder: Path, state: State) -> None:
    """Notes ``state`` in its environment, whole or not at all."""
    partial = folder / f"{STATE_FILE}.partial"
    partial.write_text(json.dumps(asdict(state), indent=2) + "\n", "utf-8")
    os.replace(partial, folder / STATE_FILE)


def misfit(found: State, wanted: State) -> str:
    """Why an environment cannot be brought up to date but has to be made anew, else ""."""
    if found.status != READY:
        return "was not finished"
    if found.folder != wanted.folder:
        return f"was made at {found.folder}"
    if (found.python, found.base) != (wanted.python, wanted.base):
        return f"has Python {found.python} ({found.base})"
    return ""
