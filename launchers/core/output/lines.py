"""What a job's lines say: whose they are, the proof, the first failure, the progress.

The words are those of ``entrypoints/launch_runtime/lines.py``, which runs beside the user's
script and shares no import with this side; a test holds the two together.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from launchers.core.model.jobs import LogLine
from launchers.core.output.tensorflow_noise import is_noise
from launchers.core.output.tracebacks import traceback_in
from launchers.core.output.training_progress.hint import may_tell
from launchers.core.printable import printable, printable_value

if TYPE_CHECKING:
    from launchers.core.output.training_progress.state import Progress

TAIL_LINES = 20
_KEPT_LINES = 100  # of each rank, in which a traceback is looked for

_AGENT_TAG = re.compile(r"\[([A-Za-z0-9._-]+)/(\d+|agent)\] ?(.*)", re.DOTALL)
MPI_TAG = re.compile(r"\[(?:\d+,(?:mpirank:)?)?(\d+)(?:,([A-Za-z0-9._-]+))?\]<std(?:out|err)>:?")
# Control characters stand in no line of ours.
_PROOF = re.compile(
    r"launch: proof: (world size (\d+): (\d+) hosts? x (\d+) (?:rank|replica)s?, "
    r"[^\x00-\x1f\x7f-\x9f]{1,400}?)"
    r"(?: \[([0-9a-f]{16})\])?\s*"
)
_FAILURE = re.compile(r"launch: failure: (\{.*\})\s*")
_EVIDENCE = "launch: evidence: "
_STAMP_BEHIND = re.compile(r" \[[0-9a-f]{16}\](?=\s*$)")
# By which agents tell each other's failure to a person.
_SENTENCES = ("launch: the job ends because of ", "launch: the job has failed: ")
# What a guard says of the world that it refuses, and which is its failure's reason too.
_REFUSALS = ("launch: expected ", "launch: likely cause: ")
_RESULT = re.compile(r"result: (.+)")


def parse_tagged(text: str, time: float = 0.0, host: str = "") -> LogLine:
    """The line behind the agent's tag ``[host/rank]``, one of mpirun's two tag forms, or the
    tag of horovodrun (``[rank]<stdout>:``).

    Example:
        >>> parse_tagged("[host-2/3] epoch 1").rank
        3
        >>> parse_tagged("[1,mpirank:3,algo-2]<stdout>:epoch 1").host
        'algo-2'
    """
    match = _AGENT_TAG.match(text)
    if match:
        rank = None if match[2] == "agent" else int(match[2])
        return LogLine(time, match[1], rank, match[3])
    match = MPI_TAG.match(text)
    if match:
        return LogLine(time, match[2] or host, int(match[1]), text[match.end() :])
    return LogLine(time, host, None, text)


def tag(line: LogLine) -> str:
    """How a line is shown: ``[host/rank]``, ``[host]``, or nothing for the job's own."""
    if line.rank is not None:
        return f"[{line.host or '?'}/{line.rank}]"
    return f"[{line.host}]" if line.host else ""


def proven(proof: str, world_size: int, hosts: int = 0) -> bool:
    """Whether a proof line's text is about a job of ``world_size`` ranks, on so many hosts where
    that is given."""
    match = _PROOF.fullmatch(f"launch: proof: {proof}")
    if not match or int(match[2]) != int(match[3]) * int(match[4]):
        return False
    return int(match[2]) == world_size and hosts in (0, int(match[3]))


def proof_of(line: LogLine, stamp: str = "") -> str:
    """The proof that a line carries, without its stamp; "" for any other line.

    Args:
        stamp: The job's, without which a line is none of its own, and which only rank 0 has a
            proof for. "" takes the word of every line.
    """
    match = _PROOF.fullmatch(line.text)
    if not match or (stamp and (match[5] != stamp or line.rank not in (0, None))):
        return ""
    return match[1]


def shown(line: LogLine, without_gpus: bool) -> LogLine | None:
    """A line as a person sees it: printable, a failure in words, a proof without the job's stamp;
    None for one that is for the launcher alone, or that TensorFlow prints at every start.

    Args:
        without_gpus: The job's ranks have no GPU, so that TensorFlow's finding none is no news.
    """
    text = line.text
    if text.startswith(_EVIDENCE) or is_noise(text, without_gpus):
        return None
    if match := _FAILURE.fullmatch(text):
        text = _in_words(match[1]) or text
    text, host = printable(text), printable(line.host)
    if text.startswith("launch: proof: "):
        text = _STAMP_BEHIND.sub("", text)
    unchanged = text == line.text and host == line.host
    return line if unchanged else replace(line, host=host, text=text)


def _in_words(failure: str) -> str:
    """A failure's JSON as agents say it to a person; empty where it is none."""
    try:
        told = json.loads(failure)
    except ValueError:
        return ""
    rank, host = told.get("rank"), told.get("host")
    names = [*([] if rank is None else [f"rank {rank}"]), *([host] if host else [])]
    return f"{_SENTENCES[0]}{' on '.join(names) or 'a host'}: {told.get('reason', '')}"


