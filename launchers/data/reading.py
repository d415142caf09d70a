"""Asking reading_program.py, in the Python that has pyarrow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.core.shipped import library
from launchers.data.catalogue import RULES
from launchers.data.environment import PILLOW, PYARROW, require

_PROGRAM = Path(__file__).with_name("reading_program.py")


def ask(python: str, task: str, **request: Any) -> dict[str, Any]:
    """The program's answer; waits for it, and ends it where this is interrupted.

    Raises:
        LaunchError: ``python`` lacks what the task needs, the place is none, or the program ended
            without an answer.
    """
    stores = library("object_stores")
    place = str(request["place"])
    seconds = stores.FIRST_SECONDS if task == "look" else stores.SECONDS
    request["place"] = stores.patient(place, seconds)
    modules = (PYARROW, PILLOW) if task == "sheet" else (PYARROW,)
    require(python, modules, "data")
    try:
        done = subprocess.run(
            [python, str(_PROGRAM)],
            input=json.dumps({"task": task, **request}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = done.stderr.strip().splitlines()[-1:] or [""]
        raise ended_without_answer(python, done.returncode, said[0]) from None
    except OSError as error:
        found = f"{python} ({error.strerror or error})"
        raise LaunchError(RULES["data-python"].at("--python", found)) from None
    if "error" in answer:
        told = answer["error"]
        # The program names files as they are named in the place.
        name = "" if told["place"] == request["place"] else told["place"]
        where = f"{place.rstrip('/')}/{name}" if name else place
        found = stores.said(told["found"])[:300]
        raise LaunchError(RULES[told["rule"]].at(where, found, told["expected"]))
    return answer


def ended_without_answer(what: str, code: int, said: str) -> LaunchError:
    """A program that was killed, or met what it does not expect."""
    how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    found = f"{how}: {said[:200]}" if said else how
    return LaunchError(RULES["data-program"].at(what, found), EXIT_JOB_DID_NOT_SUCCEED)
