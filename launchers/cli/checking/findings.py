"""What a check found: problems with their lines, a document at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from launchers.cli.failures import DEFECT
from launchers.core.model.problems import EXIT_BAD_REQUEST, EXIT_DEFECT, EXIT_OK, Problem


@dataclass(frozen=True)
class Finding:
    """One problem, where it stands, and whether an ignore file takes it out.

    Attributes:
        file: As the user named it; ``-`` is standard input.
        line, column: From 1; 0 where no place is known.
        ignored: The reason that the ignore file gives; empty where it counts.
    """

    problem: Problem
    file: str
    line: int = 0
    column: int = 0
    ignored: str = ""

    @property
    def place(self) -> str:
        """``job.json:12:5``, or the file alone."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Checked:
    """One job's document, or a file that holds none.

    Attributes:
        place: Where the document lies in the file; ``$`` is the whole.
        kind: What it lies in, ``an ACK TrainingJob``; empty for the document itself.
        provider: Whose it is; None for a file in which no document was found.
        started: The world size that it starts; None where nothing can tell.
        because: Why.
        answer: The same as a sentence.
    """

    file: str
    findings: tuple[Finding, ...] = ()
    place: str = "$"
    kind: str = ""
    provider: str | None = None
    started: int | None = None
    because: str = ""
    answer: str = ""

    @property
    def title(self) -> str:
        """The file, and the place in it where that is not the whole."""
        where = self.file if self.place == "$" else f"{self.file} {self.place}"
        return f"{where} ({self.kind})" if self.kind else where

    @property
    def counted(self) -> list[Finding]:
        """Those that no ignore file takes out."""
        return [one for one in self.findings if not one.ignored]

    @property
    def suppressed(self) -> list[Finding]:
        """Those that one does."""
        return [one for one in self.findings if one.ignored]

    def of(self, severity: str) -> list[Finding]:
        """Those that count and have that severity."""
        return [one for one in self.counted if one.problem.severity == severity]


@dataclass(frozen=True)
class Check:
    """All that was checked.

    Attributes:
        strict: What cannot be told fails as well.
    """

    parts: Sequence[Checked]
    strict: bool = False

    @property
    def documents(self) -> list[Checked]:
        """The parts that are documents."""
        return [part for part in self.parts if part.provider]

    @property
    def findings(self) -> Iterator[tuple[Checked, Finding]]:
        """Every one, the ignored as well."""
        return ((part, one) for part in self.parts for one in part.findings)

    @property
    def failed(self) -> bool:
        """Whether the command exits with 2."""
        return any(self.fails(one) for _, one in self.findings)

    @property
    def exit_code(self) -> int:
        """The command's: a defect of ours is told before what is wrong with a file."""
        failing = {one.problem.rule for _, one in self.findings if self.fails(one)}
        if DEFECT in failing:
            return EXIT_DEFECT
        return EXIT_BAD_REQUEST if failing else EXIT_OK

    def fails(self, found: Finding) -> bool:
        """Whether this one makes it exit with 2."""
        stops = ("error", "unknown") if self.strict else ("error",)
        return not found.ignored and found.problem.severity in stops

    def part_fails(self, part: Checked) -> bool:
        """Whether one of a part's does."""
        return any(self.fails(one) for one in part.findings)

    def count(self, severity: str) -> int:
        """How many count and have that severity."""
        return sum(len(part.of(severity)) for part in self.parts)

    @property
    def suppressed(self) -> int:
        """How many an ignore file takes out."""
        return sum(len(part.suppressed) for part in self.parts)


def counts(errors: int, warnings: int, unknown: int = 0, suppressed: int = 0) -> str:
    """``no errors, 2 warnings, 1 suppressed``; zeros other than the first two are left out."""
    told = [_number(errors, "error"), _number(warnings, "warning")]
    told += [f"{unknown} unknown"] if unknown else []
    told += [f"{suppressed} suppressed"] if suppressed else []
    return ", ".join(told)


def _number(count: int, word: str) -> str:
    if word == "error" and not count:
        return "no errors"
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