def is_evidence(text: str) -> bool:
    """Whether a line is one of the ranks' evidence, which only a program reads."""
    return text.startswith(_EVIDENCE)


def tells_failure(text: str) -> bool:
    """Whether a line says why the job fails, as the verdict does once more at the end."""
    return text.startswith("launch: failure: {") or text.startswith(_SENTENCES)


def explains_failure(text: str) -> bool:
    """Whether a guard says in this line, for a person, what its failure's reason says too."""
    return text.startswith(_REFUSALS)


@dataclass
class JobWatch:
    """Reads a job's lines as they come and remembers what the end will need.

    Attributes:
        stamp: What the job's own proofs, failures and evidence carry; others count for nothing.
            "" takes them all, for a job whose document has no nonce.
        world_size: The expected one; a proof of it is not replaced by one of another size.
        proof: The last proof line's text (``world size 4: 2 hosts x 2 ranks, MPI``) or "".
        foreign: Proof lines that did not carry the stamp.
        failure: The first ``launch: failure`` object, or None.
        progress: Where the training stands, by rank 0's lines; None where none says.
        result: The training script's last ``result:`` line, or "".
        tails: The last lines of each (host, rank), as they are shown, without empty ones.
        without_gpus: The ranks have no GPU; see :func:`shown`.
    """

    stamp: str = field(default="", repr=False)
    world_size: int = 0
    proof: str = ""
    foreign: int = 0
    failure: dict[str, Any] | None = None
    progress: Progress | None = None
    result: str = ""
    tails: dict[tuple[str, int | None], deque[str]] = field(default_factory=dict)
    without_gpus: bool = False
    _gathering: Any = field(default=None, repr=False)
    _training: Any = field(default=None, repr=False)

    def see(self, line: LogLine) -> None:
        """Take one line into account."""
        visible = shown(line, self.without_gpus)
        if visible is not None and is_last_word(line.text):
            key = (line.host, line.rank)
            self.tails.setdefault(key, deque(maxlen=_KEPT_LINES)).append(visible.text)
        if line.text.startswith("launch: "):
            self._see_ours(line)
        elif match := _RESULT.match(line.text):
            self.result = printable(match[1])
        elif may_tell(line.text):
            self._see_training(line)

    def tail(self, rank: int | None) -> list[str]:
        """The last words of one rank; see :func:`last_words`."""
        for (_, other), lines in self.tails.items():
            if other == rank:
                return last_words(lines)
        return []

    def evidence(self) -> dict[int, list[Any]]:
        """Rank -> the records of its newest whole evidence."""
        return self._gathering.evidence() if self._gathering is not None else {}

    def _see_ours(self, line: LogLine) -> None:
        if line.text.startswith(_EVIDENCE):
            self._gather(line.text)
        elif proof := proof_of(line, self.stamp):
            expected = self.world_size and proven(self.proof, self.world_size)
            if not expected or proven(proof, self.world_size):
                self.proof = printable(proof)
        elif _PROOF.fullmatch(line.text):
            self.foreign += 1
        elif match := _FAILURE.match(line.text):
            self._see_failure(line, match[1])

    def _see_failure(self, line: LogLine, text: str) -> None:
        try:
            failure = printable_value(json.loads(text))
        except ValueError:
            return
        if failure.pop("stamp", "") != self.stamp and self.stamp:
            return
        # The first one seen is the cause; an agent's verdict says more than a guard's.
        if self.failure is None or "exit_code" not in self.failure:
            self.failure = {"host": line.host, "rank": line.rank, **failure}

    def _see_training(self, line: LogLine) -> None:
        if self._training is None:
            from launchers.core.output.training_progress.state import TrainingProgress

            self._training = TrainingProgress()
        if self._training.see(line):
            self.progress = self._training.progress

    def _gather(self, text: str) -> None:
        if self._gathering is None:
            from launchers.core.shipped import runtime

            self._gathering = runtime("evidence.lines").Gathering(self.stamp, self.world_size)
        self._gathering.feed(text)


def is_last_word(text: str) -> bool:
    """Whether a line is more than what the verdict says, and not empty."""
    return bool(text.strip()) and not tells_failure(text) and not explains_failure(text)


def last_words(texts: Iterable[str]) -> list[str]:
    """What a rank's end is told by: its last traceback, else its last lines."""
    kept = list(deque(texts, _KEPT_LINES))
    return traceback_in(kept) or kept[-TAIL_LINES:]


def is_progress(text: str) -> bool:
    """Whether a line is one that a terminal shows as a bar: one of our scripts' own, or a state of
    a bar that the next one writes over."""
    if not may_tell(text):
        return False
    from launchers.core.output.training_progress.line import parse

    told = parse(text)
    return told is not None and told.passing
