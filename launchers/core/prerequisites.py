"""The role of whoever knows what a place needs before any job runs there: `launch doctor`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from launchers.core.model.findings import Finding
from launchers.core.model.problems import EXIT_PREFLIGHT
from launchers.core.spec.job import JobSpec

# Of one check, which may be several requests one after the other; what starts an interpreter that
# imports TensorFlow has longer.
CHECK_SECONDS, IMPORT_SECONDS = 20.0, 90.0


@dataclass(frozen=True)
class Check:
    """One look.

    Attributes:
        name: What is said where it has no answer.
        ask: Gives its findings; may block.
        seconds: After which it has no answer.
    """

    name: str
    ask: Callable[[], list[Finding]]
    seconds: float = CHECK_SECONDS


class Doctor(ABC):
    """Knows what one place needs before any job runs there.

    Attributes:
        title: For a person.
        exit_code: Of a submission that one of its errors would stop.
    """

    title: ClassVar[str]
    exit_code: ClassVar[int] = EXIT_PREFLIGHT

    @abstractmethod
    def checks(self, job: JobSpec, offline: bool) -> list[Check]:
        """What to look at. Makes no check yet.

        Args:
            job: What launch.yaml, the environment and the flags say of the user's jobs.
            offline: No cloud is asked; what only it can say is skipped.
        """

    def unused(self, job: JobSpec) -> str:
        """Why nothing speaks for this user's having jobs there, in one clause; empty where
        something does. Only asked where all places are looked at; pure."""
        return ""
