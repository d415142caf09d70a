"""What is wrong with a request: one type for every rule, every file and every flag.

A rule never raises for what a user wrote. It returns :class:`Problem` values, so that all of them
can be shown at once; whoever cannot go on raises :class:`LaunchError` with the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "unknown", "ok"]

# Exit codes of the command (docs/exit-codes.md).
EXIT_OK = 0
EXIT_JOB_DID_NOT_SUCCEED = 1
EXIT_DEFECT = 1  # of ours: whatever was asked for did not succeed
EXIT_BAD_REQUEST = 2
EXIT_SDK = 3
EXIT_PREFLIGHT = 4
EXIT_PROVIDER = 5
EXIT_INTERRUPTED = 130


@dataclass(frozen=True)
class Problem:
    """One thing that a request breaks.

    Attributes:
        path: Where, in the words of what was read: ``--gpus``, ``launch.yaml: instances``,
            ``$.HyperParameters.sagemaker_program``.
        found: What was found there, short and without secrets.
        expected: What is allowed there.
        fix: What to write or run instead; empty where ``expected`` says it all.
        severity: ``error`` stops the request, ``warning`` does not, ``unknown`` is a check
            that could not be made (the caller may not ask), ``ok`` one that was made and is well.
        rule: The rule's id in the catalogue (rules.py), which `launch explain` takes.
    """

    path: str
    found: str
    expected: str
    fix: str = ""
    severity: Severity = "error"
    rule: str = ""

    def __str__(self) -> str:
        # The id stands before the fix, so that a command at the end can be copied.
        named = f" [{self.rule}]" if self.rule else ""
        text = f"{self.path}: {self.found}; expected {self.expected}{named}"
        return f"{text}. {self.fix}" if self.fix else text


class LaunchError(Exception):
    """A request that cannot go on, with every problem that is known and the exit code it earns.

    It is the one exception that the command turns into a message; anything else is a defect of
    ours and shows a traceback with ``--debug``.
    """

    def __init__(self, problems: Problem | Iterable[Problem], exit_code: int = EXIT_BAD_REQUEST):
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.exit_code = exit_code
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InDoubtError(LaunchError):
    """The provider may or may not have taken the job: the intent stays open, and the same command
    again finds out."""


class PassingError(LaunchError):
    """The provider gives no good answer now; the same request may well do later."""


class CredentialsError(LaunchError):
    """The caller's credentials are missing or no longer good.

    Attributes:
        renewal: What to do about those that were good once; empty where it is not known.
    """

    renewal = ""


class NameTakenError(LaunchError):
    """Somebody else's job has the name: nothing of ours was made."""


class LogsUnreadableError(LaunchError):
    """The job may be well, but its logs may not be read."""


def errors(problems: Iterable[Problem]) -> list[Problem]:
    """Those of ``problems`` that stop a request."""
    return [problem for problem in problems if problem.severity == "error"]


def first_few(names: Sequence[str], shown: int = 3) -> str:
    """``a, b, c and 4 more``."""
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + rest


def did_you_mean(word: str, allowed: Iterable[str], at_least: float = 0.6) -> str:
    """``did you mean X?`` for the nearest of ``allowed``, or an empty string.

    Args:
        at_least: How alike the two are, from 0 to 1 (difflib's ratio).
    """
    import difflib

    by_folded = {name.lower().replace("_", "-"): name for name in allowed}
    folded = word.lower().replace("_", "-")
    near = difflib.get_close_matches(folded, by_folded, n=1, cutoff=at_least)
    return f"did you mean {by_folded[near[0]]}?" if near else ""
