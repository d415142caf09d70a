"""The ignore file of `launch check`: which problems are accepted where, why and until when."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from launchers.cli.catalogue import RULES
from launchers.cli.checking.files import project_root
from launchers.cli.checking.findings import Checked, Finding
from launchers.core.bounded import read_text
from launchers.core.catalogue import catalogues
from launchers.core.model.problems import LaunchError, Problem, did_you_mean
from launchers.core.reading.places import Place, places_of
from launchers.core.reading.text_file import verbatim_mapping

NAME = ".launch-check.yaml"
_KEYS = ("rule", "file", "path", "reason", "until")


@dataclass(frozen=True)
class Entry:
    """One thing that is accepted.

    Attributes:
        file: A pattern as in .gitignore, from the ignore file's folder.
        path: The place in the document and all below; empty for every place.
        until: Its last day.
    """

    number: int
    rule: str
    file: str
    path: str
    reason: str
    until: date | None

    @property
    def label(self) -> str:
        """Its place in the ignore file."""
        return f"$.ignore[{self.number}]"


class Ignores:
    """The entries of one ignore file, and which of them were of use.

    Attributes:
        problems: What is wrong with the file; an entry with a problem takes nothing out.
    """

    def __init__(self, file: str, text: str, today: date | None = None):
        self.file = file
        self.folder = os.path.dirname(os.path.abspath(file))
        self.problems: list[Problem] = []
        self.places: dict[tuple[Any, ...], Place] = {}
        self.entries: list[Entry] = []
        self._used: set[int] = set()
        self._today = today or date.today()
        try:
            tree = verbatim_mapping(text, file)
        except LaunchError as error:
            self.problems += error.problems
            return
        self.places = places_of(text, file)
        self.entries = list(self._entries(tree))

    def applied(self, part: Checked) -> Checked:
        """The part, with the problems marked that an entry accepts."""
        return replace(part, findings=tuple(self._marked(one) for one in part.findings))

    def told(self, files: Sequence[str]) -> Checked | None:
        """What is to be said of the ignore file itself.

        Args:
            files: All that were checked. An entry for another file is not missed here.
        """
        problems = list(self.problems)
        for entry in self.entries:
            if self._ended(entry):
                found = f"ended on {entry.until}"
                problems.append(RULES["check-ignore-ended"].at(entry.label, found))
            elif entry.number not in self._used and self._missed(entry, files):
                found = f"{entry.rule} in {entry.file}: no such problem"
                problems.append(RULES["check-ignore-unused"].at(entry.label, found))
        findings = tuple(self._placed(problem) for problem in problems)
        return Checked(self.file, findings) if findings else None

    def _marked(self, found: Finding) -> Finding:
        for entry in self.entries:
            if (
                entry.rule == found.problem.rule
                and not self._ended(entry)
                and self._is_for(entry, found.file)
                and _is_at(entry.path, found.problem.path)
            ):
                self._used.add(entry.number)
                return replace(found, ignored=entry.reason)
        return found

    def _ended(self, entry: Entry) -> bool:
        return entry.until is not None and entry.until < self._today

    def _missed(self, entry: Entry, files: Sequence[str]) -> bool:
        """Whether an entry that was of no use should have been: its file was checked, or there is
        none at all. A hook is given the changed files alone."""
        if any(self._is_for(entry, file) for file in files):
            return True
        return not any(self._is_for(entry, file) for file in self._all_files())

    def _all_files(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name not in (".git", ".venv", "node_modules")]
            yield from (os.path.join(folder, name) for name in names)

    def _is_for(self, entry: Entry, file: str) -> bool:
        from pathspec import GitIgnoreSpec

        name = file if file == "-" else os.path.relpath(file, self.folder).replace(os.sep, "/")
        return GitIgnoreSpec.from_lines([entry.file]).match_file(name)

    def _entries(self, tree: dict[str, Any]) -> Iterator[Entry]:
        if set(tree) - {"ignore"} or not isinstance(tree.get("ignore", []), list):
            found = ", ".join(map(str, tree)) or "no list"
            self.problems.append(RULES["check-ignore-file"].at("$", found, "a list under ignore:"))
            return
        known = {one.id for room in catalogues() for one in room.own.values()}
        for number, values in enumerate(tree.get("ignore", [])):
            wrong = list(_wrong(values, f"$.ignore[{number}]", known))
            self.problems += wrong
            if not wrong:
                until = values.get("until", "")
                yield Entry(
                    number,
                    values["rule"].strip("[]"),
                    values["file"],
                    values.get("path", ""),
                    values["reason"].strip(),
                    date.fromisoformat(until) if until else None,
                )

    def _placed(self, problem: Problem) -> Finding:
        found = re.match(r"\$\.ignore\[(\d+)\](?:\.(\w+))?", problem.path)
        line, column = 1, 1
        if found:
            keys = ("ignore", int(found[1]), found[2] or "")
            for length in (3, 2, 1):
                if keys[:length] in self.places:
                    line, column = self.places[keys[:length]]
                    break
        return Finding(problem, self.file, line, column)


def ignores(file: str | None) -> Ignores | None:
    """The ignore file that was asked for, or the nearest ``.launch-check.yaml`` from the working
    folder up to the repository's root; None where there is none.

    Raises:
        LaunchError: The one that was asked for cannot be read.
    """
    if file is not None:
        return Ignores(file, read_text(file))
    folder, root = os.getcwd(), project_root()
    while True:
        path = os.path.join(folder, NAME)
        if os.path.lexists(path):
            name = os.path.relpath(path)
            return Ignores(name, read_text(name))
        if folder == root:
            return None
        folder = os.path.dirname(folder)


def _wrong(values: Any, label: str, known: Iterable[str]) -> Iterator[Problem]:
    rule = RULES["check-ignore-file"]
    if not isinstance(values, dict):
        yield rule.at(label, "no keys", "rule:, file: and reason:")
        return
    for key in values:
        if key not in _KEYS:
            expected = "one of " + ", ".join(_KEYS)
            yield rule.at(f"{label}.{key}", "unknown key", expected, did_you_mean(key, _KEYS))
    for key in ("rule", "file", "reason"):
        if not isinstance(values.get(key), str) or not values[key].strip():
            yield rule.at(f"{label}.{key}", "missing", _EXPECTED[key])
    name = values.get("rule")
    if isinstance(name, str) and name.strip("[] ") and name.strip("[]") not in known:
        hint = did_you_mean(name, known) or "`launch explain` lists them"
        yield RULES["rule-unknown"].at(f"{label}.rule", name, fix=hint)
    if isinstance(values.get("file"), str) and values["file"].startswith("!"):
        yield rule.at(f"{label}.file", values["file"], "a pattern that does not begin with !")
    if values.get("path") and not str(values["path"]).startswith("$"):
        yield rule.at(f"{label}.path", str(values["path"]), "a path as in a problem: $.a.b[0]")
    until = values.get("until")
    try:
        if until:
            date.fromisoformat(until)
    except (TypeError, ValueError):
        yield rule.at(f"{label}.until", str(until), "a date: 2027-01-31")


_EXPECTED = {
    "rule": "the id of a rule, as in the brackets of its problem",
    "file": "a pattern of files, as in .gitignore",
    "reason": "why this is accepted",
}


def _is_at(wanted: str, path: str) -> bool:
    """Whether a problem's path is that place or below it; ``[*]`` is any index, ``.*`` any key."""
    if not wanted:
        return True
    pattern = re.escape(wanted).replace(r"\[\*\]", r"\[\d+\]").replace(r"\.\*", r"\.[^.\[:\s]+")
    return re.match(rf"{pattern}(?![\w-])", path) is not None
