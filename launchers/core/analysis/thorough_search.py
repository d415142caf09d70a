"""Every file that a script reaches, read exactly, where nothing was seen to join its ranks."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence

from launchers.core.analysis.facts import SourceFacts
from launchers.core.analysis.python_imports import Import
from launchers.core.analysis.strategy_search import (
    NONE,
    OTHER,
    SEEN,
    UNSEEN,
    Sight,
    mention,
)
from launchers.core.analysis.without_horovod import packages_without_horovod
from launchers.core.source.texts import PARSED_BYTES, Bound
from launchers.core.strategies import joining, others
from launchers.core.strategies.strategy import Use

# Settings that a script may read and act on; files of tools are none.
_SETTINGS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".conf", ".gin", ".env", ".sh")
_TOOLS = {
    *("launch.yaml", "pyproject.toml", "setup.cfg", "tox.ini", "package.json"),
    *("environment.yml", "environment.yaml", "conda.yml", "conda.yaml"),
    *("docker-compose.yml", "docker-compose.yaml", ".pre-commit-config.yaml"),
}


class Thorough:
    """One such reading."""

    def __init__(self, facts: SourceFacts, absent: Collection[str]) -> None:
        self.facts, self.absent = facts, absent
        self.known = packages_without_horovod()
        self.strategies = joining()
        self.mentioned = [one for one in self.strategies if one.mention]
        self.uses = self._ranked()
        self.reached = dict.fromkeys([facts.script, *facts.modules.packages_of(facts.script)])
        self.open_ends: list[str] = []
        self.bound = Bound(PARSED_BYTES)
        # The rank in `uses` of the first that was seen, and where.
        self.other: tuple[int, str] | None = None

    def run(self) -> Sight:
        """Read until a strategy's word is found or nothing is left."""
        waiting = list(self.reached)
        while waiting:
            path = waiting.pop(0)
            for strategy in self.mentioned:
                found = mention(self.facts, path, strategy)
                if found:
                    return Sight(SEEN, strategy.name, found)
            too_much = self.bound.reached(path, self.facts.texts.read(path))
            if too_much:
                self.open_ends.append(too_much)
                break
            new = [one for one in self._file(path) if one not in self.reached]
            self.reached.update(dict.fromkeys(new))
            waiting += dict.fromkeys(new)
        return self._sight()

    def _sight(self) -> Sight:
        ends = self.open_ends or self._named_in_text() or self._named_in_settings()
        why, files = ends[0] if ends else "", len(self.reached)
        if self.other is None:
            return Sight(UNSEEN if why else NONE, "", why, files=files)
        rank, where = self.other
        name, use = self.uses[rank]
        kind = UNSEEN if name or why else OTHER
        return Sight(kind, name, why, use.title, where, use.instead, files=files)

    def _ranked(self) -> Sequence[tuple[str, Use]]:
        """What is looked for, with the strategy that it is a use of: what brings ranks of its own
        says more than a name of a strategy's library that joins nothing."""
        return [
            *(("", use) for use in others.USES),
            *((one.name, use) for one in self.strategies for use in one.uses if not use.by_import),
            *(("", use) for one in self.strategies for use in one.cannot),
        ]

    def _file(self, path: str) -> list[str]:
        """Notes what a file uses and where it leads further than can be read; gives what it
        reaches."""
        from launchers.core.analysis.python_open_ends import open_ends, started_files

        tree = self.facts.tree(path)
        if tree is None:
            self.open_ends.append(f"{path} cannot be parsed")
            return []
        self.open_ends += [
            f"{path}:{end.line} {end.words}" for end in open_ends(tree, self.facts.texts.paths)
        ]
        self._note_strategy(path)
        found = [file for one in self.facts.imports(path) for file in self._follow(one, path)]
        return [*found, *started_files(tree, self.facts.texts.paths)]

    def _note_strategy(self, path: str) -> None:
        names = self.facts.names(path)
        for rank, (_, use) in enumerate(self.uses):
            if self.other is not None and self.other[0] <= rank:
                return
            shown = use.shown_by(names)
            if shown:
                self.other = (rank, f"{path}:{names[shown]} uses {shown}")

    def _follow(self, one: Import, path: str) -> tuple[str, ...]:
        found = self.facts.modules.find(one, path)
        top = one.module.partition(".")[0]
        name = "." * one.level + one.module
        if found.compiled:
            self.open_ends.append(f"{path}:{one.line} imports {name}, which is not Python source")
        if found.files or found.complete or found.compiled:
            return found.files
        if not one.level and not one.path:
            if top in self.known and top not in self.absent:
                return ()
            found = self.facts.modules.find_anywhere(one)
            if found.complete and not found.compiled:
                return found.files
        lies = "stays behind" if top in self.absent else "is not in the source"
        verb = "runs" if one.path else "imports"
        self.open_ends.append(f"{path}:{one.line} {verb} {name}, which {lies}")
        return found.files

    def _named_in_text(self) -> list[str]:
        """Docstrings that name one: no use, and yet the author had it in mind."""
        for path in self.reached:
            content = self.facts.texts.read(path)
            named = [one for one in self.mentioned if one.mentioned_in(content)]
            if not named:
                continue
            text = " ".join(self.facts.docstrings(path).values()).encode("utf-8", "replace")
            if any(one.mentioned_in(text) for one in named):
                return [f"{path} names it in a text, and no code does"]
        return []

    def _named_in_settings(self) -> list[str]:
        texts = self.facts.texts
        for path in sorted(texts.paths):
            is_settings = path.endswith(_SETTINGS) and posixpath.basename(path) not in _TOOLS
            if is_settings and any(one.mentioned_in(texts.glance(path)) for one in self.mentioned):
                return [f"{path} names it, which the script may read"]
        return []
