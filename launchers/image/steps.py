"""The stream of a `docker build`, told as the steps that the Dockerfile names.

A comment ``# step: TITLE`` directly above an instruction gives it a title. Instructions without
one (ARG, ENV, COPY) are quick and belong to the step before them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from launchers.core.model.problems import EXIT_JOB_DID_NOT_SUCCEED, LaunchError
from launchers.docker.progress import Progress
from launchers.image.catalogue import RULES

FAILURE_LINES = 20
_TITLE = re.compile(r"#\s*step:\s*(.+)")
_ENGINE_STEP = re.compile(r"Step (\d+)/\d+ : .*", re.DOTALL)
_LAYER = re.compile(r" ---> ([0-9a-f]{12,64})")
# The engine colours what a command writes to its stderr.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What a failed build's last lines hold -> the way on
_HINTS = {
    "CERTIFICATE_VERIFY_FAILED": "a proxy signs with a certificate of its own: set SSL_CERT_FILE "
    "to your company's CA bundle; the build takes it",
    "Temporary failure resolving": "containers here resolve no names: set HTTP_PROXY, or `dns` in "
    "/etc/docker/daemon.json",
    "NameResolutionError": "containers here resolve no names: set HTTP_PROXY and HTTPS_PROXY, or "
    "PIP_INDEX_URL to a mirror that they can reach",
    "No space left on device": "free some space: `docker system df` shows what Docker uses",
    "Killed signal": "the compiler ran out of memory: give Docker 4 GB or more",
    "No matching distribution": "set PIP_INDEX_URL to an index that has this package",
}


# Of an engine whose layer, found in its cache, or whose stage somebody removed before it was used:
# another build's end, `docker image prune`.
_LAYER_IS_GONE = re.compile(
    r"unknown parent image ID|invalid from flag value \S+: No such image: sha256:"
)


class LayerGoneError(Exception):
    """What the build stood on was removed meanwhile: the same build would work now."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Dockerfile.

    Attributes:
        text: Its first line.
        title: What ``# step:`` says of it, or an empty string.
    """

    text: str
    title: str


def instructions(dockerfile: str) -> list[Instruction]:
    """The instructions of a Dockerfile in order, as the engine counts them."""
    found: list[Instruction] = []
    title, continued = "", False
    for line in dockerfile.splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            match = _TITLE.match(text)
            title = match[1].strip() if match else title
            continue
        if not continued:
            found.append(Instruction(text.rstrip("\\ "), title))
            title = ""
        continued = text.endswith("\\")
    return found


class BuildStream:
    """Follows the engine's events of one build.

    Attributes:
        image: The built image's id (``sha256:...``), once it is known.
        cached: Whether no instruction had to run.
        stages: The last image of every stage but the last, by its short id.
    """

    def __init__(self, dockerfile: str, progress: Progress):
        self.image = ""
        self.cached = True
        self.stages: list[str] = []
        self._layer = ""
        self._instructions = instructions(dockerfile)
        self._titled = sum(bool(item.title) for item in self._instructions)
        self._progress = progress
        self._lines: deque[str] = deque(maxlen=FAILURE_LINES)
        self._rest = ""
        self._number = 0

    def follow(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Read to the end.

        Raises:
            LaunchError: A step failed; its last 20 lines were told to the progress.
            LayerGoneError: What it stood on was removed meanwhile.
        """
        for event in events:
            if "error" in event:
                if _LAYER_IS_GONE.search(str(event["error"])):
                    raise LayerGoneError(str(event["error"]).strip())
                raise self._failure(event)
            if "ID" in event.get("aux", {}):
                self.image = event["aux"]["ID"]
            self._rest += event.get("stream", "")
            *whole, self._rest = self._rest.replace("\r", "\n").split("\n")
            for line in whole:
                self._line(line)

    def _line(self, line: str) -> None:
        line = _COLOUR.sub("", line)
        step = _ENGINE_STEP.fullmatch(line)
        if step:
            self._number = int(step[1])
            self._lines.clear()
            current = self._current()
            if current.text.startswith("FROM ") and self._layer:
                self.stages.append(self._layer)
            if current.title:
                before = self._instructions[: self._number]
                position = sum(bool(item.title) for item in before)
                self._progress.step(f"{position}/{self._titled} {current.title}")
            return
        if line.startswith(" ---> "):
            if line.startswith(" ---> Using cache"):
                self._progress.note("cached")
            elif line.startswith(" ---> Running in "):
                self.cached = False
            elif layer := _LAYER.fullmatch(line):
                self._layer = layer[1]
            return
        # pip draws its download bars with this sign.
        noise = "━" in line or line.startswith("Removing intermediate container ")
        if line.strip() and not noise:
            self._lines.append(line)
            self._progress.note("".join(sign for sign in line.strip() if sign.isprintable()))

    def _current(self) -> Instruction:
        if 0 < self._number <= len(self._instructions):
            return self._instructions[self._number - 1]
        return Instruction(f"instruction {self._number}", "")

    def _failure(self, event: Mapping[str, Any]) -> LaunchError:
        if self._rest.strip():
            self._line(self._rest)
        for line in self._lines:
            self._progress.keep(f"  | {line}")
        current = self._current()
        code = event.get("errorDetail", {}).get("code")
        message = str(event["error"]).strip().splitlines()[0][:300]
        end = "\n".join([*self._lines, message])
        hint = next((way for sign, way in _HINTS.items() if sign in end), "")
        return LaunchError(
            RULES["image-build-failed"].at(
                f"image build, step {self._number}/{len(self._instructions)}: "
                f"{current.title or current.text}",
                f"exit code {code}; see its last lines above" if code else message,
                fix=hint,
            ),
            EXIT_JOB_DID_NOT_SUCCEED,
        )
