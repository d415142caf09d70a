"""One run at a time in a checkpoint folder: two would overwrite and remove each other's files.

The run that writes there keeps a file in it, ``in-use.json``, says in it every 15 s that it lives,
and removes it at its end. Locks of the file system aren't used: on network file systems and mounted
buckets they hold nothing, or aren't there. Whether an owner that left its file behind still lives,
a process of the same machine is asked; of one elsewhere a sign of life is waited for, since clocks
differ. Where two take a silent owner's folder in the same moment, or an owner was only asleep, the
one whose file was replaced ends before it writes.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import threading
import time
import uuid
from typing import Any, Mapping

from . import storage
from .errors import TrainingError
from .places import Place
from .progress import say

FILE = "in-use.json"
SECONDS_BETWEEN = 15.0  # two signs of life
_SIGNS = 3  # that an owner elsewhere may owe before it is taken for dead
LONG_AGO = 3600.0  # seconds; after them no clock is so wrong that its owner is waited for
# What SageMaker copies to and from its bucket: no other job's process sees it.
COPIED = "/opt/ml/checkpoints"
_TRIES = 3  # of runs that begin at once
_SERVICE = ("CLOUD_ML_JOB_ID", "CLOUD_ML_TRIAL_ID", "TRAINING_JOB_NAME")

Said = Mapping[str, Any]


class InUse:
    """A checkpoint folder that this run takes for itself; made and used on rank 0 alone.

    Args:
        place: The folder, which is there and can be written.
        environment: Of this process: who the run is.
        between: Seconds between two signs of life; an owner elsewhere is dead after three times
            that.
    """

    def __init__(
        self, place: Place, environment: Mapping[str, str], between: float = SECONDS_BETWEEN
    ):
        self._place, self._between = place, between
        self._path = storage.join(place.path, FILE)
        self._about = _about(environment)
        self._is_held = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._say_that_it_lives, daemon=True)

    def take(self) -> None:
        """Blocks for less than a second; for up to three signs of life where another machine's run
        seems to have left the folder without a word.

        Raises:
            TrainingError: Another run has it.
            OSError: The folder cannot be read or written.
        """
        if f"{os.path.normpath(self._place.path)}/".startswith(f"{COPIED}/"):
            return
        for _ in range(_TRIES):
            found = self._read()
            if found is not None and not self._is_over(found):
                raise self._taken(found)
            if self._write_first(new=found is None):
                self._is_held = True
                self._thread.start()
                return
        raise self._taken(self._read() or {})

    def check(self) -> None:
        """Passes while the folder is this run's; before each file that it writes there.

        Raises:
            TrainingError: Another run has taken it, after a silence of this one.
        """
        if not self._is_held:
            return
        with contextlib.suppress(OSError):
            found = self._read()
            if found and not self._is_ours(found):
                raise self._taken(found, "now ")

    def leave(self) -> None:
        """The folder is free; a second call changes nothing."""
        if not self._is_held:
            return
        self._is_held = False
        self._over.set()
        self._thread.join(self._between)
        with contextlib.suppress(OSError):
            if self._is_ours(self._read() or {}):
                storage.remove(self._path)

    def _read(self) -> Said | None:
        """What its owner says, empty where that is no such file; None where there is none."""
        if FILE not in storage.names(self._place.path):
            return None
        try:
            found = json.loads(storage.read(self._path).decode("utf-8"))
        except OSError:  # removed since, which some file systems say in other words
            if FILE in storage.names(self._place.path):
                raise
            return None
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _content(self) -> bytes:
        return json.dumps({**self._about, "seen": time.time()}, sort_keys=True).encode() + b"\n"

    def _write_first(self, new: bool) -> bool:
        """Whether the file is ours now. Of two that begin at once, only one makes a new file."""
        if not new:
            storage.write_whole(self._path, self._content())
        elif not storage.write_new(self._path, self._content()):
            return False
        return self._is_ours(self._read() or {})

    def _is_ours(self, found: Said) -> bool:
        return bool(found.get("run") == self._about["run"])

    def _is_over(self, found: Said) -> bool:
        """Whether the run that left this file has ended."""
        ours = self._about
        if found.get("service") and found["service"] == ours["service"]:
            return True  # an earlier start of the same job: a service has one of them at a time
        if found.get("processes") and found["processes"] == ours["processes"]:
            return found.get("process") == ours["process"] or not _lives(found)
        seen = found.get("seen")
        if not isinstance(seen, (int, float)) or time.time() - seen > LONG_AGO:
            return True
        return self._falls_silent(found)

    def _falls_silent(self, found: Said) -> bool:
        say(
            f"checkpoints: {self._place.path} was in use by {_owner(found)}, which may have been "
            f"killed; waiting up to {_SIGNS * self._between:.0f} s for a sign of it"
        )
        until = time.monotonic() + _SIGNS * self._between
        while time.monotonic() < until:
            time.sleep(min(1.0, self._between / 2))
            now = self._read()
            if now is None:
                return True
            if now.get("seen") != found.get("seen"):
                return False
        return True

    def _taken(self, found: Said, when: str = "") -> TrainingError:
        return TrainingError(
            f"{self._place.path} ({self._place.named_by}): another run {when}writes its "
            f"checkpoints there: {_owner(found)}. Two runs would overwrite and remove each "
            "other's: wait for its end, or give another folder with --checkpoint-dir."
        )

    def _say_that_it_lives(self) -> None:
        while not self._over.wait(self._between):
            with contextlib.suppress(OSError):  # a folder that cannot be written ends no training
                if not self._is_ours(self._read() or {}):
                    continue
                storage.write_whole(self._path, self._content())


def _about(environment: Mapping[str, str]) -> dict[str, Any]:
    job = environment.get("LAUNCH_JOB") or os.path.basename(sys.argv[0])
    # The same after a restart: Vertex AI's job, and trial of a study; SageMaker's job.
    numbers = (environment.get(name, "") for name in _SERVICE)
    return {
        "run": uuid.uuid4().hex,
        "job": job,
        "host": platform.node(),
        "begun": time.time(),
        "service": " ".join(filter(None, numbers)),
        "process": f"{os.getpid()} {_begun(os.getpid())}",
        "processes": _process_table(),
    }


def _process_table() -> str:
    """What this machine, since it was started, and this container of it have alone; "" where the
    system does not say it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _lives(found: Said) -> bool:
    pid, _, begun = str(found.get("process")).partition(" ")
    if not pid.isdigit() or not begun:
        return False
    return _begun(int(pid)) == begun or _is_hidden(int(pid))


def _is_hidden(pid: int) -> bool:
    """Whether it is another user's, whom the system doesn't show (/proc with hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return not os.path.exists(f"/proc/{pid}")
    except OSError:
        pass
    return False


def _begun(pid: int) -> str:
    """When a process began, in ticks since the machine did; "" where it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, *rest = file.read().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else rest[18]


def _owner(found: Said) -> str:
    job, host = (" ".join(str(found.get(name, "?")).split())[:100] for name in ("job", "host"))
    pid = str(found.get("process", "?")).partition(" ")[0][:10]
    return f"{job} on {host} (process {pid}{_since(found.get('begun'))})"


def _since(begun: Any) -> str:
    try:
        return time.strftime(", since %Y-%m-%d %H:%M UTC", time.gmtime(begun))
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
